"""``trimtab worker``: run a loop until it is stopped, in one process or several."""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from trimtab.text import sanitize
from trimtab_worker import (
    LEASE_CLOCK,
    Health,
    LeaseEvent,
    Loop,
    LoopSummary,
    MailboxFailed,
    MessageAbandoned,
    MessageBuried,
    MessageDone,
    MessageFailed,
    MessageReceived,
    MessageReturned,
    Metrics,
    WorkerCrashed,
    WorkerError,
    WorkerStuck,
)
from trimtab_worker._health import HealthFile, HealthServer
from trimtab_worker._setup import make_loop
from trimtab_worker._supervisor import CRASHED, Supervisor, when_parent_ends

if TYPE_CHECKING:
    from typing import Self

LONGEST_LINE = 500
USUAL = ("received", "done", "failed", "buried", "abandoned")
"""Counts that are printed also where they are 0."""


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
        "--workers",
        type=_count,
        default=1,
        metavar="N",
        help="processes; one that ends by itself is replaced",
    )
    parser.add_argument("--max-messages", type=_count, metavar="N", help="stop after so many")
    parser.add_argument("--until-idle", action="store_true", help="stop when no message is ready")
    parser.add_argument(
        "--drain",
        type=_seconds,
        metavar="SECONDS",
        help="what a message in progress gets after SIGTERM before it is given back (default: as "
        "the loop is configured, 20)",
    )
    parser.add_argument("--tracebacks", action="store_true", help="of work that fails")
    parser.add_argument("--quiet", action="store_true", help="print problems and the summary only")
    parser.add_argument(
        "--log",
        choices=("text", "json"),
        default="text",
        help="json prints an object for each event, with its time",
    )
    _add_operations(parser)
    parser.set_defaults(run=run)


def _add_operations(parser: argparse.ArgumentParser) -> None:
    """Add what an operator looks at: probes and metrics."""
    parser.add_argument(
        "--health",
        type=_address,
        metavar="[HOST:]PORT",
        help="answer probes by HTTP: /live and /ready (host: 127.0.0.1)",
    )
    parser.add_argument(
        "--health-file",
        type=Path,
        metavar="FILE",
        help="keep a file there that is some seconds old at most while the worker lives",
    )
    parser.add_argument(
        "--metrics",
        action="store_true",
        help="record metrics with the global meter provider of OpenTelemetry",
    )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise argparse.ArgumentTypeError(f"{text} is no address: write PORT or HOST:PORT")
    return host or "127.0.0.1", int(port)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1")
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds from 0")
    return seconds


def run(options: argparse.Namespace) -> int:
    """Run one worker here, or several as processes; return the status that says what happened.

    0: nothing failed; 1: messages failed or were given up; 3: a worker ended by itself.
    """
    progress = Progress(quiet=options.quiet, as_json=options.log == "json")
    if options.workers > 1:
        return _run_several(options, progress)
    if not options.tracebacks:
        logging.getLogger("trimtab_worker").addHandler(logging.NullHandler())
    with _Signals(options.drain) as signals:
        when_parent_ends(signals.stop)
        loop = make_loop(options.factory, options.mailbox, progress)
        if options.metrics:
            loop.listen(Metrics(loop.requests))
        progress.started(loop)
        signals.pass_to(loop)
        with _probes(options, loop.health, progress):
            summary = loop.run(max_messages=options.max_messages, until_idle=options.until_idle)
    progress.stopped(summary, signals.received)
    status = 1 if summary.failed or summary.buried else 0
    status = CRASHED if summary.crashed else status
    if loop.working:
        # Work that was given back can't be ended, and must not keep the process from ending.
        logging.shutdown()
        os._exit(status)
    return status


def _run_several(options: argparse.Namespace, progress: Progress) -> int:
    finite = options.until_idle or options.max_messages is not None
    probed = options.health is not None or options.health_file is not None
    with tempfile.TemporaryDirectory(prefix="trimtab-worker-") as folder:
        supervisor = Supervisor(
            _command(options),
            options.workers,
            progress.say,
            finite=finite,
            health=Path(folder) if probed else None,
        )
        with _probes(options, supervisor.health, progress):
            return supervisor.run()


@contextmanager
def _probes(
    options: argparse.Namespace, check: Callable[[], Health], progress: Progress
) -> Iterator[None]:
    """Answer probes in the ways that were asked for.

    Raises:
        WorkerError: the address is taken, or the file can't be written.
    """
    with ExitStack() as stack:
        try:
            if options.health_file is not None:
                stack.enter_context(HealthFile(options.health_file, check))
            if options.health is not None:
                server = stack.enter_context(HealthServer(options.health, check))
                progress.say(f"probes are answered on port {server.port}: /live and /ready")
        except OSError as error:
            raise WorkerError(f"probes can't be answered: {error}") from error
        yield


