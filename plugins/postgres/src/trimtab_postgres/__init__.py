"""Mailboxes in Postgres: rows leased by SKIP LOCKED, over connections whose calls end in time."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

import psycopg
from psycopg import sql

from trimtab.hosting import names_known
from trimtab_worker import (
    KEYS_KEPT,
    LEASE_CLOCK,
    ConnectionPool,
    DeadLetter,
    Delivery,
    Extension,
    Granted,
    Lost,
    Mailbox,
    MailboxError,
    MailboxFacts,
    MailboxStats,
    StoredMessage,
    Unknown,
    split_queue,
)

if TYPE_CHECKING:
    from trimtab import Clock

__all__ = ["PostgresMailbox"]


SCHEMA = (
    "select pg_advisory_xact_lock(7474617573)",
    """create table if not exists trimtab_messages(
        id bigint generated always as identity primary key,
        queue text not null, body bytea not null, visible_at timestamptz not null,
        deliveries integer not null default 0, token bytea,
        sent_at timestamptz not null default clock_timestamp())""",
    """create index if not exists trimtab_messages_ready
        on trimtab_messages(queue, visible_at, id)""",
    """create table if not exists trimtab_dead(
        id bigint generated always as identity primary key,
        queue text not null, body bytea not null, reason text not null,
        deliveries integer not null, died_at timestamptz not null default clock_timestamp())""",
    "create index if not exists trimtab_dead_of on trimtab_dead(queue, id)",
    # Several slots per queue: acknowledgements at one time don't wait for one row.
    """create table if not exists trimtab_acked(
        queue text not null, slot integer not null, n bigint not null,
        primary key(queue, slot))""",
    """create table if not exists trimtab_once(
        queue text not null, key text not null,
        sent_at timestamptz not null default clock_timestamp(), primary key(queue, key))""",
    "create index if not exists trimtab_once_by_time on trimtab_once(queue, sent_at)",
)
ENDS_IDLE = "select set_config('idle_in_transaction_session_timeout', %s, true)"
LISTEN = """listen {}"""
UNLISTEN = """unlisten *"""
PUT = """with made as (
        insert into trimtab_messages(queue, body, visible_at)
        values(%(queue)s, %(body)s, clock_timestamp() + make_interval(secs => %(delay)s))
        returning id)
    select id, case when %(delay)s = 0 then pg_notify(%(channel)s, '') end from made"""
PUT_ONCE = """with old as (
        delete from trimtab_once where queue = %(queue)s
        and sent_at < clock_timestamp() - make_interval(secs => %(kept)s)),
    new as (
        insert into trimtab_once(queue, key) values(%(queue)s, %(key)s)
        on conflict do nothing returning key),
    made as (
        insert into trimtab_messages(queue, body, visible_at)
        select %(queue)s, %(body)s, clock_timestamp() + make_interval(secs => %(delay)s) from new
        returning id)
    select id, case when %(delay)s = 0 then pg_notify(%(channel)s, '') end from made"""
TAKE = """with ready as (
        select id from trimtab_messages
        where queue = %(queue)s and visible_at <= clock_timestamp()
        order by visible_at, id for update skip locked limit %(count)s)
    update trimtab_messages m
    set deliveries = m.deliveries + 1, token = %(token)s,
        visible_at = clock_timestamp() + make_interval(secs => %(visibility)s)
    from ready where m.id = ready.id
    returning m.id, m.body, m.deliveries, m.sent_at"""
ACK = """with gone as (delete from trimtab_messages where id = %s and token = %s returning queue)
    insert into trimtab_acked(queue, slot, n) select queue, pg_backend_pid() %% 16, 1 from gone
    on conflict(queue, slot) do update set n = trimtab_acked.n + 1"""
RELEASE = """with given as (
        update trimtab_messages
        set token = null, visible_at = clock_timestamp() + make_interval(secs => %(delay)s)
        where id = %(id)s and token = %(token)s returning id)
    select case when %(delay)s = 0 then pg_notify(%(channel)s, '') end from given"""
# The token alone decides: a lease that ended is regained while nobody has taken the message.
PROLONG = """update trimtab_messages m
    set visible_at = greatest(
        m.visible_at, clock_timestamp() + make_interval(secs => asked.seconds))
    from unnest(%s::bigint[], %s::bytea[], %s::float8[]) as asked(id, token, seconds)
    where m.id = asked.id and m.token = asked.token
    returning m.id, extract(epoch from m.visible_at - clock_timestamp())::float8"""
BURY = """with gone as (
        delete from trimtab_messages where id = %s and token = %s
        returning queue, body, deliveries)
    insert into trimtab_dead(queue, body, reason, deliveries)
    select queue, body, %s, deliveries from gone"""
DEAD = """select id, body, reason, deliveries, died_at from trimtab_dead
    where queue = %s order by id limit %s"""
REQUEUE = """with gone as (
        delete from trimtab_dead
        where queue = %(queue)s and (%(ids)s::bigint[] is null or id = any(%(ids)s))
        returning queue, body)
    insert into trimtab_messages(queue, body, visible_at)
    select queue, body, clock_timestamp() from gone"""
DROP = """delete from trimtab_dead
    where queue = %(queue)s and (%(ids)s::bigint[] is null or id = any(%(ids)s))"""
STATS = """select
    count(*) filter (where visible_at <= clock_timestamp()),
    count(*) filter (where visible_at > clock_timestamp() and token is not null),
    count(*) filter (where visible_at > clock_timestamp() and token is null),
    (select count(*) from trimtab_dead where queue = %(queue)s),
    (select coalesce(sum(n), 0)::bigint from trimtab_acked where queue = %(queue)s),
    extract(epoch from clock_timestamp()
        - min(sent_at) filter (where visible_at <= clock_timestamp()))::float8
    from trimtab_messages where queue = %(queue)s"""
PEEK = """select id, body, deliveries,
        extract(epoch from visible_at - clock_timestamp())::float8, sent_at, token is not null
    from trimtab_messages where queue = %s order by visible_at, id limit %s"""
PURGE = """delete from trimtab_messages
    where queue = %s and (token is null or visible_at <= clock_timestamp())"""


TIMEOUT = 5.0
"""Seconds after which a call is given up. The client counts them: what a server or a kernel times
fails where a proxy keeps the connection open and holds the bytes."""
CANCEL = 2.0
LOG = logging.getLogger("trimtab_worker")
PARAMETERS = {
    "application_name": "trimtab",
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""What the URL does not say; a connection that is idle is looked after by the kernel."""


