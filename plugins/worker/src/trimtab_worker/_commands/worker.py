"""``trimtab worker``: run a loop until it is stopped, in one process or several."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import plural, sanitize
from trimtab_worker import (
    LEASE_CLOCK,
    LeaseEvent,
    Loop,
    LoopSummary,
    MailboxFailed,
    MessageAbandoned,
    MessageBuried,
    MessageDone,
    MessageFailed,
    MessageReceived,
    WorkerStuck,
)
from trimtab_worker._setup import make_loop

if TYPE_CHECKING:
    from typing import Self

SHORTEST_LIFE = 5.0
LONGEST_LINE = 500
RESTART = (1.0, 30.0)
"""Shortest and longest pause before a process that died is started again."""


def register(parser: argparse.ArgumentParser) -> None:
    """Run agents from a mailbox until stopped."""
    parser.description = "Work on the messages of a mailbox until SIGTERM or Ctrl-C."
    parser.add_argument(
        "factory",
        metavar="MODULE:FACTORY",
        help="a function that returns a MainLoop, an EvalLoop or a WorkerSetup",
    )
    parser.add_argument("--mailbox", metavar="URL", help="e.g. sqlite:///queue.db")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes; one that dies is replaced"
    )
    parser.add_argument("--max-messages", type=int, metavar="N", help="stop after so many")
    parser.add_argument("--until-idle", action="store_true", help="stop when no message is ready")
    parser.add_argument("--tracebacks", action="store_true", help="of work that fails")
    parser.add_argument("--quiet", action="store_true", help="print the summary only")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run one worker here, or several as processes; 1 where messages failed or a process died."""
    if options.workers > 1:
        return Supervisor(_command(options), options.workers).run()
    if not options.tracebacks:
        logging.getLogger("trimtab_worker").addHandler(logging.NullHandler())
    with _Signals() as signals:
        loop = make_loop(options.factory, options.mailbox, Progress(quiet=options.quiet))
        _say(f"waiting for messages ({loop.requests.facts.engine})")
        signals.pass_to(loop)
        summary = loop.run(max_messages=options.max_messages, until_idle=options.until_idle)
    _say(_ending(summary, signals.received))
    return 1 if summary.failed or summary.buried else 0


class _Signals:
    """Lets SIGTERM and SIGINT stop a loop; the second of them ends the process."""

    def __init__(self) -> None:
        self.received: str | None = None
        self._loop: Loop | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def pass_to(self, loop: Loop) -> None:
        """Stop `loop` at a signal, also one that came before."""
        self._loop = loop
        if self.received:
            loop.stop()

    def _stop(self, number: int, _: Any) -> None:
        if self.received:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.received = signal.Signals(number).name
        text = f"worker: {self.received}: finishing the message in progress; once more ends at once"
        # Not through sys.stderr: the handler may interrupt a write to it, which can't be nested.
        os.write(2, f"{text}\n".encode())
        if self._loop is not None:
            self._loop.stop()


class Progress:
    """Prints what a loop does, a line for each message that ended.

    Args:
        quiet: print problems only.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def __call__(self, event: Any) -> None:
        text = describe(event)
        if text and not (self._quiet and isinstance(event, MessageReceived | MessageDone)):
            _say(text)


LINES: dict[type[Any], Callable[[Any], str]] = {
    MessageDone: lambda event: f"message {event.message_id} done in {event.seconds:.1f} s",
    MessageFailed: lambda event: (
        f"message {event.message_id} failed, again in {event.retry_in:.0f} s: {event.error}"
    ),
    MessageAbandoned: lambda event: f"message {event.message_id} abandoned: {event.reason}",
    MessageBuried: lambda event: f"message {event.message_id} given up: {event.reason}",
    MailboxFailed: lambda event: (
        f"the mailbox failed, again in {event.retry_in:.0f} s: {event.error}"
    ),
    WorkerStuck: lambda event: f"{event.worker} is stuck: no beat for {event.silent_for:.0f} s",
}


def describe(event: Any) -> str | None:
    """Return a line about an event, None if it is not worth one."""
    if isinstance(event, LeaseEvent):
        facts = attrs.asdict(event, filter=_is_news)
        words = ", ".join(f"{name} {value}" for name, value in facts.items())
        return sanitize(f"message {event.message_id}: {type(event).__name__} ({words})")
    line = LINES.get(type(event))
    return None if line is None else sanitize(line(event), LONGEST_LINE)


def _is_news(attribute: attrs.Attribute[Any], value: Any) -> bool:
    common = {field.name for field in attrs.fields(LeaseEvent)}
    return attribute.name not in common and value is not None


def _ending(summary: LoopSummary, stopped_by: str | None) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in attrs.asdict(summary).items())
    return f"stopped{' by ' + stopped_by if stopped_by else ''}: {counts}"


def _say(text: str) -> None:
    """Write a line to standard error at once; several threads may."""
    sys.stderr.write(f"worker: {text}\n")
    sys.stderr.flush()


def _command(options: argparse.Namespace) -> list[str]:
    command = [sys.executable, "-m", "trimtab", "worker", options.factory]
    if options.mailbox:
        command += ["--mailbox", options.mailbox]
    if options.max_messages is not None:
        command += ["--max-messages", str(options.max_messages)]
    flags = ("until_idle", "quiet", "tracebacks")
    return command + [f"--{name.replace('_', '-')}" for name in flags if getattr(options, name)]


class Supervisor:
    """Runs worker processes, and starts one again that died.

    Args:
        command: of one worker.
        wanted: how many run at a time.
    """

    def __init__(self, command: list[str], wanted: int) -> None:
        self._command = command
        self._wanted = wanted
        self._stop = threading.Event()
        self._failed = False

    def run(self) -> int:
        """Run until SIGTERM or SIGINT, or until every worker has ended by itself."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        threads = [threading.Thread(target=self._keep) for _ in range(self._wanted)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
        _say(f"{plural(self._wanted, 'worker')} ended")
        return 1 if self._failed else 0

    def _keep(self) -> None:
        """Keep one worker running."""
        pause, longest = RESTART
        while not self._stop.is_set():
            started = LEASE_CLOCK.monotonic()
            status = self._attend()
            if self._stop.is_set():
                return
            if status in (0, 1, 2):
                # It ended by itself: done, or its input is wrong.
                self._failed |= status != 0
                return
            self._failed = True
            if LEASE_CLOCK.monotonic() - started > SHORTEST_LIFE:
                pause = RESTART[0]
            _say(f"a worker ended with status {status}; another starts in {pause:.0f} s")
            self._stop.wait(pause)
            pause = min(longest, pause * 2)

    def _attend(self) -> int:
        with subprocess.Popen(self._command, start_new_session=True) as worker:
            while worker.poll() is None:
                if self._stop.wait(0.1):
                    worker.terminate()
                    return worker.wait()
            return worker.returncode
