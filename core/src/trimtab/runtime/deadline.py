"""How long a piece of work may take."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import attrs

from trimtab.runtime.clock import SYSTEM_CLOCK, Clock


def _finite(_: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not math.isfinite(value):
        raise ValueError(f"{attribute.name} must be seconds, not {value}; without limit: None")


@attrs.frozen
class Deadline:
    """A limit on duration, kept in monotonic time so that a stepped wall clock can't move it.

    Args:
        total: seconds allowed in all, from `started`.
        started: monotonic seconds at which the work began; the clock's reading now if None.
        clock: where the time is read.

    Raises:
        ValueError: `total` is no finite number.
    """

    total: float = attrs.field(validator=_finite)
    clock: Clock = attrs.field(default=SYSTEM_CLOCK, eq=False, repr=False)
    started: float = attrs.field(
        default=attrs.Factory(lambda self: self.clock.monotonic(), takes_self=True)
    )

    @classmethod
    def at(cls, when: datetime, *, clock: Clock = SYSTEM_CLOCK) -> Deadline:
        """Return the deadline that falls on the aware wall-clock time `when`.

        Raises:
            ValueError: `when` is naive; say which zone it is in.
        """
        if when.tzinfo is None:
            raise ValueError("a deadline needs an aware datetime, e.g. datetime.now(UTC) + …")
        return cls((when - clock.now()).total_seconds(), clock)

    def elapsed(self) -> timedelta:
        """Return the time used so far."""
        return timedelta(seconds=self.clock.monotonic() - self.started)

    def remaining(self) -> timedelta:
        """Return the time left; negative once the deadline has passed."""
        return timedelta(seconds=self.total) - self.elapsed()

    @property
    def expired(self) -> bool:
        """Whether no time is left."""
        return self.remaining() <= timedelta(0)
