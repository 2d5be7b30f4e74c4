"""The mailbox: rows of a table, leased by SKIP LOCKED."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

import psycopg
from psycopg import sql

from trimtab_postgres import _sql
from trimtab_postgres._connection import TIMEOUT, TimedConnection, works
from trimtab_worker import (
    KEYS_KEPT,
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
    StoredMessage,
    Unknown,
    split_queue,
)

if TYPE_CHECKING:
    from trimtab import Clock

Body = TypeVar("Body")
Receipt = tuple[int, bytes]

BATCH = 64
LONGEST_WAIT = 0.5
"""Seconds between two looks while nothing is heard: delayed messages and leases that end make no
sound, and a pooler may swallow what others say."""
GONE = Lost("delivered again, given back, or gone")


class PostgresMailbox(BaseMailbox[Body]):
    """A mailbox in four tables whose names begin with ``trimtab_``.

    Leases are judged by the server's clock, and fenced by a random token per delivery. The tables
    are made where they do not exist. There are as many connections as threads use at a time; each
    call ends within 5 seconds, and nothing is prepared or set on the server, so that a pooler in
    transaction mode, such as PgBouncer, may stand between.

    Args:
        conninfo: of the database, as for ``psycopg.connect``.
        queue: name of the mailbox; one database holds many.
        body: attrs class that bodies are of, or several; None: plain JSON values.
        clock: where waiting is measured.

    Raises:
        MailboxError: the database can't be reached, or refuses to make the tables.
    """

    facts = MailboxFacts(
        engine="postgres",
        fenced=True,
        reports_loss=True,
        batch=BATCH,
        call_timeout=TIMEOUT,
        once=True,
    )

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
        # The name of a queue may be longer than a channel's.
        self._channel = f"trimtab_{hashlib.sha256(queue.encode()).hexdigest()[:32]}"
        self._pool = ConnectionPool(self._connect, TimedConnection.close, works)
        self._listening = ConnectionPool(self._listen, TimedConnection.close, works)
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
        values = {"queue": self.queue, "body": data, "delay": delay, "channel": self._channel}
        return str(self._row(_sql.PUT, values)[0])

    def put_once(self, data: bytes, delay: float, key: str) -> str | None:
        values = {
            "queue": self.queue,
            "body": data,
            "delay": delay,
            "channel": self._channel,
            "key": key,
            "kept": KEYS_KEPT,
        }
        row = self._do(_sql.PUT_ONCE, values).fetchone()
        return None if row is None else str(row[0])

    def take(self, count: int, visibility: float) -> Sequence[Delivery]:
        with self._connection(self._pool) as connection:
            return self._take(connection, count, visibility)

    def _take(
        self, connection: TimedConnection, count: int, visibility: float
    ) -> Sequence[Delivery]:
        token = os.urandom(8)
        values = {"queue": self.queue, "count": count, "token": token, "visibility": visibility}
        rows = connection.execute(_sql.TAKE, values).fetchall()
        return [
            Delivery(str(identifier), (identifier, token), body, deliveries, sent_at)
            for identifier, body, deliveries, sent_at in sorted(rows)
        ]

    def poll(self, count: int, visibility: float, wait: float) -> tuple[float, Sequence[Delivery]]:
        """Wait for the notification that each new message sends."""
        until = self.clock.monotonic() + wait
        asked, found = self.clock.monotonic(), self.take(count, visibility)
        if found or not wait:
            return asked, found
        with self._connection(self._listening) as connection:
            while True:
                asked = self.clock.monotonic()
                found = self._take(connection, count, visibility)
                left = until - self.clock.monotonic()
                if found or left <= 0:
                    break
                for _ in connection.notifies(timeout=min(left, LONGEST_WAIT), stop_after=1):
                    """Heard: look again."""
        if found:
            # A worker that is busy for an hour must not let notifications pile up on the server.
            self._stop_listening()
        return asked, found

    def _listen(self) -> TimedConnection:
        connection = self._pool.take()
        try:
            connection.execute(sql.SQL(_sql.LISTEN).format(sql.Identifier(self._channel)))
        except psycopg.Error:
            self._pool.drop(connection)
            raise
        return connection

    def _stop_listening(self) -> None:
        connection = self._listening.take()
        try:
            connection.execute(_sql.UNLISTEN)
        except psycopg.Error:
            self._pool.drop(connection)
        else:
            self._pool.give(connection)

    def delete(self, receipt: Receipt) -> bool:
        return self._do(_sql.ACK, receipt).rowcount > 0

    def release(self, receipt: Receipt, delay: float) -> bool:
        identifier, token = receipt
        values = {"delay": delay, "id": identifier, "token": token, "channel": self._channel}
        return self._do(_sql.RELEASE, values).rowcount > 0

    def prolong(self, receipt: Receipt, seconds: float) -> Extension:
        return self.prolong_many([(receipt, seconds)])[0]

    def prolong_many(self, asked: Sequence[tuple[Receipt, float]]) -> Sequence[Extension]:
        """Extend several leases in one statement."""
        ids, tokens = (list(part) for part in zip(*(receipt for receipt, _ in asked), strict=True))
        try:
            rows = self._do(_sql.PROLONG, (ids, tokens, [s for _, s in asked])).fetchall()
        except MailboxError as error:
            return [Unknown(str(error))] * len(asked)
        granted = dict(rows)
        return [Granted(granted[id_]) if id_ in granted else GONE for id_ in ids]

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

    def peek(self, limit: int = 20) -> Sequence[StoredMessage]:
        found = self._do(_sql.PEEK, (self.queue, limit)).fetchall()
        return [
            StoredMessage.of(
                Delivery(str(identifier), None, bytes(body), deliveries, sent), left, held=held
            )
            for identifier, body, deliveries, left, sent, held in found
        ]

    def purge(self) -> int:
        return self._do(_sql.PURGE, (self.queue,)).rowcount

    def stats(self) -> MailboxStats:
        return MailboxStats(*self._row(_sql.STATS, {"queue": self.queue}))

    def close(self) -> None:
        self._listening.close()
        self._pool.close()

    # The database.

    def _row(self, statement: LiteralString, values: Any) -> tuple[Any, ...]:
        row = self._do(statement, values).fetchone()
        assert row is not None
        return row

    def _do(self, statement: LiteralString, values: Any) -> psycopg.Cursor[tuple[Any, ...]]:
        with self._connection(self._pool) as connection:
            return connection.execute(statement, values)

    @contextmanager
    def _connection(self, pool: ConnectionPool[TimedConnection]) -> Iterator[TimedConnection]:
        try:
            with pool.use() as connection:
                yield connection
        except psycopg.Error as error:
            said = str(error).strip() or type(error).__name__
            raise MailboxError(f"mailbox {self.queue} in Postgres: {said}") from error

    def _connect(self) -> TimedConnection:
        return TimedConnection.open(self._conninfo)

    def _prepare(self) -> None:
        with self._connection(self._pool) as connection, connection.transaction():
            for statement in _sql.SCHEMA:
                connection.execute(statement)
