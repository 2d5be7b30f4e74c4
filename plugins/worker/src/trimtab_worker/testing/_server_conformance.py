"""What a mailbox on a server must do besides, as a class of tests to subclass."""

from __future__ import annotations

import sys
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import pytest

from trimtab_worker import open_mailbox
from trimtab_worker.testing._chaos import network_faults, run_chaos
from trimtab_worker.testing._proxy import Proxy

HELD = 6.0
"""Seconds without a byte: longer than any client waits for an answer."""


class Server(Protocol):
    """A server that the tests have started, on a port of loopback."""

    port: int

    def url(self, queue: str) -> str:
        """Return the URL of a mailbox on it."""
        ...

    def restart(self) -> object:
        """Stop it and start it again, with what it holds."""
        ...


class ServerConformance:
    """Tests with the fixtures `server`, `url` (of its queue ``tests``, empty) and `mailbox`."""

    def test_two_queues_of_one_server_are_apart(self, mailbox: Any, server: Server) -> None:
        """A message of one queue is not received from another."""
        mailbox.send("x")
        with open_mailbox(server.url("other")) as other:
            assert list(other.receive()) == []
            assert other.stats().waiting == 0

    def test_chaos_of_workers_network_and_server(
        self, url: str, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """No message is lost or acknowledged twice, no effect is made twice, no worker is left."""
        proxy = Proxy(server.port)
        faults = {**network_faults(proxy, HELD), "restart": server.restart}
        report = run_chaos(through(url, proxy), direct=url, faults=faults)
        proxy.close()
        with capsys.disabled():
            sys.stdout.write(f"\n{url.partition(':')[0]}: {report}\n")

        assert report.broken == {}
        assert report.redelivered > 0
        assert report.stats.acked == report.sent
        assert set(report.faults) == {"kill", "stop", "end", "orphan", *faults}


def through(url: str, proxy: Proxy) -> str:
    """Return the URL of a server as seen through a proxy on loopback.

    Args:
        url: with the host and the port of the server.
        proxy: in front of it.
    """
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{proxy.port}"))
