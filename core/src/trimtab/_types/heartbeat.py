"""Proof of work: a heartbeat with callbacks."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock

from trimtab._types.errors import is_interruption
from trimtab._types.limits import SYSTEM_CLOCK, Clock, check_clock

Callback = Callable[[], None]


class Expectation(AbstractContextManager["Expectation"]):
    """A declared silent stretch, made by `Heartbeat.expect`; a `with` block ends it."""

    def __init__(self, heartbeat: Heartbeat, until: float) -> None:
        self._heartbeat = heartbeat
        self.until = until

    def end(self) -> None:
        """End the stretch early, with a beat. Ending it twice is no error."""
        self._heartbeat.end(self)

    def __exit__(self, *_: object) -> None:
        self.end()


class Heartbeat:
    """Beats of one piece of work; safe to use from several threads.

    Callbacks run on the beating thread, in the order in which they were added. One that raises
    stops neither the others nor the beat: its error stays in `faults`.

    Args:
        clock: where the time is read.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        check_clock(clock)
        self._clock = clock
        self._lock = Lock()
        self._callbacks: tuple[Callback, ...] = ()
        self._expectations: tuple[Expectation, ...] = ()
        self._faults: deque[BaseException] = deque(maxlen=20)
        self._beats = 0
        self._last = clock.monotonic()

    @property
    def beats(self) -> int:
        """How many beats there were."""
        return self._beats

    @property
    def faults(self) -> tuple[BaseException, ...]:
        """The last errors of callbacks, at most 20, oldest first."""
        with self._lock:
            return tuple(self._faults)

    def beat(self) -> None:
        """Record that work goes on, and call the callbacks."""
        with self._lock:
            self._last = self._clock.monotonic()
            self._beats += 1
            callbacks = self._callbacks
        for callback in callbacks:
            self._call(callback)

    def expect(self, seconds: float) -> Expectation:
        """Declare that no beat may come for `seconds`, e.g. during one long computation; beat.

        Args:
            seconds: more than 0. The declaration ends then, or when its `end` is called, or with
                the `with` block that it opens.

        Raises:
            ValueError: `seconds` is not a number above 0.
        """
        if not 0 < seconds < math.inf:
            raise ValueError(f"expect() needs a finite number of seconds above 0, not {seconds}")
        expectation = Expectation(self, self._clock.monotonic() + seconds)
        with self._lock:
            self._expectations = (*self._open_expectations(), expectation)
        self.beat()
        return expectation

    def expected(self) -> float:
        """Return the seconds that are left of the longest declared silent stretch, 0.0 if none."""
        expectations = self._expectations
        if not expectations:
            return 0.0
        return max(0.0, max(one.until for one in expectations) - self._clock.monotonic())

    def end(self, expectation: Expectation) -> None:
        """End a declared silent stretch, with a beat; called by `Expectation.end`."""
        with self._lock:
            self._expectations = tuple(
                one for one in self._open_expectations() if one is not expectation
            )
        self.beat()

    def _open_expectations(self) -> tuple[Expectation, ...]:
        now = self._clock.monotonic()
        return tuple(one for one in self._expectations if one.until > now)

    def elapsed(self) -> float:
        """Return the monotonic seconds since the last beat, or since the beginning."""
        with self._lock:
            return self._clock.monotonic() - self._last

    def add_callback(self, callback: Callback) -> None:
        """Call `callback` at every beat from now on."""
        with self._lock:
            self._callbacks = (*self._callbacks, callback)

    def _call(self, callback: Callback) -> None:
        try:
            callback()
        except BaseException as error:
            if is_interruption(error):
                raise
            with self._lock:
                self._faults.append(error)
