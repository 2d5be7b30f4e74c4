"""Signs of life: what probes ask of a worker, and the watchdog that ends a stuck one."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from trimtab_worker._events import WorkerStuck
from trimtab_worker._records import LEASE_CLOCK

if TYPE_CHECKING:
    from typing import Self

    from trimtab import Clock, Heartbeat

INTERVAL = 1.0
"""Seconds between two looks at a loop."""
STALE = 10.0
"""Seconds after which a file that nobody writes means a process that does not run."""


@attrs.frozen(kw_only=True)
class Health:
    """How a loop, or all loops of several processes, fare.

    Args:
        running: its threads run.
        stopping: it takes no more messages.
        stuck: names of workers without a beat for too long.
        mailbox_error: why the mailbox could not be reached the last time; None if it answered.
        working: how many messages are worked on.
    """

    running: bool = False
    stopping: bool = False
    stuck: tuple[str, ...] = ()
    mailbox_error: str | None = None
    working: int = 0

    @property
    def live(self) -> bool:
        """Whether the loop runs and no worker is stuck; else a restart helps."""
        return self.running and not self.stuck

    @property
    def ready(self) -> bool:
        """Whether messages are taken now."""
        return self.live and not self.stopping and self.mailbox_error is None

    @classmethod
    def of_all(cls, found: Iterable[Health]) -> Health:
        """Return the health of several: as good as the worst of them.

        Args:
            found: of each.
        """
        every = list(found)
        return cls(
            running=bool(every) and all(one.running for one in every),
            stopping=any(one.stopping for one in every),
            stuck=tuple(name for one in every for name in one.stuck),
            mailbox_error=next((one.mailbox_error for one in every if one.mailbox_error), None),
            working=sum(one.working for one in every),
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values, with `live` and `ready`."""
        return {"live": self.live, "ready": self.ready, **attrs.asdict(self)}


class HealthFile:
    """Writes the health of a loop into a file each second, and removes it where it is not live.

    A probe that runs a command looks at the file's age: it is at most some seconds old while the
    worker lives.
    """

    def __init__(self, path: Path, check: Callable[[], Health]) -> None:
        self._path = path
        self._check = check
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="trimtab-health", daemon=True)

    def __enter__(self) -> Self:
        self._write()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(INTERVAL)
        self._path.unlink(missing_ok=True)

    def _run(self) -> None:
        while not self._ended.wait(INTERVAL):
            with suppress(OSError):  # the file grows old, which says the same
                self._write()

    def _write(self) -> None:
        health = self._check()
        if health.running and not health.live:
            self._path.unlink(missing_ok=True)
            return
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        part.write_text(json.dumps(health.as_json()), encoding="utf-8")
        part.replace(self._path)


def read_health(path: Path) -> Health:
    """Return the health that a process has written lately; not running where there is none."""
    try:
        age = LEASE_CLOCK.now().timestamp() - path.stat().st_mtime
        found = json.loads(path.read_text(encoding="utf-8"))
        known = {field.name: found[field.name] for field in attrs.fields(Health)}
    except (OSError, ValueError, KeyError):
        return Health()
    return Health(**{**known, "stuck": tuple(known["stuck"])}) if age < STALE else Health()


class HealthServer:
    """Answers probes by HTTP: ``/live`` and ``/ready`` with 200 or 503, and JSON about why.

    Raises:
        OSError: the address can't be used.
    """

    def __init__(self, address: tuple[str, int], check: Callable[[], Health]) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = 5.0

            def do_GET(self) -> None:
                health = check()
                known = {"/live": health.live, "/ready": health.ready}
                status = 404 if self.path not in known else 200 if known[self.path] else 503
                body = json.dumps(health.as_json()).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base has it
                """Log nothing."""

        self._server = ThreadingHTTPServer(address, Handler)
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(0.1,), name="trimtab-probes", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


LOG = logging.getLogger("trimtab_worker")


