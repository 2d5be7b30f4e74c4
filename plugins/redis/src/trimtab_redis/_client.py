"""Clients for a URL: one server, the server that Sentinels name, or a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.connection import SSLConnection, parse_url
from redis.exceptions import RedisClusterException, RedisError
from redis.retry import Retry
from redis.sentinel import Sentinel

from trimtab_worker import MailboxError

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
