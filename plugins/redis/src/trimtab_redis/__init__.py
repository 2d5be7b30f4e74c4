"""Mailboxes on Redis Streams."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.connection import SSLConnection, parse_url
from redis.exceptions import RedisClusterException, RedisError, ResponseError
from redis.retry import Retry
from redis.sentinel import Sentinel

from trimtab.hosting import names_known
from trimtab_redis._script import GROUP, SCRIPT
from trimtab_worker import (
    KEYS_KEPT,
    LEASE_CLOCK,
    DeadLetter,
    Delivery,
    Extension,
    Granted,
    Lost,
    Mailbox,
    MailboxError,
    MailboxFacts,
    MailboxStats,
    MessageState,
    StoredMessage,
    Unknown,
    split_queue,
)

if TYPE_CHECKING:
    from trimtab import Clock

__all__ = ["RedisMailbox"]


Client: TypeAlias = "redis.Redis | redis.RedisCluster"

TIMEOUT = 5.0
"""Seconds after which a call is given up."""
YES = ("true", "yes", "1")
HINTS = (
    ("MovedError", "the server is part of a cluster: write &cluster=true in the URL"),
    ("CrossSlotError", "the server is part of a cluster: write &cluster=true in the URL"),
    (
        "unknown command",
        "a Sentinel? write &sentinel=SERVICE in the URL; a server must be 6.2 or later",
    ),
    ("No master found", "no Sentinel answers, or none knows the service"),
    ("ReadOnlyError", "the server is a replica: write the URL of the primary, or of its Sentinels"),
    ("Cluster mode is not enabled", "write the URL without cluster=true"),
)
"""What an error of Redis says, and what the URL has to do with it."""


def connect(url: str) -> Client:
    """Return a client for a URL of redis-py; its host may be several, with commas between.

    Args:
        url: ``sentinel=SERVICE`` says that hosts are Sentinels, ``cluster=true`` that they are
            nodes of a cluster.

    Raises:
        MailboxError: the URL contradicts itself, or no node of a cluster can be reached.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    service = options.pop("sentinel", None)
    clustered = options.pop("cluster", "").lower() in YES
    user, at, hosts = parts.netloc.rpartition("@")
    query = urlencode(options)
    if service is None and not clustered:
        if "," in hosts:
            raise MailboxError(
                "the URL names several Redis servers: write &sentinel=SERVICE if they are "
                "Sentinels, &cluster=true if they are nodes of a cluster"
            )
        return redis.Redis.from_url(urlunsplit(parts._replace(query=query)), **_settings())
    if service is not None and clustered:
        raise MailboxError("the URL has both sentinel= and cluster=: a mailbox is on one of them")
    one = parts._replace(netloc=f"{user}{at}localhost", query=query)
    parse: Any = parse_url  # has no annotations
    settings = {**_settings(), **parse(urlunsplit(one))}
    del settings["host"]
    if settings.pop("connection_class", None) is SSLConnection:
        settings["ssl"] = True
    if service is not None:
        make: Any = Sentinel  # has no annotations
        sentinels = make(_addresses(hosts, 26379), **settings)
        server: redis.Redis = sentinels.master_for(service)
        return server
    return _cluster(hosts, settings)


def _cluster(hosts: str, settings: dict[str, Any]) -> redis.RedisCluster:
    if settings.pop("db", 0):
        raise MailboxError("a Redis cluster has no numbered databases: leave /N out of the URL")
    make: Any = ClusterNode  # has no annotations
    nodes = [make(host, port) for host, port in _addresses(hosts, 6379)]
    try:
        return redis.RedisCluster(startup_nodes=nodes, **settings)
    except (RedisError, RedisClusterException) as error:
        raise MailboxError(f"cluster {hosts}: {explained(error)}") from error


def _settings() -> dict[str, Any]:
    """What the URL does not say. No call is repeated: an acknowledgement would be refused then."""
    return {
        "socket_timeout": TIMEOUT,
        "socket_connect_timeout": TIMEOUT,
        "health_check_interval": 15,
        "retry": Retry(NoBackoff(), 0),
    }


def _addresses(hosts: str, usual: int) -> Sequence[tuple[str, int]]:
    found = [urlsplit(f"//{one}") for one in hosts.split(",")]
    try:
        return [(one.hostname or "localhost", one.port or usual) for one in found]
    except ValueError as error:
        raise MailboxError(f"{hosts} are no addresses of Redis servers: {error}") from error


