"""Proof that work goes on (seed 003)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from trimtab._types.limits import SYSTEM_CLOCK, Clock

Callback = Callable[[], None]


class Heartbeat:
    """Beats of one piece of work; safe to use from several threads.

    Callbacks run on the beating thread, in the order in which they were added. One that raises
    stops neither the others nor the beat: its error goes to `on_fault` and stays in `faults`.

    Args:
        clock: where the time is read.
        on_fault: called with the error of a callback, where given.
    """

    def __init__(
        self, clock: Clock = SYSTEM_CLOCK, *, on_fault: Callable[[Exception], None] | None = None
    ) -> None:
        self._clock = clock
        self._on_fault = on_fault
        self._lock = Lock()
        self._callbacks: list[Callback] = []
        self._faults: deque[Exception] = deque(maxlen=20)
        self._last = clock.monotonic()

    @property
    def faults(self) -> tuple[Exception, ...]:
        """The last errors of callbacks, at most 20, oldest first."""
        with self._lock:
            return tuple(self._faults)

    def beat(self) -> None:
        """Record that work goes on, and tell the callbacks."""
        with self._lock:
            self._last = self._clock.monotonic()
            callbacks = tuple(self._callbacks)
        for callback in callbacks:
            self._call(callback)

    def elapsed(self) -> float:
        """Return the monotonic seconds since the last beat, or since the beginning."""
        with self._lock:
            return self._clock.monotonic() - self._last

    def add_callback(self, callback: Callback) -> None:
        """Call `callback` at every beat from now on; added twice, it is called twice."""
        with self._lock:
            self._callbacks.append(callback)

    def remove_callback(self, callback: Callback) -> None:
        """Undo one `add_callback`.

        Raises:
            ValueError: it was not added.
        """
        with self._lock:
            if callback not in self._callbacks:
                raise ValueError(f"{callback!r} is no callback of this heartbeat")
            self._callbacks.remove(callback)

    def _call(self, callback: Callback) -> None:
        try:
            callback()
        except Exception as error:  # noqa: BLE001 - whatever users add must not stop the work
            self._report(error)

    def _report(self, error: Exception) -> None:
        with self._lock:
            self._faults.append(error)
        if self._on_fault is not None:
            self._on_fault(error)
