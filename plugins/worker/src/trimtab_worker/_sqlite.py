"""The embedded mailbox: one SQLite file, shared by threads and processes of one machine."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from trimtab_worker._clock import LEASE_CLOCK
from trimtab_worker._errors import MailboxError
from trimtab_worker._mailbox import BaseMailbox
from trimtab_worker._pool import ConnectionPool
from trimtab_worker._records import (
    DeadLetter,
    Delivery,
    Extension,
    Granted,
    Lost,
    MailboxFacts,
    MailboxStats,
    Unknown,
)

if TYPE_CHECKING:
    from trimtab import Clock

Body = TypeVar("Body")
Receipt = tuple[int, bytes]

VERSION = 1
BUSY = 10.0
CHECKPOINT = 8000
"""Pages of the log (32 MB) after which it is moved into the file: that waits for the disk."""
SCHEMA = """
create table if not exists messages(
    id integer primary key autoincrement, body blob not null, visible_at real not null,
    deliveries integer not null default 0, token blob, sent_at real not null);
create index if not exists messages_ready on messages(visible_at);
create table if not exists dead(
    id integer primary key, body blob not null, reason text not null,
    deliveries integer not null, died_at real not null);
create table if not exists counts(name text primary key, n integer not null);
insert or ignore into counts values('buried', 0);
"""
TAKE = """update messages set deliveries = deliveries + 1, token = :token, visible_at = :until
    where id in (select id from messages where visible_at <= :now
                 order by visible_at, id limit :count)
    returning id, body, deliveries, sent_at"""
TAKE_ONE = TAKE.replace("id in", "id =").replace(":count", "1")
"""Spares SQLite the temporary table of a list."""
DELETE = "delete from messages where id = ? and token = ?"
RELEASE = "update messages set token = null, visible_at = ? where id = ? and token = ?"
PROLONG = """update messages set visible_at = max(visible_at, :until)
    where id = :id and token = :token and visible_at > :now returning visible_at"""
BURY = """insert or replace into dead
    select id, body, ?, deliveries, ? from messages where id = ? and token = ?"""
REQUEUE = """insert into messages(body, visible_at, sent_at)
    select body, :now, :now from dead where :every or id = :id order by id"""
STATS = """select
    count(*) filter (where visible_at <= :now),
    count(*) filter (where visible_at > :now and token is not null),
    count(*) filter (where visible_at > :now and token is null),
    (select count(*) from dead),
    coalesce((select seq from sqlite_sequence where name = 'messages'), 0) - count(*)
        - (select n from counts where name = 'buried')
    from messages"""
"""Acknowledged is what was sent, but for what is there and what was buried: no count to keep."""


def path_of(url: str) -> str:
    """Return the file that a URL names.

    Raises:
        MailboxError: it names none.
    """
    parts = urlsplit(url)
    if parts.netloc or len(parts.path) < 2 or not parts.path.startswith("/"):
        raise MailboxError(f"{url!r} names no file: write sqlite:///queue.db")
    return unquote(parts.path)[1:]


class SqliteMailbox(BaseMailbox[Body]):
    """A mailbox in one SQLite file (WAL), fenced by a random token per delivery.

    Leases are judged by the machine's wall clock. The file must lie on a local disk: WAL does not
    work on network file systems.

    Args:
        path: of the file; made where it does not exist.
        body: attrs class that bodies are of, or several; None: plain JSON values.
        clock: where the time is read.
        durable: wait for the disk at every change. Otherwise a power failure, unlike a crash of
            the process, may undo the last changes.

    Raises:
        MailboxError: the file can't be opened, or is of a newer version.
    """

    facts = MailboxFacts(engine="sqlite", fenced=True, reports_loss=True, call_timeout=BUSY / 2)

    def __init__(
        self,
        path: str | os.PathLike[str],
        body: type[Body] | Sequence[type[Any]] | None = None,
        *,
        clock: Clock = LEASE_CLOCK,
        durable: bool = False,
    ) -> None:
        super().__init__(body, clock=clock)
        self.path = Path(path)
        self._durable = durable
        self._pool = ConnectionPool(self._connect, sqlite3.Connection.close)
        self._prepare()

    @classmethod
    def from_url(cls, url: str, body: Any = None) -> SqliteMailbox[Any]:
        """Open ``sqlite:///relative.db`` or ``sqlite:////absolute.db``.

        Args:
            url: as above.
            body: type of the bodies; None for anything that JSON holds.
        """
        return cls(path_of(url), body)

    def put(self, data: bytes, delay: float) -> str:
        now = self._now()
        made = self._do(
            "insert into messages(body, visible_at, sent_at) values(?, ?, ?)",
            (data, now + delay, now),
        )
        return str(made.lastrowid)

    def take(self, count: int, visibility: float) -> Sequence[Delivery]:
        now, token = self._now(), os.urandom(8)
        values = {"now": now, "until": now + visibility, "token": token, "count": count}
        rows = self._do(TAKE_ONE if count == 1 else TAKE, values).rows
        return [
            Delivery(str(identifier), (identifier, token), body, deliveries, _time(sent_at))
            for identifier, body, deliveries, sent_at in sorted(rows)
        ]

    def delete(self, receipt: Receipt) -> bool:
        return self._do(DELETE, receipt).rowcount > 0

    def release(self, receipt: Receipt, delay: float) -> bool:
        return self._do(RELEASE, (self._now() + delay, *receipt)).rowcount > 0

    def prolong(self, receipt: Receipt, seconds: float) -> Extension:
        identifier, token = receipt
        now = self._now()
        values = {"until": now + seconds, "id": identifier, "token": token, "now": now}
        try:
            rows = self._do(PROLONG, values).rows
        except MailboxError as error:
            return Unknown(str(error))
        return Granted(rows[0][0] - now) if rows else Lost("expired, delivered again, or gone")

    def discard(self, receipt: Receipt, reason: str) -> bool:
        with self._writing() as connection:
            buried = connection.execute(BURY, (reason, self._now(), *receipt)).rowcount
            if buried > 0:
                connection.execute(DELETE, receipt)
                connection.execute("update counts set n = n + 1 where name = 'buried'")
        return buried > 0

    def dead_letters(self, limit: int = 100) -> Sequence[DeadLetter]:
        found = self._do(
            "select id, body, reason, deliveries, died_at from dead order by id limit ?", (limit,)
        )
        return [
            DeadLetter(str(identifier), body, reason, deliveries, _time(died_at))
            for identifier, body, reason, deliveries, died_at in found.rows
        ]

    def requeue(self, ids: Iterable[str] | None = None) -> int:
        return self._move(ids, REQUEUE)

    def drop(self, ids: Iterable[str] | None = None) -> int:
        return self._move(ids, None)

    def _move(self, ids: Iterable[str] | None, insert: str | None) -> int:
        moved = 0
        with self._writing() as connection:
            for identifier in [None] if ids is None else ids:
                values = {"now": self._now(), "every": identifier is None, "id": identifier}
                if insert:
                    connection.execute(insert, values)
                moved += connection.execute(
                    "delete from dead where :every or id = :id", values
                ).rowcount
        return moved

    def stats(self) -> MailboxStats:
        return MailboxStats(*self._do(STATS, {"now": self._now()}).rows[0])

    def close(self) -> None:
        self._pool.close()

    # The file.

    def _now(self) -> float:
        return self.clock.now().timestamp()

    def _do(self, sql: str, values: Any) -> _Result:
        connection = self._pool.take()
        try:
            cursor = connection.execute(sql, values)
            result = _Result(cursor.fetchall(), cursor.rowcount, cursor.lastrowid)
        except sqlite3.Error as error:
            connection.close()
            raise self._failed(error) from error
        self._pool.give(connection)
        return result

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._pool.use() as connection:
                yield connection
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error) -> MailboxError:
        return MailboxError(f"mailbox {self.path}: {error}")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that takes the write lock at once; an error closes its connection."""
        with self._connection() as connection:
            connection.execute("begin immediate")
            yield connection
            connection.execute("commit")

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                self.path, timeout=BUSY, isolation_level=None, check_same_thread=False
            )
            connection.execute("pragma journal_mode = wal")
            connection.execute(f"pragma wal_autocheckpoint = {CHECKPOINT}")
            connection.execute(f"pragma synchronous = {'full' if self._durable else 'normal'}")
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return connection

    def _prepare(self) -> None:
        with self._writing() as connection:
            found = connection.execute("pragma user_version").fetchone()[0]
            if found > VERSION:
                raise MailboxError(
                    f"{self.path} is a mailbox of version {found}; this trimtab-worker reads "
                    f"up to {VERSION}: install a newer one"
                )
            if found < VERSION:
                _create(connection)


class _Result(NamedTuple):
    rows: list[tuple[Any, ...]]
    rowcount: int
    lastrowid: int | None


def _create(connection: sqlite3.Connection) -> None:
    statement = ""
    for line in SCHEMA.strip().splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    connection.execute(f"pragma user_version = {VERSION}")


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
