"""The clock by which leases are judged: it goes on while the machine is suspended."""

from __future__ import annotations

import time

from trimtab import SystemClock

_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class LeaseClock(SystemClock):
    """The system's clock; its monotonic seconds include suspension, where the system can tell."""

    @staticmethod
    def monotonic() -> float:
        return time.clock_gettime(_BOOT)


LEASE_CLOCK = LeaseClock()
