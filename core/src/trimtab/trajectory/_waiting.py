"""Waiting is not looping, and not failing, up to a ceiling (DESIGN 5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trimtab.trajectory._records import CallRecord
from trimtab.trajectory._shell import waits

CEILING_CALLS = 20
"""So many waits without change are too many."""
CEILING_SECONDS = 900.0
"""Waiting longer than this without change is too long."""

_PAUSE_SECONDS = 30.0
_SHORTEST_BACK_OFF = 2.0
_GROWTH = 1.8
"""Back-off about doubles; below that, a model's own time to answer varies as much."""

Span = tuple[float | None, float | None]
"""When a call began and ended, monotonic seconds; None where unknown."""


def span_of(call: CallRecord) -> Span:
    """Return when `call` began and ended."""
    return call.started, call.ended


def is_wait(call: CallRecord) -> bool:
    """Tell whether a call waits by itself: a declared poll, or a command that sleeps."""
    return call.waits or (call.command is not None and waits(call.command))


def paused(spans: Sequence[Span], shortest: float = _PAUSE_SECONDS) -> bool:
    """Tell whether there were pauses between equal calls: of `shortest` seconds, or growing."""
    gaps = _gaps(spans)
    if not gaps:
        return False
    if min(gaps) >= shortest:
        return True
    grows = all(later >= _GROWTH * earlier for earlier, later in pairwise(gaps))
    return len(gaps) > 1 and grows and gaps[-1] >= _SHORTEST_BACK_OFF


def _gaps(spans: Sequence[Span]) -> list[float]:
    gaps = []
    for (_, ended), later in pairwise(spans):
        begun = later[0] if later[0] is not None else later[1]
        if begun is None or ended is None:
            return []
        gaps.append(begun - ended)
    return gaps


def too_long(spans: Sequence[Span]) -> bool:
    """Tell whether waiting with the same answer has reached its ceiling in calls or in time."""
    if len(spans) >= CEILING_CALLS:
        return True
    first, last = spans[0][1], spans[-1][1]
    return first is not None and last is not None and last - first > CEILING_SECONDS