class TimedConnection(psycopg.Connection[Any]):
    """A connection that gives a call up after `TIMEOUT` seconds, with an `OperationalError`.

    It keeps no state on the server, neither settings nor prepared statements: a pooler such as
    PgBouncer may give each transaction another server's connection.
    """

    @classmethod
    def open(cls, conninfo: str) -> TimedConnection:
        """Connect; parameters of `conninfo` win over ours."""
        given = psycopg.conninfo.conninfo_to_dict(conninfo)
        parameters: dict[str, Any] = {**PARAMETERS, **given}
        return cls.connect(autocommit=True, prepare_threshold=None, **parameters)

    def wait(self, gen: Generator[Any, Any, Any], *how: Any, **kwargs: Any) -> Any:
        """As psycopg waits for a call, but not longer than `TIMEOUT`."""
        try:
            return super().wait(_limited(gen, LEASE_CLOCK.monotonic() + TIMEOUT), *how, **kwargs)
        except CallTimeout:
            self._cancel_later()
            raise

    def _cancel_later(self) -> None:
        """Ask the server to give the statement up too: it may wait for a lock."""

        def cancel() -> None:
            try:
                self.cancel_safe(timeout=CANCEL)
            except Exception as error:  # noqa: BLE001 - the server may be out of reach
                LOG.debug("a statement in Postgres could not be cancelled: %s", error)

        thread = threading.Thread(target=cancel, name="trimtab-postgres-cancel", daemon=True)
        thread.start()
        thread.join(CANCEL / 4)


class CallTimeout(psycopg.OperationalError):
    """A call took too long."""


def _limited(gen: Generator[Any, Any, Any], until: float) -> Generator[Any, Any, Any]:
    """Run psycopg's generator of one call, and raise when its time is over."""
    try:
        state = next(gen)
        while True:
            ready = yield state
            if LEASE_CLOCK.monotonic() >= until:
                raise CallTimeout(f"no answer for {TIMEOUT:g} seconds")
            state = gen.send(ready)
    except StopIteration as ended:
        return ended.value


def works(connection: TimedConnection) -> bool:
    """Return whether an idle connection is open, as far as the socket tells."""
    if connection.closed:
        return False
    for _ in range(2):  # the server's last words, then its end, which raises
        connection.pgconn.consume_input()
    return not connection.broken