KILLED = 128 + 9


def end_process() -> None:
    """End this process at once, as nothing else ends a stuck thread; its leases expire."""
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    # The first process of a container is not killed by its own signals.
    os._exit(KILLED)


@attrs.define(eq=False)
class Watched:
    """One worker thread, as the watchdog sees it.

    Args:
        name: of the worker.
        heartbeat: whose beats show progress; that of one call while it waits for messages.
        message_id: of the message that it works on; None while it waits.
        stuck: it was reported.
    """

    name: str
    heartbeat: Heartbeat | None = None
    message_id: str | None = None
    stuck: bool = False


class Watchdog:
    """Watches workers from a thread of its own.

    A worker that works and has not beaten for `threshold` seconds, declared silences aside, is
    reported once; then the healthy ones are asked to finish, and the process is ended: a stuck
    thread can't be ended alone.

    Args:
        threshold: seconds without a beat.
        on_event: called with `WorkerStuck`.
        drain: called when a worker is stuck; asks the healthy ones to finish.
        drain_timeout: seconds that they get.
        end: ends the process.
        check_interval: seconds between two looks; a twentieth of `threshold`, 5 at most, where
            None.
        clock: where the time is read.
    """

    def __init__(
        self,
        threshold: float = 720.0,
        *,
        on_event: Callable[[WorkerStuck], object] | None = None,
        drain: Callable[[], object] | None = None,
        drain_timeout: float = 30.0,
        end: Callable[[], object] = end_process,
        check_interval: float | None = None,
        clock: Clock = LEASE_CLOCK,
    ) -> None:
        self.threshold = threshold
        self._on_event = on_event
        self._drain = drain
        self._drain_timeout = drain_timeout
        self._end = end
        self._interval = check_interval or min(5.0, threshold / 20)
        self._clock = clock
        self._watched: list[Watched] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._ending_at: float | None = None

    @property
    def stuck(self) -> tuple[str, ...]:
        """Names of the workers that were reported."""
        with self._lock:
            return tuple(one.name for one in self._watched if one.stuck)

    def watch(self, name: str) -> Watched:
        """Begin to watch one worker.

        Args:
            name: of the worker, for events.
        """
        watched = Watched(name)
        with self._lock:
            self._watched.append(watched)
        return watched

    def forget(self, watched: Watched) -> None:
        """Stop watching a worker that ended.

        Args:
            watched: what `watch` returned.
        """
        with self._lock:
            self._watched.remove(watched)

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="trimtab-watchdog", daemon=True).start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            self.check()

    def check(self) -> None:
        """Look at the workers once; report the stuck ones, and end the process when it is time."""
        with self._lock:
            watched = list(self._watched)
        for one in watched:
            if not one.stuck and (silent := self._silence(one)) is not None:
                one.stuck = True
                self._report(one, silent)
        if self._ending_at is None:
            return
        busy = any(one.message_id is not None and not one.stuck for one in watched)
        if not busy or self._clock.monotonic() >= self._ending_at:
            self._end()

    def _silence(self, one: Watched) -> float | None:
        """Seconds without a beat, where that is too long."""
        heartbeat = one.heartbeat
        if heartbeat is None or heartbeat.expected() > 0:
            return None
        silent = heartbeat.elapsed()
        return silent if silent >= self.threshold else None

    def _report(self, one: Watched, silent: float) -> None:
        event = WorkerStuck(
            worker=one.name,
            silent_for=silent,
            threshold=self.threshold,
            message_id=one.message_id,
        )
        LOG.error("worker %s is stuck: no beat for %.0f s; the process ends", one.name, silent)
        if self._ending_at is None:
            self._ending_at = self._clock.monotonic() + self._drain_timeout
        try:
            if self._drain is not None:
                self._drain()
            if self._on_event is not None:
                self._on_event(event)
        except Exception:  # the process must end all the same
            LOG.exception("a listener of the watchdog failed")
