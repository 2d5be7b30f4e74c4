"""Chaos: `trimtab worker` on a mailbox, while workers, connections and the server are disturbed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from trimtab_worker import Reply
from trimtab_worker._records import MailboxError
from trimtab_worker._setup import open_mailbox
from trimtab_worker.testing._chaos_agent import TARGET, Effects, Proxy, Settings

Fault = Callable[[], object]
SUPERVISED = 2
"""Workers of the one command that has several; each other command has one."""
LONG = 1000
"""Messages from which on a run has leases that are extended, and faults to its end."""
ENOUGH = 2
"""How often a shorter run makes each fault."""
GRACE = 30.0
_MORE = 50


@attrs.frozen(kw_only=True)
class ChaosReport:
    """What a chaos run saw.

    Args:
        sent: messages sent.
        answered: messages with an answer.
        done: messages that a worker reported as done; one that is killed tells no one.
        doubles: messages that were reported as done more than once.
        answered_twice: messages with more than one answer.
        effects_asked_twice: messages for which more than one attempt came to its effect.
        effects_doubled: messages with more than one effect in a store that knows attempts.
        redelivered: deliveries beyond the first of a message.
        abandoned: results that were dropped since the message was another worker's.
        failed: deliveries that failed, such as those whose answer could not be sent.
        errors: times that a worker could not reach the mailbox.
        faults: how often each kind of fault was made.
        workers_left: worker processes that lived after all were told to end.
        stats: of the mailbox at the end.
        seconds: that it took.
    """

    sent: int
    answered: int
    done: int
    doubles: int
    answered_twice: int
    effects_asked_twice: int
    effects_doubled: int
    redelivered: int
    abandoned: int
    failed: int
    errors: int
    faults: Mapping[str, int]
    workers_left: int
    stats: Any
    seconds: float

    @property
    def lost(self) -> int:
        """Messages without an answer, or that are still in the mailbox."""
        left = self.stats.waiting + self.stats.in_flight + self.stats.delayed
        return max(self.sent - self.answered, int(left))

    @property
    def broken(self) -> Mapping[str, int]:
        """The promises that did not hold, by name, with how often; empty where all did."""
        names = ("lost", "doubles", "answered_twice", "effects_doubled", "workers_left")
        return {name: getattr(self, name) for name in names if getattr(self, name)}


def network_faults(proxy: Proxy, seconds: float) -> Mapping[str, Fault]:
    """Return the faults of a network, for `run_chaos`.

    Args:
        proxy: between the workers and their server.
        seconds: that a network which holds all bytes or delays them stays so.
    """

    def hold() -> None:
        proxy.hold()
        time.sleep(seconds)
        proxy.release()

    def delay() -> None:
        proxy.delay = 0.2
        time.sleep(seconds)
        proxy.delay = 0.0

    return {"cut": proxy.cut, "half_close": proxy.half_close, "hold": hold, "delay": delay}


def run_chaos(
    url: str,
    *,
    direct: str | None = None,
    messages: int | None = None,
    workers: int = 5,
    backlog: int | None = None,
    faults: Mapping[str, Fault] | None = None,
    timeout: float | None = None,
    seed: int = 0,
) -> ChaosReport:
    """Let `trimtab worker` work through a mailbox while processes and server are disturbed.

    Workers are killed, stopped for longer than their lease, told to end, and lose their parent.
    From 1,000 messages on, leases are extended as in production, and faults go on to the end;
    before, each is made twice.

    Args:
        url: of an empty mailbox that several processes can open, for the workers.
        direct: URL of the same mailbox past the network that is disturbed; None: `url`.
        messages: how many are sent; the environment's ``TRIMTAB_CHAOS_MESSAGES``, else 60, where
            None. More are sent if they are done before each fault was made and one came again.
        workers: processes that work at a time, 3 or more; whatever ends is replaced.
        backlog: how many are sent ahead of the workers, where the engine gets slow with many;
            None: all.
        faults: disturbances of the server and the network, by name.
        timeout: seconds after which the run ends, done or not; 60 and two per message where None.
        seed: of the random order of faults.
    """
    if messages is None:
        messages = int(os.environ.get("TRIMTAB_CHAOS_MESSAGES", "60"))
    limit = 60 + messages * 2.0 if timeout is None else timeout
    with tempfile.TemporaryDirectory(prefix="trimtab-chaos-") as name:
        folder = Path(name)
        settings = Settings(
            effects=str(folder / "effects.db"),
            answers=f"sqlite:///{folder}/answers.db",
            work=0.03 if messages >= LONG else 0.3,
            lease=16.0 if messages >= LONG else 1.5,
            extend=messages >= LONG,
        )
        crew = Crew(url, folder, settings, random.Random(seed))  # noqa: S311 - no secrets
        mailbox = open_mailbox(direct or url)
        started = time.perf_counter()
        crew.planned, crew.backlog = messages, backlog or messages
        crew.send(mailbox, min(messages, crew.backlog))
        try:
            made = crew.disturb(workers, mailbox, faults or {}, started + limit)
        finally:
            left = crew.end()
        seconds = time.perf_counter() - started
        stats = settled(mailbox)
        mailbox.close()
        return _report(crew, made, left, stats, seconds)


def _report(
    crew: Crew, made: Mapping[str, int], left: int, stats: Any, seconds: float
) -> ChaosReport:
    """Return what a run did to its messages, from its answers, effects and the log of workers."""
    replies, effects = _answers(crew.settings.answers), Effects(crew.settings.effects)
    seen = Counter(event["event"] for event in crew.events)
    done = Counter(event["message_id"] for event in crew.named("MessageDone"))
    return ChaosReport(
        sent=crew.sent,
        answered=len(replies),
        done=len(done),
        doubles=sum(count > 1 for count in done.values()),
        answered_twice=sum(len(attempts) > 1 for attempts in replies.values()),
        effects_asked_twice=effects.doubled("asked"),
        effects_doubled=effects.doubled("made"),
        redelivered=crew.redelivered(),
        abandoned=seen["MessageAbandoned"],
        failed=seen["MessageFailed"],
        errors=seen["MailboxFailed"],
        faults=dict(made),
        workers_left=left,
        stats=stats,
        seconds=round(seconds, 1),
    )


@attrs.define
class Crew:
    """The commands of a run, and what their workers have logged.

    Args:
        url: of the mailbox.
        folder: where logs go.
        settings: of the workers.
        random: chooses victims.
        planned: messages that are sent in all, unless faults come too late for them.
        backlog: how many are sent ahead of the workers.
        drain: seconds that a worker gets for its message after it was told to end.
    """

    url: str
    folder: Path
    settings: Settings
    random: random.Random
    commands: list[subprocess.Popen[bytes]] = attrs.field(factory=list)
    parent: subprocess.Popen[bytes] | None = None
    stopped: threading.Timer | None = None
    events: list[Mapping[str, Any]] = attrs.field(factory=list)
    sent: int = 0
    planned: int = 0
    backlog: int = 0
    drain: float = 5.0
    _read: dict[Path, int] = attrs.field(factory=dict)
    _started: int = 0

    def __attrs_post_init__(self) -> None:
        """Make the tables of effects, before workers meet there: two that make them may fail."""
        Effects(self.settings.effects)

    def send(self, mailbox: Any, count: int) -> None:
        """Send so many messages more."""
        for number in range(self.sent, self.sent + count):
            mailbox.send(number)
        self.sent += count

    def hire(self, wanted: int) -> None:
        """Start what has ended: one command with several workers, and others with one."""
        self.commands = [one for one in self.commands if one.poll() is None]
        if self.parent not in self.commands:
            self.parent = self.start("--workers", str(SUPERVISED))
        while len(self.commands) < wanted - SUPERVISED + 1:
            self.start()

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """Start one command."""
        command = [sys.executable, "-m", "trimtab", "worker", TARGET]
        command += ["--mailbox", self.url, "--log", "json", "--drain", str(self.drain), *options]
        with (self.folder / f"{self._started}.log").open("ab") as log:
            # In the folder of the caller, where a URL that is relative means what it means there.
            one = subprocess.Popen(command, stdout=log, stderr=log, env=self.settings.environment())
        self._started += 1
        self.commands.append(one)
        return one

    def disturb(
        self,
        wanted: int,
        mailbox: Any,
        faults: Mapping[str, Fault],
        until: float,
    ) -> Counter[str]:
        """Make one fault after another until all is done; return how often each was made."""
        made: Counter[str] = Counter()
        is_long = self.settings.extend
        pause, enough = ((2.0, 4.0), sys.maxsize) if is_long else ((0.7, 1.5), ENOUGH)
        own = [("kill", self.kill), ("stop", self.stop), ("end", self.end_one)]
        kinds: list[tuple[str, Fault]] = [*own, ("orphan", self.orphan), *faults.items()]
        turn = 0
        while time.perf_counter() < until:
            self.hire(wanted)
            time.sleep(self.random.uniform(*pause))
            if self.sent < self.planned:
                done = len(self.named("MessageDone"))
                more = min(self.planned, done + self.backlog) - self.sent
                self.send(mailbox, max(0, more))
            elif is_empty(mailbox):
                if len(made) == len(kinds) and self.redelivered():
                    break
                self.send(mailbox, _MORE)
            again = enough if self.redelivered() else enough + 1
            due = [kind for kind in kinds if made[kind[0]] < again]
            if due and self.working():
                name, fault = due[turn % len(due)]
                turn += 1
                if fault() is not False:
                    made[name] += 1
        return made

    def read(self) -> None:
        """Take in what was logged since the last time; a line that is cut waits for its end."""
        for path in self.folder.glob("*.log"):
            with path.open("rb") as log:
                log.seek(self._read.get(path, 0))
                lines, _, rest = log.read().rpartition(b"\n")
                self._read[path] = log.tell() - len(rest)
            self.events += _parsed(lines.split(b"\n"))

    def named(self, name: str) -> list[Mapping[str, Any]]:
        """Return what was logged under a name, as far as it was read."""
        return [event for event in self.events if event["event"] == name]

    def redelivered(self) -> int:
        """Count the deliveries after the first of a message."""
        self.read()
        return sum(event["deliveries"] > 1 for event in self.named("MessageReceived"))

    def pids(self) -> set[int]:
        """The workers that have begun: a fault that hits a start-up shows nothing."""
        self.read()
        return {event["pid"] for event in self.named("WorkerStarted")}

    def working(self) -> list[int]:
        """Return the workers that have begun and live."""
        return sorted(pid for pid in self.pids() if lives(pid))

    def kill(self) -> None:
        """Kill a worker."""
        os.kill(self.random.choice(self.working()), signal.SIGKILL)

    def stop(self) -> bool:
        """Stop a worker for longer than its lease, then let it go on; one at a time."""
        if self.stopped is not None and self.stopped.is_alive():
            return False
        victim = self.random.choice(self.working())
        os.kill(victim, signal.SIGSTOP)

        def go_on() -> None:
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGCONT)

        self.stopped = threading.Timer(self.settings.lease * 1.5, go_on)
        self.stopped.start()
        return True

    def end_one(self) -> None:
        """Tell a worker to end, as a deployment does."""
        os.kill(self.random.choice(self.working()), signal.SIGTERM)

    def orphan(self) -> None:
        """Kill the parent of several workers, which end when they notice."""
        if self.parent is not None:
            self.parent.kill()

    def end(self) -> int:
        """Tell all to end; return how many workers live afterwards, and kill them."""
        if self.stopped is not None:
            self.stopped.join()
        for one in self.commands:
            one.terminate()
        until = time.perf_counter() + GRACE
        for one in self.commands:
            with suppress(subprocess.TimeoutExpired):
                one.wait(max(0.1, until - time.perf_counter()))
        while (left := self.working()) and time.perf_counter() < until:
            time.sleep(0.1)
        for pid in (*left, *(one.pid for one in self.commands if one.poll() is None)):
            os.kill(pid, signal.SIGKILL)
        for one in self.commands:
            one.wait()
        return len(left)


def _parsed(lines: Sequence[bytes]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        with suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict) and "event" in found:
                yield found


def lives(pid: int) -> bool:
    """Return whether a process lives; one that ended and that nobody asked for does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()


def _answers(url: str) -> Mapping[str, list[int]]:
    """The attempts that answered each message, in order; answers are taken out."""
    found: dict[str, list[int]] = defaultdict(list)
    with open_mailbox(url, Reply) as mailbox:
        while messages := mailbox.receive(10, visibility=600, wait=0.0):
            for message in messages:
                found[message.body.message_id].append(message.body.deliveries)
                message.ack()
    return found


def settled(mailbox: Any) -> Any:
    """The counts, once the connection that was cut is made again."""
    for _ in range(10):
        try:
            return mailbox.stats()
        except MailboxError:
            time.sleep(0.2)
    return mailbox.stats()


def is_empty(mailbox: Any) -> bool:
    """Return whether no message is left."""
    try:
        stats = mailbox.stats()
    except MailboxError:
        return False
    return not (stats.waiting or stats.in_flight or stats.delayed)
