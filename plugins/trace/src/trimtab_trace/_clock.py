"""The time of a replay is the time of the trace."""

from __future__ import annotations

from datetime import UTC, datetime


class ReplayClock:
    """A clock that is set, event by event.

    Attributes:
        wall: the wall-clock time, aware UTC.
        seconds: monotonic seconds since the run at hand was opened.
    """

    def __init__(self) -> None:
        self.wall = datetime(1970, 1, 1, tzinfo=UTC)
        self.seconds = 0.0
        self._first: float | None = None

    def set(self, wall: datetime, seconds: float | None) -> None:
        """Move to the moment of an event; `seconds` stays where None."""
        self.wall = wall
        if seconds is not None:
            self.seconds = seconds

    def open_at(self, seconds: float) -> None:
        """Let the next monotonic reading, which opens a run, be `seconds`."""
        self._first = seconds

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        return self.seconds
