"""When a store makes sure that what it wrote survives a crash of the machine."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from trimtab import SYSTEM_CLOCK
from trimtab_trace._envelope import TraceError

BARRIERS = frozenset({"ToolInvoked", "CompletionChecked", "RunTerminated", "LeaseLost"})


class Durability(StrEnum):
    """When a store syncs to the disk.

    A process that is killed loses nothing in any mode: each event is handed to the operating
    system before `append` returns. The modes differ when the machine itself stops.
    """

    NONE = "none"
    BARRIER = "barrier"
    INTERVAL = "interval"
    EACH = "each"

    @classmethod
    def of(cls, value: str) -> Durability:
        """Return the mode of that name.

        Raises:
            TraceError: no mode has that name.
        """
        try:
            return cls(value)
        except ValueError:
            known = ", ".join(mode.value for mode in cls)
            raise TraceError(f"no durability {value!r}; use one of: {known}") from None


class SyncPolicy:
    """Decides, event by event, whether to sync.

    Args:
        durability: the mode.
        interval: seconds between two syncs in the mode `INTERVAL`.
        monotonic: tells the seconds.
    """

    def __init__(
        self,
        durability: Durability,
        interval: float = 0.05,
        monotonic: Callable[[], float] = SYSTEM_CLOCK.monotonic,
    ) -> None:
        self.durability = durability
        self._interval = interval
        self._monotonic = monotonic
        self._last = monotonic()

    def due(self, event_type: str, *, durable: bool) -> bool:
        """Return whether to sync after an event of this type; `durable` asks for it."""
        if durable or self.durability is Durability.EACH:
            return True
        if self.durability is Durability.BARRIER:
            return event_type in BARRIERS
        return self.durability is Durability.INTERVAL and self._elapsed()

    def _elapsed(self) -> bool:
        now = self._monotonic()
        if now - self._last < self._interval:
            return False
        self._last = now
        return True
