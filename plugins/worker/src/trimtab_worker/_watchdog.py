"""The watchdog: reports a worker that shows no progress, and ends its process."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from trimtab_worker._clock import LEASE_CLOCK
from trimtab_worker._events import WorkerStuck

if TYPE_CHECKING:
    from trimtab import Clock, Heartbeat

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
