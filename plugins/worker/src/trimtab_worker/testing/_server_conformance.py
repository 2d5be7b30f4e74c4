"""What a mailbox on a server must do besides, as a class of tests to subclass."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import pytest

from trimtab_worker import open_mailbox
from trimtab_worker.testing._chaos import run_chaos


class Server(Protocol):
    """A server that the tests have started."""

    def url(self, queue: str) -> str:
        """Return the URL of a mailbox on it."""
        ...

    def cut(self) -> object:
        """Close the connections of its clients."""
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

    def test_chaos_workers_die_connections_break_and_the_server_restarts(
        self, url: str, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """No message is lost, and none is acknowledged twice."""
        report = run_chaos(url, faults={"cut": server.cut, "restart": server.restart})
        with capsys.disabled():
            sys.stdout.write(f"\n{url.partition(':')[0]}: {report}\n")

        assert report.lost == 0
        assert report.redelivered > 0
        assert report.stats.acked == report.sent
        assert report.doubles == 0
        assert set(report.faults) == {"kill", "stop", "cut", "restart"}