def explained(error: Exception) -> str:
    """Return an error's type and text, and what to do about it where the URL is the cause."""
    said = f"{type(error).__name__}: {error}"
    hints = [hint for text, hint in HINTS if text in said]
    return f"{said} ({hints[0]})" if hints else said


Body = TypeVar("Body")
Receipt = tuple[str, str]

KEYS = (
    *("", ":leases", ":tokens", ":deliveries", ":delayed", ":staged", ":dead", ":counts", ":bell"),
    ":once",
)
NAME = re.compile(r"[\w.:-]{1,200}")
ENTRY_ID = re.compile(r"\d{1,20}-\d{1,20}")
NOT_HELD = -1
STATES: Mapping[bytes, MessageState] = {
    b"waiting": "waiting",
    b"leased": "leased",
    b"delayed": "delayed",
}
LONGEST_WAIT = 2.0
"""Seconds of one blocking call, well below the timeout of a client's socket."""


@names_known()
class RedisMailbox(Mailbox[Body]):
    """A mailbox on a Redis stream and its consumer group ``workers``.

    Leases are judged by the server's clock, and fenced by a random token per delivery. A server
    without persistence loses the mailbox when it stops.

    Args:
        client: a ``redis.Redis`` or ``redis.RedisCluster`` whose answers are bytes
            (``decode_responses=False``).
        queue: name of the mailbox; its keys begin with ``trimtab:{queue}``.
        body: attrs class that bodies are of, or several; None: plain JSON values.
        clock: where waiting is measured.

    Raises:
        MailboxError: the name has other characters than letters, digits and ``._:-``.
    """

    facts = MailboxFacts(
        engine="redis", fenced=True, reports_loss=True, batch=64, call_timeout=TIMEOUT, once=True
    )

    def __init__(
        self,
        client: Client,
        queue: str = "agents",
        body: type[Body] | Sequence[type[Any]] | None = None,
        *,
        clock: Clock = LEASE_CLOCK,
    ) -> None:
        super().__init__(body, clock=clock)
        if not NAME.fullmatch(queue):
            raise MailboxError(
                f"{queue!r} is not a valid queue name: letters, digits and ._:- only"
            )
        self._client = client
        self._keys = [f"trimtab:{{{queue}}}{suffix}" for suffix in KEYS]
        self._worker = f"{socket.gethostname()}:{os.getpid()}"
        self._script: Any = client.register_script(SCRIPT)
        self._grouped = False

    @classmethod
    def from_url(cls, url: str, body: Any = None) -> RedisMailbox[Any]:
        """Open ``redis://host:6379/0?queue=agents`` (``rediss:`` for TLS).

        ``redis://one:26379,two:26379/0?queue=agents&sentinel=mymaster`` asks Sentinels for the
        server, and ``redis://one:6379,two:6379?queue=agents&cluster=true`` is a cluster.

        Args:
            url: other parameters in it go to redis-py.
            body: type of the bodies; None for anything that JSON holds.

        Raises:
            MailboxError: the URL contradicts itself, or no node of a cluster can be reached.
        """
        bare, queue = split_queue(url)
        return cls(connect(bare), queue, body)

    def put(self, data: bytes, delay: float) -> str:
        return _text(self._do("put", data, _ms(delay)))

    def put_once(self, data: bytes, delay: float, key: str) -> str | None:
        name = self._do("put", data, _ms(delay), key, _ms(KEYS_KEPT))
        return None if name is None else _text(name)

    def take(self, count: int, visibility: float) -> Sequence[Delivery]:
        token = os.urandom(8).hex()
        found = self._do("take", count, _ms(visibility), self._worker, token)
        return [
            Delivery(_text(name), (_text(entry), token), body, deliveries, _time(sent))
            for entry, name, body, deliveries, sent in found
        ]

    def poll(self, count: int, visibility: float, wait: float) -> tuple[float, Sequence[Delivery]]:
        """Wait for the bell that each new message rings, or until the next one is ready."""
        until = self.clock.monotonic() + wait
        while True:
            asked = self.clock.monotonic()
            found = self.take(count, visibility)
            left = until - self.clock.monotonic()
            if found or left <= 0:
                return asked, found
            self._hear(left)

    def _hear(self, seconds: float) -> None:
        """Wait for the bell; at most until a delayed message or an ended lease is ready."""
        due = self._do("next")
        longest = min(seconds, LONGEST_WAIT, self._longest_answer)
        if due >= 0:
            longest = min(longest, due / 1000)
        try:
            # Redis rounds below a millisecond to 0, which means for ever.
            self._client.blpop([self._keys[8]], timeout=max(0.005, longest))
        except RedisError as error:
            raise self._failed(error) from error

    @property
    def _longest_answer(self) -> float:
        """Half the time after which this client gives up waiting for an answer."""
        limit = self._client.get_connection_kwargs().get("socket_timeout")
        return LONGEST_WAIT if limit is None else float(limit) / 2

    def delete(self, receipt: Receipt) -> bool:
        return bool(self._do("ack", *receipt) > 0)

    def release(self, receipt: Receipt, delay: float) -> bool:
        return bool(self._do("nack", *receipt, _ms(delay)) > 0)

    def prolong(self, receipt: Receipt, seconds: float) -> Extension:
        return self.prolong_many([(receipt, seconds)])[0]

    def prolong_many(self, asked: Sequence[tuple[Receipt, float]]) -> Sequence[Extension]:
        """Extend several leases in one call of the script."""
        wanted = [part for receipt, seconds in asked for part in (*receipt, _ms(seconds))]
        try:
            answers = self._do("extend", self._worker, *wanted)
        except MailboxError as error:
            return [Unknown(str(error))] * len(asked)
        return [_extension(answer) for answer in answers]

    def discard(self, receipt: Receipt, reason: str) -> bool:
        return bool(self._do("bury", *receipt, reason) > 0)

    def dead_letters(self, limit: int = 100) -> Sequence[DeadLetter]:
        try:
            entries: Any = self._client.xrange(self._keys[6], count=limit)
        except RedisError as error:
            raise self._failed(error) from error
        return [
            DeadLetter(
                _text(entry),
                fields[b"b"],
                fields[b"r"].decode(errors="replace"),
                int(fields[b"n"]),
                _time(entry.split(b"-")[0]),
            )
            for entry, fields in entries
        ]

    def requeue(self, ids: Iterable[str] | None = None) -> int:
        return self._letters("requeue", ids)

    def drop(self, ids: Iterable[str] | None = None) -> int:
        return self._letters("drop", ids)

    def _letters(self, operation: str, ids: Iterable[str] | None) -> int:
        if ids is None:
            return int(self._do(operation))
        known = [one for one in ids if ENTRY_ID.fullmatch(one)]
        return sum(int(self._do(operation, one)) for one in known)

    def peek(self, limit: int = 20) -> Sequence[StoredMessage]:
        return [
            StoredMessage(
                _text(name), STATES[kind], count, body, _time(sent) if sent else None, left / 1000
            )
            for name, body, count, kind, left, sent in self._do("peek", limit)
        ]

    def purge(self) -> int:
        return int(self._do("purge"))

    def stats(self) -> MailboxStats:
        waiting, in_flight, delayed, dead, acked, oldest = self._do("stats")
        waits = None if oldest < 0 else oldest / 1000
        return MailboxStats(waiting, in_flight, delayed, dead, acked, waits)

    def close(self) -> None:
        self._client.close()

    def _do(self, *arguments: Any) -> Any:
        try:
            try:
                self._make_group()
                return self._script(keys=self._keys, args=arguments)
            except ResponseError as error:
                if "NOGROUP" not in str(error):
                    raise
                self._grouped = False  # the server was emptied
                self._make_group()
                return self._script(keys=self._keys, args=arguments)
        except RedisError as error:
            raise self._failed(error) from error

    def _make_group(self) -> None:
        if self._grouped:
            return
        try:
            self._client.xgroup_create(self._keys[0], GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._grouped = True

    def _failed(self, error: RedisError) -> MailboxError:
        return MailboxError(f"mailbox {self._keys[0]}: {explained(error)}")


def _extension(answer: int) -> Extension:
    if answer == NOT_HELD:
        return Lost("delivered again, given back, or gone")
    return Granted(answer / 1000)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _text(value: bytes) -> str:
    return value.decode()


def _time(milliseconds: bytes) -> datetime:
    return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)
