"""The clock by which leases are judged: it goes on while the machine is suspended."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

from trimtab import SystemClock

_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class LeaseClock(SystemClock):
    """The system's clock; its monotonic seconds include suspension, where the system can tell."""

    @staticmethod
    def monotonic() -> float:
        return time.clock_gettime(_BOOT)


@cache
def boot_id() -> str | None:
    """Return what names this start of the machine, where `LeaseClock` counts from it."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() or None
    except (OSError, ValueError):
        return None


LEASE_CLOCK = LeaseClock()
