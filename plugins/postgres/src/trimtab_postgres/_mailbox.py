"""The mailbox: rows of a table, leased by SKIP LOCKED."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

import psycopg

from trimtab_postgres import _sql
from trimtab_worker import (
    LEASE_CLOCK,
    BaseMailbox,
    ConnectionPool,
    DeadLetter,
    Delivery,
    Extension,
    Granted,
    Lost,
    MailboxError,
    MailboxFacts,
    MailboxStats,
    Unknown,
    split_queue,
)

if TYPE_CHECKING:
    from trimtab import Clock

Body = TypeVar("Body")
Receipt = tuple[int, bytes]
Connection = psycopg.Connection[tuple[Any, ...]]

TIMEOUT = 5


class PostgresMailbox(BaseMailbox[Body]):
    """A mailbox in the tables ``trimtab_messages``, ``trimtab_dead`` and ``trimtab_acked``.

    Leases are judged by the server's clock, and fenced by a random token per delivery. The tables
    are made where they do not exist. There are as many connections as threads use at a time.

    Args:
        conninfo: of the database, as for ``psycopg.connect``.
        queue: name of the mailbox; one database holds many.
        body: attrs class that bodies are of, or several; None: plain JSON values.
        clock: where waiting is measured.

    Raises:
        MailboxError: the database can't be reached, or refuses to make the tables.
    """

    facts = MailboxFacts(engine="postgres", fenced=True, reports_loss=True, call_timeout=TIMEOUT)

    def __init__(
        self,
        conninfo: str,
        queue: str = "agents",
        body: type[Body] | Sequence[type[Any]] | None = None,
        *,
        clock: Clock = LEASE_CLOCK,
    ) -> None:
        super().__init__(body, clock=clock)
        self.queue = queue
        self._conninfo = conninfo
        self._pool = ConnectionPool(self._connect, psycopg.Connection.close)
        self._prepare()

    @classmethod
    def from_url(cls, url: str, body: Any = None) -> PostgresMailbox[Any]:
        """Open ``postgresql://user@host/database?queue=agents``.

        Args:
            url: other parameters in it go to ``psycopg.connect``.
            body: type of the bodies; None for anything that JSON holds.
        """
        return cls(*split_queue(url), body)

    def put(self, data: bytes, delay: float) -> str:
        return str(self._row(_sql.PUT, (self.queue, data, delay))[0])

    def take(self, count: int, visibility: float) -> Sequence[Delivery]:
        token = os.urandom(8)
        values = {"queue": self.queue, "count": count, "token": token, "visibility": visibility}
        rows = self._do(_sql.TAKE, values).fetchall()
        return [
            Delivery(str(identifier), (identifier, token), body, deliveries, sent_at)
            for identifier, body, deliveries, sent_at in sorted(rows)
        ]

    def delete(self, receipt: Receipt) -> bool:
        return self._do(_sql.ACK, receipt).rowcount > 0

    def release(self, receipt: Receipt, delay: float) -> bool:
        return self._do(_sql.RELEASE, (delay, *receipt)).rowcount > 0

    def prolong(self, receipt: Receipt, seconds: float) -> Extension:
        try:
            row = self._do(_sql.PROLONG, (seconds, *receipt)).fetchone()
        except MailboxError as error:
            return Unknown(str(error))
        return Granted(row[0]) if row else Lost("expired, delivered again, or gone")

    def discard(self, receipt: Receipt, reason: str) -> bool:
        # Postgres has no NUL in texts.
        return self._do(_sql.BURY, (*receipt, reason.replace("\0", "�"))).rowcount > 0

    def dead_letters(self, limit: int = 100) -> Sequence[DeadLetter]:
        rows = self._do(_sql.DEAD, (self.queue, limit)).fetchall()
        return [DeadLetter(str(identifier), *rest) for identifier, *rest in rows]

    def requeue(self, ids: Iterable[str] | None = None) -> int:
        return self._letters(_sql.REQUEUE, ids)

    def drop(self, ids: Iterable[str] | None = None) -> int:
        return self._letters(_sql.DROP, ids)

    def _letters(self, statement: LiteralString, ids: Iterable[str] | None) -> int:
        known = None if ids is None else [int(one) for one in ids if one.isdecimal()]
        return self._do(statement, {"queue": self.queue, "ids": known}).rowcount

    def stats(self) -> MailboxStats:
        return MailboxStats(*self._row(_sql.STATS, {"queue": self.queue}))

    def close(self) -> None:
        self._pool.close()

    # The database.

    def _row(self, statement: LiteralString, values: Any) -> tuple[Any, ...]:
        row = self._do(statement, values).fetchone()
        assert row is not None
        return row

    def _do(self, statement: LiteralString, values: Any) -> psycopg.Cursor[tuple[Any, ...]]:
        with self._connection() as connection:
            return connection.execute(statement, values)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        try:
            with self._pool.use() as connection:
                yield connection
        except psycopg.Error as error:
            said = str(error).strip() or type(error).__name__
            raise MailboxError(f"mailbox {self.queue} in Postgres: {said}") from error

    def _connect(self) -> Connection:
        connection = psycopg.connect(
            self._conninfo, autocommit=True, connect_timeout=TIMEOUT, application_name="trimtab"
        )
        connection.execute(_sql.TIMEOUT, (str(TIMEOUT * 1000),))
        return connection

    def _prepare(self) -> None:
        with self._connection() as connection, connection.transaction():
            for statement in _sql.SCHEMA:
                connection.execute(statement)
