"""Medians beside a yardstick, for the scripts of this folder."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from hashlib import blake2b


def yardstick(call: object) -> float:
    """Return the median microseconds of sorted ``json.dumps`` plus blake2b of `call`."""
    return median(lambda: blake2b(json.dumps(call, sort_keys=True).encode()).digest())


def times(work: Callable[[], object], *, rounds: int = 2000) -> list[float]:
    """Return the microseconds of each of `rounds` calls, sorted."""
    clock, taken = time.perf_counter_ns, []
    for _ in range(rounds):
        began = clock()
        work()
        taken.append((clock() - began) / 1000)
    return sorted(taken)


def median(work: Callable[[], object], *, rounds: int = 2000) -> float:
    """Return the median microseconds of `work`."""
    return statistics.median(times(work, rounds=rounds))


def p99(taken: list[float]) -> float:
    """Return the 99th percentile of sorted times."""
    return taken[int(len(taken) * 0.99)]


def row(what: str, got: str, must: str, beside: str = "") -> None:
    """Print one line of the table."""
    print(f"{what:<58} {got:>16}   must: {must:<14} {beside}", flush=True)
