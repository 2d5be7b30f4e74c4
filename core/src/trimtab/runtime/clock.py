"""The one place that reads the time (DESIGN 5: aware UTC for records, monotonic for durations)."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


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

    def now(self) -> datetime:
        return datetime.now(UTC)

    monotonic = staticmethod(time.monotonic)


SYSTEM_CLOCK = SystemClock()


class ManualClock:
    """A clock that moves only when told: for tests and for replaying recorded runs.

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
        if seconds < 0:
            raise ValueError(f"a clock advances by 0 seconds or more, not {seconds}")
        self.seconds += seconds
        self.wall += timedelta(seconds=seconds)

    def set_wall(self, wall: datetime) -> None:
        """Step the wall clock alone, as a time server or a suspended machine does."""
        self.wall = wall
