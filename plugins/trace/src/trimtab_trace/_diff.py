"""Comparing two traces: what differs beside times and identifiers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from trimtab_trace._codec import references_json
from trimtab_trace._envelope import TraceEvent

_TIMES = frozenset({"elapsed", "latency", "started", "deadline"})


def first_difference(
    first: Iterable[TraceEvent], second: Iterable[TraceEvent]
) -> tuple[TraceEvent | None, TraceEvent | None] | None:
    """Return the first pair of events that differ, None if the traces hold the same.

    Times, identifiers of events and runs, and epochs are left out of the comparison. One event
    of the pair is None if its trace ends before the other.
    """
    for one, other in zip_longest(first, second):
        if one is None or other is None or _compared(one) != _compared(other):
            return one, other
    return None


def _compared(event: TraceEvent) -> tuple[Any, ...]:
    payload = {key: value for key, value in event.payload.items() if key not in _TIMES}
    references = references_json(event.references)
    return event.event_type, event.actor, {**references, "corrects": None}, payload
