"""Embedded mailboxes: one SQLite file for all processes of a machine, and one in memory."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import attrs

from trimtab.hosting import names_known
from trimtab_worker._mailbox import KEYS_KEPT, Mailbox
from trimtab_worker._pool import ConnectionPool
from trimtab_worker._records import (
    LEASE_CLOCK,
    DeadLetter,
    Delivery,
    Extension,
    Granted,
    LeaseClock,
    Lost,
    MailboxError,
    MailboxFacts,
    MailboxStats,
    StoredMessage,
    Unknown,
    boot_id,
)

if TYPE_CHECKING:
    from trimtab import Clock

Body = TypeVar("Body")
Receipt = tuple[int, bytes]

VERSION = 1
BUSY = 5.0
"""Seconds that a statement waits for other writers: what `facts` promises of a call."""
BATCH = 64
CHECKPOINT = 8000
"""Pages of the log (32 MB) after which it is moved into the file: that waits for the disk."""
SCHEMA = (
    """create table if not exists messages(
        id integer primary key autoincrement, body blob not null, visible_at real not null,
        deliveries integer not null default 0, token blob, sent_at real not null)""",
    "create index if not exists messages_ready on messages(visible_at)",
    """create table if not exists dead(
        id integer primary key, body blob not null, reason text not null,
        deliveries integer not null, died_at real not null)""",
    "create table if not exists counts(name text primary key, n integer not null)",
    "insert or ignore into counts values('buried', 0)",
    "create table if not exists once(key text primary key, sent_at real not null)",
    "create index if not exists once_by_time on once(sent_at)",
    "create table if not exists boots(id text primary key, began real not null)",
)
PUT = "insert into messages(body, visible_at, sent_at) values(?, ?, ?)"
TAKE = """update messages set deliveries = deliveries + 1, token = :token, visible_at = :until
    where id in (select id from messages where visible_at <= :now
                 order by visible_at, id limit :count)
    returning id, body, deliveries, sent_at"""
TAKE_ONE = TAKE.replace("id in", "id =").replace(":count", "1")
"""Spares SQLite the temporary table of a list."""
DELETE = "delete from messages where id = ? and token = ?"
RELEASE = "update messages set token = null, visible_at = ? where id = ? and token = ?"
PROLONG = """update messages set visible_at = max(visible_at, :until)
    where id = :id and token = :token returning visible_at"""
"""The token alone decides: a lease that ended is regained while nobody has taken the message."""
BURY = """insert or replace into dead
    select id, body, ?, deliveries, ? from messages where id = ? and token = ?"""
REQUEUE = """insert into messages(body, visible_at, sent_at)
    select body, :now, :now from dead where :every or id = :id order by id"""
PEEK = """select id, body, deliveries, visible_at - :now, sent_at, token is not null
    from messages order by visible_at, id limit :limit"""
PURGE = "delete from messages where token is null or visible_at <= :now"
STATS = """select
    count(*) filter (where visible_at <= :now),
    count(*) filter (where visible_at > :now and token is not null),
    count(*) filter (where visible_at > :now and token is null),
    (select count(*) from dead),
    coalesce((select seq from sqlite_sequence where name = 'messages'), 0) - count(*)
        - (select n from counts where name = 'buried'),
    :now - min(sent_at) filter (where visible_at <= :now)
    from messages"""
"""Acknowledged is what was sent, but for what is there, was buried or purged: no count to keep."""


SWITCH = {"0": False, "1": True}
GONE = Lost("delivered again, given back, or gone")


def path_of(url: str) -> str:
    """Return the file that a URL names.

    Raises:
        MailboxError: it names none.
    """
    parts = urlsplit(url)
    if parts.fragment or parts.netloc or len(parts.path) < 2 or not parts.path.startswith("/"):
        raise MailboxError(f"{url!r} names no file: write sqlite:///queue.db")
    return unquote(parts.path)[1:]


@names_known()
class SqliteMailbox(Mailbox[Body]):
    """A mailbox in one SQLite file (WAL), fenced by a random token per delivery.

    Leases are judged by a clock that all processes of the machine share and that nobody can set,
    where the system has one (Linux); by the wall clock elsewhere. The file must lie on a local
    disk: WAL does not work on network file systems. A file that is deleted or replaced is noticed
    at the next call, which fails; the one after it opens the file anew.

    Args:
        path: of the file; made where it does not exist.
        body: attrs class that bodies are of, or several; None: plain JSON values.
        clock: where the time is read.
        durable: wait for the disk at every change. Otherwise a power failure, unlike a crash of
            the process, may undo the last changes.

    Raises:
        MailboxError: the file can't be opened, or is of a newer version.
    """

    facts = MailboxFacts(
        engine="sqlite", fenced=True, reports_loss=True, batch=BATCH, call_timeout=BUSY, once=True
    )

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
        self._offset: float | None = None
        self._file: tuple[int, int] | None = None
        self._prepare()

    @classmethod
    def from_url(cls, url: str, body: Any = None) -> SqliteMailbox[Any]:
        """Open ``sqlite:///relative.db`` or ``sqlite:////absolute.db``.

        Args:
            url: as above; the one parameter is ``durable=1``.
            body: type of the bodies; None for anything that JSON holds.

        Raises:
            MailboxError: it names no file, or has another parameter.
        """
        options = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
        durable = options.pop("durable", "0")
        if options or durable not in SWITCH:
            raise MailboxError(f"{url!r}: the one parameter of sqlite: is durable=1")
        return cls(path_of(url), body, durable=SWITCH[durable])

    def put(self, data: bytes, delay: float) -> str:
        now = self._now()
        return str(self._do(PUT, (data, now + delay, now)).lastrowid)

    def put_once(self, data: bytes, delay: float, key: str) -> str | None:
        with self._writing() as connection:
            now = self._now()
            connection.execute("delete from once where sent_at < ?", (now - KEYS_KEPT,))
            new = connection.execute("insert or ignore into once values(?, ?)", (key, now))
            if new.rowcount == 0:
                return None
            return str(connection.execute(PUT, (data, now + delay, now)).lastrowid)

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
        return self.prolong_many([(receipt, seconds)])[0]

    def prolong_many(self, asked: Sequence[tuple[Receipt, float]]) -> Sequence[Extension]:
        """Extend several leases in one transaction."""
        outcomes: list[Extension] = []
        try:
            with self._writing() as connection:
                now = self._now()
                for (identifier, token), seconds in asked:
                    values = {"until": now + seconds, "id": identifier, "token": token}
                    row = connection.execute(PROLONG, values).fetchone()
                    outcomes.append(Granted(row[0] - now) if row else GONE)
        except MailboxError as error:
            return [Unknown(str(error))] * len(asked)
        return outcomes

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

    def peek(self, limit: int = 20) -> Sequence[StoredMessage]:
        found = self._do(PEEK, {"now": self._now(), "limit": limit})
        return [
            StoredMessage.of(
                Delivery(str(identifier), None, body, deliveries, _time(sent)),
                left,
                held=bool(held),
            )
            for identifier, body, deliveries, left, sent, held in found.rows
        ]

    def purge(self) -> int:
        with self._writing() as connection:
            gone = connection.execute(PURGE, {"now": self._now()}).rowcount
            connection.execute("update counts set n = n + ? where name = 'buried'", (gone,))
        return gone

    def stats(self) -> MailboxStats:
        return MailboxStats(*self._do(STATS, {"now": self._now()}).rows[0])

    def close(self) -> None:
        self._pool.close()

    # The file.

    def _now(self) -> float:
        """The time of the file: the wall clock's when the machine started, plus what passed."""
        if self._offset is None:
            return self.clock.now().timestamp()
        return self.clock.monotonic() + self._offset

    def _do(self, sql: str, values: Any) -> _Result:
        with self._connection() as connection:
            cursor = connection.execute(sql, values)
            return _Result(cursor.fetchall(), cursor.rowcount, cursor.lastrowid)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection to the file that has the mailbox's name now; an error closes it."""
        if self._file is None:
            self._prepare()
        elif self._file != self._identity():
            # Connections to the old file still work, where nobody else will ever look.
            self._file = None
            self._pool.close()
            raise MailboxError(f"mailbox {self.path} was deleted or replaced by another file")
        try:
            with self._pool.use() as connection:
                yield connection
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _failed(self, error: sqlite3.Error) -> MailboxError:
        return MailboxError(f"mailbox {self.path}: {error}")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that takes the write lock at once."""
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
        """Make the tables where they do not exist, and agree on the time with other processes."""
        connection = self._connect()
        try:
            connection.execute("begin immediate")
            found = connection.execute("pragma user_version").fetchone()[0]
            if found > VERSION:
                raise MailboxError(
                    f"{self.path} is a mailbox of version {found}; this trimtab-worker reads "
                    f"up to {VERSION}: install a newer one"
                )
            for statement in SCHEMA:
                connection.execute(statement)
            if found < VERSION:
                connection.execute(f"pragma user_version = {VERSION}")
            if isinstance(self.clock, LeaseClock):
                self._offset = _offset(connection, self.clock)
            connection.execute("commit")
        except sqlite3.Error as error:
            connection.close()
            raise self._failed(error) from error
        except BaseException:
            connection.close()
            raise
        self._file = self._identity()
        self._pool.give(connection)


@names_known()
class InMemoryMailbox(SqliteMailbox[Body]):
    """A mailbox in this process's memory, for tests: nothing survives the process.

    Args:
        body: attrs class that bodies are of, or several; None: plain JSON values.
        clock: where the time is read; leases are judged by its monotonic seconds alone.
    """

    facts = attrs.evolve(SqliteMailbox.facts, engine="memory", batch=1, call_timeout=0.1)

    def __init__(
        self,
        body: type[Body] | Sequence[type[Any]] | None = None,
        *,
        clock: Clock = LEASE_CLOCK,
    ) -> None:
        self._lock = threading.RLock()
        super().__init__(":memory:", body, clock=clock)
        self._offset = clock.now().timestamp() - clock.monotonic()

    @classmethod
    def from_url(cls, url: str, body: Any = None) -> InMemoryMailbox[Any]:
        """Return a new, empty mailbox: ``memory:``.

        Args:
            url: only ``memory:``.
            body: type of the bodies; None for anything that JSON holds.

        Raises:
            MailboxError: the URL says more, as if there could be several.
        """
        if url not in ("memory:", "memory://"):
            raise MailboxError(f"{url!r}: a mailbox in memory has no name; write memory:")
        return cls(body)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Lend the one connection, which holds the messages, to one thread at a time."""
        with self._lock:
            connection = self._pool.take()
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            finally:
                self._pool.give(connection)

    def _identity(self) -> tuple[int, int] | None:
        return None

    def close(self) -> None:
        """Keep the messages: they end with this object."""


class _Result(NamedTuple):
    rows: list[tuple[Any, ...]]
    rowcount: int
    lastrowid: int | None


def _offset(connection: sqlite3.Connection, clock: LeaseClock) -> float | None:
    """Return what to add to the clock of leases for the file's time; None without such a clock.

    The first process after a start of the machine sets it by the wall clock. Whoever sets the
    wall clock afterwards moves no lease.
    """
    boot = boot_id()
    if boot is None:
        return None
    row = connection.execute("select began from boots where id = ?", (boot,)).fetchone()
    if row is None:
        row = (clock.now().timestamp() - clock.monotonic(),)
        connection.execute("delete from boots")
        connection.execute("insert into boots values(?, ?)", (boot, *row))
    return float(row[0])


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