Body = TypeVar("Body")
Receipt = tuple[int, bytes]

BATCH = 64
LONGEST_WAIT = 0.5
"""Seconds between two looks while nothing is heard: delayed messages and leases that end make no
sound, and a pooler may swallow what others say."""
GONE = Lost("delivered again, given back, or gone")


@names_known()
class PostgresMailbox(Mailbox[Body]):
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
        return str(self._row(PUT, values)[0])

    def put_once(self, data: bytes, delay: float, key: str) -> str | None:
        values = {
            "queue": self.queue,
            "body": data,
            "delay": delay,
            "channel": self._channel,
            "key": key,
            "kept": KEYS_KEPT,
        }
        row = self._do(PUT_ONCE, values).fetchone()
        return None if row is None else str(row[0])

    def take(self, count: int, visibility: float) -> Sequence[Delivery]:
        with self._connection(self._pool) as connection:
            return self._take(connection, count, visibility)

    def _take(
        self, connection: TimedConnection, count: int, visibility: float
    ) -> Sequence[Delivery]:
        token = os.urandom(8)
        values = {"queue": self.queue, "count": count, "token": token, "visibility": visibility}
        rows = connection.execute(TAKE, values).fetchall()
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
            connection.execute(sql.SQL(LISTEN).format(sql.Identifier(self._channel)))
        except psycopg.Error:
            self._pool.drop(connection)
            raise
        return connection

    def _stop_listening(self) -> None:
        connection = self._listening.take()
        try:
            connection.execute(UNLISTEN)
        except psycopg.Error:
            self._pool.drop(connection)
        else:
            self._pool.give(connection)

    def delete(self, receipt: Receipt) -> bool:
        return self._do(ACK, receipt).rowcount > 0

    def release(self, receipt: Receipt, delay: float) -> bool:
        identifier, token = receipt
        values = {"delay": delay, "id": identifier, "token": token, "channel": self._channel}
        return self._do(RELEASE, values).rowcount > 0

    def prolong(self, receipt: Receipt, seconds: float) -> Extension:
        return self.prolong_many([(receipt, seconds)])[0]

    def prolong_many(self, asked: Sequence[tuple[Receipt, float]]) -> Sequence[Extension]:
        """Extend several leases in one statement."""
        ids, tokens = (list(part) for part in zip(*(receipt for receipt, _ in asked), strict=True))
        try:
            rows = self._do(PROLONG, (ids, tokens, [s for _, s in asked])).fetchall()
        except MailboxError as error:
            return [Unknown(str(error))] * len(asked)
        granted = dict(rows)
        return [Granted(granted[id_]) if id_ in granted else GONE for id_ in ids]

    def discard(self, receipt: Receipt, reason: str) -> bool:
        # Postgres has no NUL in texts.
        return self._do(BURY, (*receipt, reason.replace("\0", "�"))).rowcount > 0

    def dead_letters(self, limit: int = 100) -> Sequence[DeadLetter]:
        rows = self._do(DEAD, (self.queue, limit)).fetchall()
        return [DeadLetter(str(identifier), *rest) for identifier, *rest in rows]

    def requeue(self, ids: Iterable[str] | None = None) -> int:
        return self._letters(REQUEUE, ids)

    def drop(self, ids: Iterable[str] | None = None) -> int:
        return self._letters(DROP, ids)

    def _letters(self, statement: LiteralString, ids: Iterable[str] | None) -> int:
        known = None if ids is None else [int(one) for one in ids if one.isdecimal()]
        return self._do(statement, {"queue": self.queue, "ids": known}).rowcount

    def peek(self, limit: int = 20) -> Sequence[StoredMessage]:
        found = self._do(PEEK, (self.queue, limit)).fetchall()
        return [
            StoredMessage.of(
                Delivery(str(identifier), None, bytes(body), deliveries, sent), left, held=held
            )
            for identifier, body, deliveries, left, sent, held in found
        ]

    def purge(self) -> int:
        return self._do(PURGE, (self.queue,)).rowcount

    def stats(self) -> MailboxStats:
        return MailboxStats(*self._row(STATS, {"queue": self.queue}))

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
            # The tables are locked until the end: a worker whose network dies keeps no one out.
            connection.execute(
                f"set local idle_in_transaction_session_timeout = {TIMEOUT * 1000:.0f}"
            )
            for statement in SCHEMA:
                connection.execute(statement)
