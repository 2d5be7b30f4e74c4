"""The trace of a run that branched off another one, behind what both have in common."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice, takewhile

from trimtab_trace._envelope import TraceEvent
from trimtab_trace._errors import TraceError
from trimtab_trace._recorder import file_name
from trimtab_trace._resuming import in_force
from trimtab_trace._store import Trace, is_database

_BEGINNING = 8
"""Events among which the opening of a run that has a file of its own stands."""


def with_origin(events: Iterable[TraceEvent]) -> Iterable[TraceEvent]:
    """Return the events in force, behind those of the run that this one was forked from.

    A fork that has a file of its own begins with the state of its parent, whose trace lies beside
    it; what the parent did after the fork is left out.

    Args:
        events: of the trace, in order.

    Raises:
        TraceError: the parent's trace is not there.
    """
    kept = in_force(events)
    if not isinstance(events, Trace) or is_database(events.path):
        return kept
    opened = next((e for e in islice(events, _BEGINNING) if e.event_type == "RunOpened"), None)
    parent = opened.payload.get("forked_from") if opened is not None else None
    if opened is None or not isinstance(parent, str) or not parent:
        return kept
    path = events.path.with_name(f"{file_name(parent)}.jsonl")
    if path == events.path:
        return kept
    if not path.is_file():
        raise TraceError(
            f"{events.path}: its run was forked from {parent!r:.100}, whose trace is not beside it:"
            f" put {path.name} there"
        )
    before = with_origin(Trace(path, strict=events.strict))
    return chain(takewhile(lambda event: event.timestamp <= opened.timestamp, before), kept)
