"""The time of a replay is the time of the recording."""

from __future__ import annotations

from datetime import datetime, timedelta

import attrs

from trimtab import ToolInvoked
from trimtab.events import ModelResponded
from trimtab.testing import ManualClock
from trimtab_replay._recording import Item


@attrs.define
class RecordedTime:
    """Moves a clock along with the recorded times.

    Monotonic time follows the recorded monotonic seconds where there are such, else the steps
    of the recorded wall clock; neither ever takes it back.
    """

    clock: ManualClock = attrs.field(factory=ManualClock)
    started: datetime | None = None
    _last: datetime | None = None

    def begin(self, item: Item) -> None:
        """Set the wall clock to when the recording began, as its first item tells."""
        at, elapsed = _times(item)
        if at is not None:
            self.started = at - timedelta(seconds=elapsed or 0.0)
            self.clock.set_wall(self.started)

    def follow(self, item: Item, following: Item | None = None) -> None:
        """Move on to the moment of `item`.

        An item without times stands where the last stood; but a response without times came
        when its first call, the `following` item, began.
        """
        at, elapsed = _times(item)
        if at is None and elapsed is None and type(item) is ModelResponded:
            at, elapsed = _beginning(following)
        if elapsed is not None:
            self.clock.seconds = max(self.clock.seconds, elapsed)
        elif at is not None and self._last is not None:
            self.clock.seconds += max(0.0, (at - self._last).total_seconds())
        if at is not None:
            self._last = at
            self.clock.set_wall(at)


def _beginning(item: Item | None) -> tuple[datetime | None, float | None]:
    if type(item) is not ToolInvoked:
        return None, None
    seconds = item.duration or 0.0
    at = item.started or (item.at - timedelta(seconds=seconds) if item.at else None)
    return at, None if item.elapsed is None else item.elapsed - seconds


def _times(item: Item) -> tuple[datetime | None, float | None]:
    return getattr(item, "at", None), getattr(item, "elapsed", None)
