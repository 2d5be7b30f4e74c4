"""Clocks, deadlines and budgets, and beats by which work shows that it goes on."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Lock
from typing import Any, Protocol

import attrs

from trimtab._types.errors import is_interruption
from trimtab._types.options import (
    LONGEST,
    bounded,
    is_finite,
    is_number,
    names_known,
    number,
    whole_number,
)
from trimtab._types.text import shown


class Clock(Protocol):
    """Tells the time in both senses."""

    def now(self) -> datetime:
        """Return the wall-clock time, aware, in UTC: for records only."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back: for durations only."""
        ...


class SystemClock:
    """The machine's clock."""

    now = staticmethod(partial(datetime.now, UTC))
    monotonic = staticmethod(time.monotonic)


SYSTEM_CLOCK = SystemClock()


def check_clock(clock: object) -> None:
    if not all(callable(getattr(clock, name, None)) for name in ("now", "monotonic")):
        raise TypeError(f"clock must have the methods now() and monotonic(), not be {shown(clock)}")


class ManualClock:
    """A clock that only its methods move: for tests and for replaying recorded runs.

    Args:
        wall: where the wall clock starts, aware UTC.
        seconds: where the monotonic clock starts, in seconds.
    """

    def __init__(
        self, wall: datetime = datetime(2026, 1, 1, tzinfo=UTC), seconds: float = 0.0
    ) -> None:
        self.wall = wall
        self.seconds = seconds

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        """Move both clocks on by `seconds` (≥ 0)."""
        if not 0 <= seconds <= LONGEST:
            raise ValueError(f"a clock advances by 0 to {LONGEST:g} seconds, not {seconds}")
        self.seconds += seconds
        self.wall += timedelta(seconds=seconds)

    def set_wall(self, wall: datetime) -> None:
        """Set the wall clock alone, as a time server or a suspended machine does.

        Args:
            wall: the new time, aware UTC.
        """
        self.wall = wall


def _finite(_: object, attribute: attrs.Attribute[float], value: Any) -> None:
    if not is_number(value):
        raise TypeError(f"{attribute.name} must be a number of seconds, not {shown(value)}")
    if not is_finite(value):
        raise ValueError(
            f"{attribute.name} must be seconds, not {shown(value)}; without limit: None"
        )


def _seconds(value: Any) -> Any:
    """Return seconds as a float: 90 and 90.0 are one deadline, and are shown as one."""
    known = bounded(value)
    return float(known) if type(known) is int and is_finite(known) else known


@names_known()
@attrs.frozen
class Deadline:
    """A limit on duration, kept in monotonic time so that a stepped wall clock can't move it.

    Args:
        total: seconds allowed in all, from `started`; more than 1e9 (31 years) count as that.
        clock: the source of time.
        started: monotonic seconds at which the work began; the clock's reading now if None.

    Raises:
        TypeError, ValueError: `total` is no finite number.
    """

    total: float = attrs.field(converter=_seconds, validator=_finite)
    clock: Clock = attrs.field(default=SYSTEM_CLOCK, eq=False, repr=False)
    started: float = None  # type: ignore[assignment]  # set right below

    def __attrs_post_init__(self) -> None:
        check_clock(self.clock)
        if self.started is None:
            object.__setattr__(self, "started", self.clock.monotonic())

    @classmethod
    def at(cls, when: datetime, *, clock: Clock = SYSTEM_CLOCK) -> Deadline:
        """Return the deadline that falls on the aware wall-clock time `when`.

        Raises:
            TypeError: `when` is no datetime, or `clock` no clock.
            ValueError: `when` is naive; say which zone it is in.
        """
        check_clock(clock)
        if not isinstance(when, datetime):
            raise TypeError(f"when must be a datetime, not {shown(when)}")
        if when.tzinfo is None:
            raise ValueError("when must be an aware datetime, e.g. datetime.now(UTC) + …")
        return cls((when - clock.now()).total_seconds(), clock)

    def elapsed(self) -> timedelta:
        """Return the time used so far."""
        return timedelta(seconds=bounded(self.clock.monotonic() - self.started))

    def remaining(self) -> timedelta:
        """Return the time left; negative once the deadline has passed."""
        return timedelta(seconds=self.total) - self.elapsed()

    @property
    def expired(self) -> bool:
        """Whether no time is left."""
        return self.remaining() <= timedelta(0)


