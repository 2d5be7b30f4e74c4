"""A rolling restart: each worker is told to end, and killed when its time is over."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from trimtab_worker._clock import LEASE_CLOCK
from trimtab_worker._setup import open_mailbox
from trimtab_worker.testing._chaos import Crew, is_empty, settled
from trimtab_worker.testing._chaos_agent import Settings

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
    end. Work on a message takes up to twice `drain`.

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
        crew.send(mailbox, 3 * replicas)
        started = time.perf_counter()
        try:
            ended = _replace(crew, replicas, grace)
            _wait(lambda: is_empty(mailbox), crew.sent * (2 * drain + lease))
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


def _replace(crew: Crew, replicas: int, grace: float) -> Mapping[int, datetime]:
    """Replace each worker; return when those that had to be killed ended their work."""
    old = [crew.start() for _ in range(replicas)]
    _wait(lambda: _busy(crew) >= {one.pid for one in old}, 60)
    os.kill(old[0].pid, signal.SIGSTOP)
    ended = {old[0].pid: LEASE_CLOCK.now()}
    for one in old:
        new = crew.start()
        _wait(lambda new=new: new.pid in crew.working(), 60)
        one.terminate()
        with suppress(subprocess.TimeoutExpired):
            one.wait(grace)
            continue
        one.kill()
        one.wait()
        ended.setdefault(one.pid, LEASE_CLOCK.now())
    return ended


def _busy(crew: Crew) -> set[int]:
    crew.read()
    return {event["pid"] for event in crew.named("MessageReceived")}


def _waits(crew: Crew, killed: Mapping[int, datetime]) -> Iterator[float]:
    """Seconds between an attempt and the next one at the same message."""
    received = {_attempt(event): event for event in crew.named("MessageReceived")}
    returned = {_attempt(event): _at(event) for event in crew.named("MessageReturned")}
    for (message, number), event in received.items():
        later = received.get((message, number + 1))
        ended = returned.get((message, number)) or killed.get(event["pid"])
        if later is not None and ended is not None:
            yield (_at(later) - ended).total_seconds()


def _attempt(event: Mapping[str, Any]) -> tuple[str, int]:
    return event["message_id"], event["deliveries"]


def _at(event: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(event["at"])


def _wait(condition: Any, seconds: float) -> None:
    until = time.perf_counter() + seconds
    while not condition() and time.perf_counter() < until:
        time.sleep(STEP)
