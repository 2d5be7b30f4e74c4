"""A clock that can be set back to replay a journal."""

from __future__ import annotations

from datetime import datetime

from trimtab import SYSTEM_CLOCK, Clock
from trimtab_claude_code._state.journal import Moment


class ReplayClock:
    """Shows a recorded moment while one is set, else the real time, which never goes back.

    Args:
        clock: the real one.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._moment: Moment | None = None
        self._ahead = 0.0

    def now(self) -> datetime:
        return self._moment.at if self._moment else self._clock.now()

    def monotonic(self) -> float:
        if self._moment:
            return self._moment.seconds
        return self._clock.monotonic() + self._ahead

    def moment(self) -> Moment:
        """Return the time in both senses."""
        return Moment(self.now(), self.monotonic())

    def show(self, moment: Moment) -> None:
        """Show a recorded moment until `go_on`; the machine may have been restarted since."""
        latest = self._moment.seconds if self._moment else moment.seconds
        self._moment = Moment(moment.at, max(moment.seconds, latest))

    def go_on(self) -> None:
        """Show the real time again; where the machine was restarted, the wall clock bridges it."""
        moment, self._moment = self._moment, None
        behind = moment.seconds - self._clock.monotonic() if moment else 0.0
        if moment and behind > 0:
            passed = (self._clock.now() - moment.at).total_seconds()
            self._ahead = behind + max(0.0, passed)
