"""Chaos: workers that are killed and stopped, connections that are cut, a server that restarts."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from trimtab_worker._errors import MailboxError
from trimtab_worker._urls import open_mailbox

WORKER = """
import os, sys, time
from trimtab_worker.testing._chaos import work
work(sys.argv[1], sys.argv[2], float(sys.argv[3]))
"""
Fault = Callable[[], object]
WORK = 0.08
"""Longest work on one message, in seconds: most faults meet a worker that holds one."""
_MORE = 50


@attrs.frozen
class ChaosReport:
    """What a chaos run saw.

    Args:
        sent: messages sent.
        worked: distinct messages that a worker finished and tried to acknowledge.
        done: of these, whose acknowledgement was seen to be accepted; a worker that is killed in
            between tells no one.
        acks: acknowledgements that were accepted.
        refused: acknowledgements that the engine refused.
        doubles: messages with more than one accepted acknowledgement.
        redelivered: deliveries beyond the first of a message.
        faults: how often each kind of fault was made.
        errors: calls to the engine that raised.
        stats: of the mailbox at the end.
        seconds: that it took.
    """

    sent: int
    worked: int
    done: int
    acks: int
    refused: int
    doubles: int
    redelivered: int
    faults: Mapping[str, int]
    errors: int
    stats: Any
    seconds: float

    @property
    def lost(self) -> int:
        """Messages that no worker finished, or that are still in the mailbox."""
        left = self.stats.waiting + self.stats.in_flight + self.stats.delayed
        return max(self.sent - self.worked, int(left))


def run_chaos(
    url: str,
    *,
    messages: int | None = None,
    workers: int = 3,
    lease: float = 1.0,
    faults: Mapping[str, Fault] | None = None,
    pause: tuple[float, float] = (0.15, 0.45),
    timeout: float | None = None,
    seed: int = 0,
) -> ChaosReport:
    """Let processes work through a mailbox while they and the server are disturbed.

    Args:
        url: of an empty mailbox that several processes can open.
        messages: how many are sent; the environment's ``TRIMTAB_CHAOS_MESSAGES``, else 200, where
            None. More are sent if they are done before each fault was made.
        workers: processes that work at a time; a killed one is replaced.
        lease: seconds of a lease; a stopped worker stays stopped for longer.
        faults: disturbances of the server, by name; each is made several times.
        pause: shortest and longest time between two faults, in seconds: longer than a worker
            takes to start.
        timeout: seconds after which the run ends, done or not; two per message where
            None.
        seed: of the random order of faults.
    """
    if messages is None:
        messages = int(os.environ.get("TRIMTAB_CHAOS_MESSAGES", "200"))
    limit = messages * 2.0 if timeout is None else timeout
    with tempfile.TemporaryDirectory() as folder:
        crew = _Crew(url, Path(folder), lease, pause, random.Random(seed))  # noqa: S311 - no secrets
        mailbox = open_mailbox(url)
        started = time.perf_counter()
        crew.send(mailbox, messages)
        try:
            made = crew.disturb(workers, mailbox, faults or {}, started + limit)
        finally:
            crew.end()
        seconds = time.perf_counter() - started
        report = _report(crew.journal(), crew.sent, made, _settled(mailbox), seconds)
        mailbox.close()
    return report


@attrs.define
class _Crew:
    """The workers of a run, and the journals that they write."""

    url: str
    folder: Path
    lease: float
    pause: tuple[float, float]
    random: random.Random
    running: dict[Path, subprocess.Popen[bytes]] = attrs.field(factory=dict)
    started: int = 0
    sent: int = 0

    def send(self, mailbox: Any, count: int) -> None:
        for number in range(self.sent, self.sent + count):
            mailbox.send(number)
        self.sent += count

    def hire(self, wanted: int) -> None:
        self.running = {path: one for path, one in self.running.items() if one.poll() is None}
        while len(self.running) < wanted:
            journal = self.folder / f"{self.started}.jsonl"
            command = [sys.executable, "-c", WORKER, self.url, str(journal), str(self.lease)]
            self.running[journal] = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            self.started += 1

    def disturb(
        self, wanted: int, mailbox: Any, faults: Mapping[str, Fault], until: float
    ) -> Counter[str]:
        made: Counter[str] = Counter()
        kinds: list[tuple[str, Fault]] = [
            ("kill", self.kill),
            ("stop", self.stop),
            *faults.items(),
        ]
        turn = 0
        while time.perf_counter() < until:
            self.hire(wanted)
            time.sleep(self.random.uniform(*self.pause))
            if _empty(mailbox):
                if len(made) == len(kinds):
                    break
                self.send(mailbox, _MORE)
            name, fault = kinds[turn % len(kinds)]
            if self.working():
                turn += 1
                fault()
                made[name] += 1
        return made

    def working(self) -> list[subprocess.Popen[bytes]]:
        """The workers that have begun: a fault that hits a start-up shows nothing."""
        return [one for path, one in self.running.items() if path.exists() and path.stat().st_size]

    def kill(self) -> None:
        self.random.choice(self.working()).send_signal(signal.SIGKILL)

    def stop(self) -> None:
        """Stop a worker for longer than its lease, then let it go on."""
        victim = self.random.choice(self.working())
        victim.send_signal(signal.SIGSTOP)
        time.sleep(self.lease * 1.5)
        victim.send_signal(signal.SIGCONT)

    def end(self) -> None:
        for one in self.running.values():
            one.kill()
            one.wait()

    def journal(self) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        for path in sorted(self.folder.glob("*.jsonl")):
            written = path.read_bytes().split(b"\n")
            lines += [json.loads(line) for line in written if line.endswith(b"}")]
        return lines


def work(url: str, journal: str, lease: float) -> None:
    """Receive, extend and acknowledge forever; write what happens to a journal."""
    out = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(**facts: Any) -> None:
        os.write(out, json.dumps(facts).encode() + b"\n")

    mailbox: Any = None
    while True:
        try:
            mailbox = mailbox or open_mailbox(url)
            for message in mailbox.receive(wait=1, visibility=lease):
                note(what="got", n=message.body, deliveries=message.deliveries)
                time.sleep(random.uniform(0, WORK))  # noqa: S311 - no secrets
                outcome = message.extend(lease)
                note(what=type(outcome).__name__, n=message.body)
                note(what="done", n=message.body)
                accepted = message.ack()
                note(what="ack" if accepted else "refused", n=message.body)
        except Exception as error:  # noqa: BLE001 - the server is being disturbed
            note(what="error", error=f"{type(error).__name__}: {error}"[:200])
            time.sleep(0.1)


def _settled(mailbox: Any) -> Any:
    """The counts, once the connection that was cut is made again."""
    for _ in range(10):
        try:
            return mailbox.stats()
        except MailboxError:
            time.sleep(0.2)
    return mailbox.stats()


def _empty(mailbox: Any) -> bool:
    try:
        stats = mailbox.stats()
    except MailboxError:
        return False
    return not (stats.waiting or stats.in_flight or stats.delayed)


def _report(
    journal: Sequence[Mapping[str, Any]],
    sent: int,
    faults: Counter[str],
    stats: Any,
    seconds: float,
) -> ChaosReport:
    by_kind = Counter(line["what"] for line in journal)
    acks: dict[int, int] = defaultdict(int)
    for line in journal:
        if line["what"] == "ack":
            acks[line["n"]] += 1
    return ChaosReport(
        sent=sent,
        worked=len({line["n"] for line in journal if line["what"] == "done"}),
        done=len(acks),
        acks=by_kind["ack"],
        refused=by_kind["refused"],
        doubles=sum(count > 1 for count in acks.values()),
        redelivered=sum(line["what"] == "got" and line["deliveries"] > 1 for line in journal),
        faults=faults,
        errors=by_kind["error"],
        stats=stats,
        seconds=seconds,
    )
