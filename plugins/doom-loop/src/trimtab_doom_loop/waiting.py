"""Waiting is not looping, up to a ceiling (DESIGN 5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trimtab.trajectory import CallRecord

CEILING_CALLS = 20
CEILING_SECONDS = 900.0
_PAUSE_SECONDS = 60.0
_SHORTEST_BACK_OFF = 2.0
_GROWTH = 1.3


def paused(calls: Sequence[CallRecord]) -> bool:
    """Tell whether there were pauses between equal calls: long ones, or growing ones."""
    gaps = _gaps(calls)
    if not gaps:
        return False
    if min(gaps) >= _PAUSE_SECONDS:
        return True
    grows = all(later >= _GROWTH * earlier for earlier, later in pairwise(gaps))
    return len(gaps) > 1 and grows and gaps[-1] >= _SHORTEST_BACK_OFF


def _gaps(calls: Sequence[CallRecord]) -> list[float]:
    gaps = []
    for earlier, later in pairwise(calls):
        begun = later.started if later.started is not None else later.ended
        if begun is None or earlier.ended is None:
            return []
        gaps.append(begun - earlier.ended)
    return gaps


def too_long(calls: Sequence[CallRecord]) -> bool:
    """Tell whether waiting with the same answer has reached its ceiling in calls or in time."""
    if len(calls) >= CEILING_CALLS:
        return True
    first, last = calls[0].ended, calls[-1].ended
    return first is not None and last is not None and last - first > CEILING_SECONDS
