"""What a mailbox on a server must do besides, and a rolling restart of its workers."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import attrs
import pytest

from trimtab_worker import LEASE_CLOCK, open_mailbox
from trimtab_worker.testing._chaos import Crew, is_empty, network_faults, run_chaos, settled
from trimtab_worker.testing._chaos_agent import Proxy, Settings, least_work

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


EXTENDED = 16.0
"""Seconds of a lease from which on it is extended: calls of all engines fit into it twice."""
STEP = 0.05


@attrs.frozen(kw_only=True)
class RolloutReport:
    """What a rolling restart did to messages.

    Args:
        sent: messages sent.
        lost: messages that are still in the mailbox.
        given_back: messages that a worker gave back when it was told to end.
        killed: workers that had not ended in time.
        longest_wait: seconds that a message waited for its next worker, from the moment at which
            it was given back, or its worker was stopped or killed.
        seconds: that it took.
    """

    sent: int
    lost: int
    given_back: int
    killed: int
    longest_wait: float
    seconds: float


def run_rollout(
    url: str,
    *,
    replicas: int = 3,
    grace: float = 30.0,
    drain: float = 20.0,
    lease: float = 60.0,
) -> RolloutReport:
    """Replace workers one by one as an orchestrator does, while they work.

    The first one is stopped before, as on a machine that hangs: it does not hear that it has to
    end. Work on a message takes up to twice `drain`, and at least a fifth of it.

    Args:
        url: of an empty mailbox that several processes can open.
        replicas: workers that run at a time.
        grace: seconds between SIGTERM and SIGKILL.
        drain: seconds that a worker gives its message.
        lease: seconds of a lease; from 16 on, leases are extended.
    """
    with tempfile.TemporaryDirectory(prefix="trimtab-rollout-") as name:
        settings = Settings(
            effects=f"{name}/effects.db",
            answers=f"sqlite:///{name}/answers.db",
            work=2 * drain,
            lease=lease,
            extend=lease >= EXTENDED,
        )
        crew = Crew(url, Path(name), settings, random.Random(0), drain=drain)  # noqa: S311
        mailbox = open_mailbox(url)
        started = time.perf_counter()
        try:
            ended = _replace(crew, mailbox, replicas, grace)
            with suppress(TimeoutError):  # what is left then is reported as lost
                _wait(lambda: is_empty(mailbox), crew.sent * (2 * drain + lease), "all messages")
        finally:
            crew.end()
        crew.read()
        stats = settled(mailbox)
        mailbox.close()
        return RolloutReport(
            sent=crew.sent,
            lost=stats.waiting + stats.in_flight + stats.delayed,
            given_back=len(crew.named("MessageReturned")),
            killed=len(ended),
            longest_wait=round(max(_waits(crew, ended), default=0.0), 1),
            seconds=round(time.perf_counter() - started, 1),
        )


def _replace(crew: Crew, mailbox: Any, replicas: int, grace: float) -> Mapping[int, datetime]:
    """Replace each worker; return when those that had to be killed ended their work."""
    old = [crew.start() for _ in range(replicas)]
    _wait(lambda: set(crew.working()) >= {one.pid for one in old}, 60, "the workers to start")
    crew.send(mailbox, 3 * replicas)
    _wait(lambda: _stopped_at_work(crew, old[0].pid), 60, "the first worker to work")
    ended = {old[0].pid: LEASE_CLOCK.now()}
    for one in old:
        new = crew.start()
        _wait(lambda new=new: new.pid in crew.working(), 60, "another worker to start")
        one.terminate()
        with suppress(subprocess.TimeoutExpired):
            one.wait(grace)
            continue
        one.kill()
        one.wait()
        ended.setdefault(one.pid, LEASE_CLOCK.now())
    return ended


def _stopped_at_work(crew: Crew, pid: int) -> bool:
    """Stop a worker if it surely works on a message, and is in no call of a mailbox.

    With the lock of an SQLite file, it would stop all other workers until it is killed.
    """
    crew.read()
    own = [event for event in crew.events if event["pid"] == pid]
    if own[-1]["event"] != "MessageReceived":
        return False
    os.kill(pid, signal.SIGSTOP)
    at_work = (LEASE_CLOCK.now() - _at(own[-1])).total_seconds() < least_work(crew.settings)
    if not at_work:
        os.kill(pid, signal.SIGCONT)
    return at_work


def _waits(crew: Crew, killed: Mapping[int, datetime]) -> Iterator[float]:
    """Seconds between an attempt and the next one at the same message.

    Not each delivery has an event: a worker that is told to end gives back what just came.
    """
    received = sorted(crew.named("MessageReceived"), key=_attempt)
    returned = {_attempt(event): _at(event) for event in crew.named("MessageReturned")}
    for event, later in pairwise(received):
        ended = returned.get(_attempt(event)) or killed.get(event["pid"])
        if event["message_id"] == later["message_id"] and ended is not None:
            yield (_at(later) - ended).total_seconds()


def _attempt(event: Mapping[str, Any]) -> tuple[str, int]:
    return event["message_id"], event["deliveries"]


def _at(event: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(event["at"])


def _wait(condition: Any, seconds: float, what: str) -> None:
    until = time.perf_counter() + seconds
    while not condition():
        if time.perf_counter() > until:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        time.sleep(STEP)