_whole = whole_number(0)
_MOST_COST = 1e100  # costs are added up
_COMMON = 1 << 62  # up to here one look is enough
_MOST_BITS = 512  # the share of a limit that is used up fits in a float


def _tokens_used(record: object, attribute: attrs.Attribute[int], value: Any) -> None:
    if value.__class__ is int and 0 <= value < _COMMON:
        return
    _whole(record, attribute, value)
    if value.bit_length() > _MOST_BITS:
        raise ValueError(f"{attribute.name} must be a count of tokens, not {shown(value)}")


@attrs.frozen(weakref_slot=False)
class Usage:
    """What was used up, in one response or in all.

    Args:
        input_tokens: tokens read by the model.
        output_tokens: tokens written by the model.
        cost: money, in the currency of the budget.
        cached_tokens: those of `input_tokens` that the service had in its cache.

    Raises:
        TypeError, ValueError: a count is not a whole number from 0, or the cost is not a finite
            number from 0.
    """

    input_tokens: int = attrs.field(default=0, validator=_tokens_used)
    output_tokens: int = attrs.field(default=0, validator=_tokens_used)
    cost: float = attrs.field(default=0.0, validator=number(0, _MOST_COST))
    cached_tokens: int = attrs.field(default=0, validator=_tokens_used)

    @property
    def total_tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
            self.cached_tokens + other.cached_tokens,
        )


_count = whole_number(1, optional=True)
_amount = number(0, above=True, optional=True)


@names_known()
@attrs.frozen
class Budget:
    """Limits on a run; None means no limit. A limit is used up when usage reaches it.

    Args:
        max_total_tokens, max_input_tokens, max_output_tokens: tokens.
        max_cost: money, in the unit that `Usage.cost` uses.
        max_active_seconds: monotonic seconds since the run was opened.
        max_turns: responses of the model.
        max_calls: tool calls, however they end.

    Raises:
        TypeError, ValueError: a limit is not a number above 0.
    """

    max_total_tokens: int | None = attrs.field(default=None, validator=_count)
    max_input_tokens: int | None = attrs.field(default=None, validator=_count)
    max_output_tokens: int | None = attrs.field(default=None, validator=_count)
    max_cost: float | None = attrs.field(default=None, validator=_amount)
    max_active_seconds: float | None = attrs.field(default=None, validator=_amount)
    max_turns: int | None = attrs.field(default=None, validator=_count)
    max_calls: int | None = attrs.field(default=None, validator=_count)

    def shares(
        self, usage: Usage, active_seconds: float, *, turns: int = 0, calls: int = 0
    ) -> dict[str, float]:
        """Return the used share of each limit that is set, by its name: 0.0 is none, 1.0 is all.

        Args:
            usage: tokens and cost so far.
            active_seconds: seconds since the run was opened.
            turns: responses of the model so far.
            calls: ended tool calls so far.
        """
        used = {
            "max_total_tokens": usage.total_tokens,
            "max_input_tokens": usage.input_tokens,
            "max_output_tokens": usage.output_tokens,
            "max_cost": usage.cost,
            "max_active_seconds": active_seconds,
            "max_turns": turns,
            "max_calls": calls,
        }
        limits = attrs.asdict(self)
        return {name: used[name] / limits[name] for name in used if limits[name] is not None}

    def exhausted(
        self, usage: Usage, active_seconds: float, *, turns: int = 0, calls: int = 0
    ) -> str | None:
        """Return the name of a limit that is used up, or None.

        Args:
            usage, active_seconds, turns, calls: as for `shares`.
        """
        shares = self.shares(usage, active_seconds, turns=turns, calls=calls)
        return next((name for name, share in shares.items() if share >= 1), None)


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