class _Signals:
    """Lets SIGTERM and SIGINT stop a loop: first drain, then give back, then end the process."""

    WORDS = (
        "finishing the message in progress; once more gives it back",
        "giving the message back; once more ends at once",
    )

    def __init__(self, drain: float | None) -> None:
        self.received: str | None = None
        self._drain = drain
        self._count = 0
        self._loop: Loop | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def pass_to(self, loop: Loop) -> None:
        """Stop `loop` at a signal, also one that came before."""
        self._loop = loop
        if self.received:
            self.stop()

    def stop(self) -> None:
        """Stop the loop, as the first signal does."""
        self.received = self.received or "the end of its parent"
        if self._loop is not None:
            self._loop.stop(drain=self._drain if self._count < 2 else 0.0)

    def _handle(self, number: int, _: Any) -> None:
        self._count += 1
        self.received = signal.Signals(number).name
        if self._count > len(self.WORDS):
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            os._exit(128 + number)  # the first process of a container has no default action
        # Not through sys.stderr: the handler may interrupt a write to it, which can't be nested.
        text = f"worker: {self.received}: {self.WORDS[self._count - 1]}"
        os.write(2, f"{text}\n".encode())
        self.stop()


class Progress:
    """Prints what a loop does to standard error, a line for each message that ended."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self._quiet = quiet
        self._as_json = as_json

    def __call__(self, event: Any) -> None:
        if self._quiet and isinstance(event, MessageReceived | MessageDone):
            return
        if self._as_json:
            facts = attrs.asdict(event, filter=_is_known)
            self._log(type(event).__name__, **facts)
        elif text := describe(event):
            self._write(text)

    def started(self, loop: Loop) -> None:
        """Say that the loop begins."""
        engine = loop.requests.facts.engine
        if self._as_json:
            self._log("WorkerStarted", engine=engine, concurrency=loop.config.concurrency)
        elif not self._quiet:
            self._write(f"waiting for messages ({engine})")

    def stopped(self, summary: LoopSummary, by: str | None) -> None:
        """Say what the loop did, and what stopped it."""
        counts = attrs.asdict(summary)
        if self._as_json:
            self._log("WorkerStopped", by=by, **counts)
            return
        named = [f"{n} {name}" for name, n in counts.items() if n or name in USUAL]
        self._write(f"stopped{' by ' + by if by else ''}: {', '.join(named)}")

    def say(self, text: str) -> None:
        """Print a line that is about no event."""
        if self._as_json:
            self._log("Supervisor", text=text)
        else:
            self._write(text)

    def _log(self, name: str, **facts: Any) -> None:
        at = LEASE_CLOCK.now().isoformat(timespec="milliseconds")
        facts = {"at": at, "event": name, "pid": os.getpid(), **facts}
        line = json.dumps(facts, default=str, ensure_ascii=True)
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    @staticmethod
    def _write(text: str) -> None:
        """Write a line at once; several threads may."""
        sys.stderr.write(f"worker: {text}\n")
        sys.stderr.flush()


def _is_known(_: attrs.Attribute[Any], value: Any) -> bool:
    return value is not None and value != ""


LINES: dict[type[Any], Callable[[Any], str]] = {
    MessageDone: lambda event: f"message {event.message_id} done in {event.seconds:.1f} s",
    MessageFailed: lambda event: (
        f"message {event.message_id} failed (delivery {event.deliveries}), again in "
        f"{event.retry_in:.0f} s: {event.error}"
    ),
    MessageReturned: lambda event: f"message {event.message_id} given back unfinished",
    MessageAbandoned: lambda event: f"message {event.message_id} abandoned: {event.reason}",
    MessageBuried: lambda event: f"message {event.message_id} given up: {event.reason}",
    MailboxFailed: lambda event: (
        f"the mailbox failed, again in {event.retry_in:.0f} s: {event.error}"
    ),
    WorkerCrashed: lambda event: (
        f"{event.worker} failed, starts again in {event.retry_in:.0f} s: {event.error}"
    ),
    WorkerStuck: lambda event: (
        f"{event.worker} is stuck: "
        f"{'no beat' if event.message_id else 'no answer of the mailbox'} for "
        f"{event.silent_for:.0f} s"
    ),
}


def describe(event: Any) -> str | None:
    """Return a line about an event, None if it is not worth one."""
    if isinstance(event, LeaseEvent):
        facts = attrs.asdict(event, filter=_is_news)
        words = ", ".join(f"{name} {_rounded(value)}" for name, value in facts.items())
        return sanitize(f"message {event.message_id}: {type(event).__name__} ({words})")
    line = LINES.get(type(event))
    return None if line is None else sanitize(line(event), LONGEST_LINE)


def _rounded(value: Any) -> Any:
    return round(value, 1) if isinstance(value, float) else value


def _is_news(attribute: attrs.Attribute[Any], value: Any) -> bool:
    common = {field.name for field in attrs.fields(LeaseEvent)}
    return attribute.name not in common and value is not None


def _command(options: argparse.Namespace) -> list[str]:
    command = [sys.executable, "-m", "trimtab", "worker", options.factory]
    if options.mailbox:
        command += ["--mailbox", options.mailbox]
    if options.drain is not None:
        command += ["--drain", str(options.drain)]
    if options.log != "text":
        command += ["--log", options.log]
    if options.metrics:
        command.append("--metrics")
    if options.max_messages is not None:
        command += ["--max-messages", str(options.max_messages)]
    flags = ("until_idle", "quiet", "tracebacks")
    return command + [f"--{name.replace('_', '-')}" for name in flags if getattr(options, name)]
