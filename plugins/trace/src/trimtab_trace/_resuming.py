"""Where the second writer of a trace began: a run may go on from an older snapshot of itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice, takewhile
from typing import Any

from trimtab import (
    Feedback,
    GuidanceDelivered,
    RecorderContext,
    ToolInvoked,
)
from trimtab.events import (
    CompactionHappened,
    CompletionChecked,
    GuidanceSuppressed,
    ModelResponded,
    RunClosed,
    RunOpened,
    ToolStarted,
    UserMessage,
)
from trimtab_trace._envelope import TraceEvent
from trimtab_trace._store import Trace

_KINDS: tuple[type[Any], ...] = (
    RunOpened,
    UserMessage,
    ModelResponded,
    ToolStarted,
    ToolInvoked,
    GuidanceDelivered,
    GuidanceSuppressed,
    Feedback,
    CompletionChecked,
    CompactionHappened,
    RunClosed,
)
_SEARCHED = 1_000
"""Records of each kind among which the newest of a run is looked for."""


def known_until(context: RecorderContext) -> str | None:
    """Return the time of the newest record that a resumed run has; None for a new run.

    Args:
        context: of the run, as its recorder is opened.
    """
    if not context.tool_call_count and not context.turn_count:
        return None
    times = (_newest(context, kind) for kind in _KINDS)
    return max((at for at in times if at is not None), default=None, key=datetime.fromisoformat)


def _newest(context: RecorderContext, kind: type[Any]) -> str | None:
    records = islice(context.session[kind].newest(), _SEARCHED)
    found = next((item for item in records if item.run_id == context.run_id), None)
    return None if found is None or found.at is None else found.at.isoformat()


def in_force(events: Iterable[TraceEvent], until: int | None = None) -> Iterable[TraceEvent]:
    """Return the events of a trace without those that a resumed run did not know.

    A run that crashed and was resumed from an older snapshot repeats what followed it; the first
    writer's events after the snapshot stay in the trace, and are no part of the run any more.

    Args:
        events: of the trace, in order; what can be read once only is kept in memory.
        until: the last event that counts; None for all.
    """
    if isinstance(events, Trace) and not events.reopened:
        return events if until is None else _until(events, until)
    if isinstance(events, Iterator):
        events = list(events)
    counted = events if until is None else _until(events, until)
    began = [found for event in counted if (found := _beginning(event)) is not None]
    kept = events if until is None else _until(events, until)
    if not began:
        return kept
    return (event for event in kept if not any(_undone(event, *one) for one in began))


def _until(events: Iterable[TraceEvent], until: int) -> Iterator[TraceEvent]:
    return takewhile(lambda event: event.seq <= until, events)


def _beginning(event: TraceEvent) -> tuple[int, str, datetime] | None:
    if event.event_type != "RunConfigured":
        return None
    known = event.payload.get("known_until")
    try:
        at = datetime.fromisoformat(known) if isinstance(known, str) else None
    except ValueError:
        at = None
    return None if at is None or at.tzinfo is None else (event.seq, event.run_id, at)


def _undone(event: TraceEvent, seq: int, run_id: str, known: datetime) -> bool:
    return event.seq < seq and event.timestamp > known and event.run_id in ("", run_id)
