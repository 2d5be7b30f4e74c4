"""Comparing two traces: what differs beside times and identifiers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from trimtab_trace._codec import references_json
from trimtab_trace._envelope import TraceEvent

MOST_ALIGNED = 2_000
"""Finding what was put in between takes time that grows with the square of the events."""

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


def aligned(
    first: Iterable[TraceEvent], second: Iterable[TraceEvent]
) -> Iterator[tuple[TraceEvent | None, TraceEvent | None, bool]]:
    """Yield the events of two traces side by side, and whether both hold the same there.

    What one of them lacks stands beside None. Traces of more events than `MOST_ALIGNED` are
    compared place by place.
    """
    one, other = list(first), list(second)
    ours, theirs = (list(map(_key, each)) for each in (one, other))
    steps: Sequence[tuple[str, int, int, int, int]]
    steps = [("replace", 0, len(one), 0, len(other))]
    if max(len(one), len(other)) <= MOST_ALIGNED:
        steps = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    for _, i, i_end, j, j_end in steps:
        rest = zip_longest(range(i, i_end), range(j, j_end))
        for a, b in rest:
            same = a is not None and b is not None and ours[a] == theirs[b]
            yield None if a is None else one[a], None if b is None else other[b], same


def _key(event: TraceEvent) -> str:
    return json.dumps(_compared(event), sort_keys=True, default=str)


def _compared(event: TraceEvent) -> tuple[Any, ...]:
    payload = {key: value for key, value in event.payload.items() if key not in _TIMES}
    references = references_json(event.references)
    return event.event_type, event.actor, {**references, "corrects": None}, payload
