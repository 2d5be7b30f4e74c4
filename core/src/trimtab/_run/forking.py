"""The state of a run as it was after some of its calls, for a run that branches off there."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

import attrs

from trimtab._events.guidance import GuidanceDelivered, GuidanceSuppressed, StopRequested
from trimtab._events.provenance import DecisionPoint
from trimtab._events.providers import (
    CompletionChecked,
    Feedback,
    FeedbackSuppressed,
    ProviderFaulted,
    ProviderQuarantined,
)
from trimtab._events.run import (
    CompactionHappened,
    Event,
    ModelResponded,
    ToolInvoked,
    ToolStarted,
    UserMessage,
)
from trimtab._session.record import position
from trimtab._session.saved import SavedRun
from trimtab._session.state import Origin, RunState
from trimtab._types.errors import SessionError

if TYPE_CHECKING:
    from trimtab._session.record import Record

_KINDS: tuple[type[Event], ...] = (
    UserMessage,
    CompactionHappened,
    ModelResponded,
    ToolStarted,
    ToolInvoked,
    Feedback,
    FeedbackSuppressed,
    GuidanceDelivered,
    GuidanceSuppressed,
    StopRequested,
    CompletionChecked,
    ProviderFaulted,
    ProviderQuarantined,
)
_GOES_ON = (UserMessage, ModelResponded, ToolStarted, ToolInvoked, CompletionChecked)
_NEXT = (DecisionPoint.PRE_TOOL_SELECTION, DecisionPoint.PRE_RESPONSE)


def fork(
    session: Record, parent: RunState, calls: int | None, run_id: str, agent_id: str | None
) -> RunState:
    """Return a new state that starts where `parent` was; call it while holding the lock.

    Args:
        session: the session of both.
        parent: the run that is forked.
        calls: how many of its ended calls the new run has seen; None forks it as it is now.
        run_id, agent_id: identity of the new run.

    Raises:
        SessionError: `parent` has not that many calls.
    """
    if calls is None or calls == parent.calls:
        state = _copy(session, parent, run_id, agent_id)
    else:
        _check(calls, parent)
        state = _rebuilt(session, parent, calls, run_id, agent_id)
    seen = sum(1 for _ in _until(session.events_of(parent.run_id), calls))
    state.origin = Origin(parent.run_id, state.calls, seen)
    return state


def _check(calls: object, parent: RunState) -> None:
    whole = isinstance(calls, int) and not isinstance(calls, bool)
    if not whole or calls not in range(parent.calls):
        raise SessionError(
            f"calls must be a whole number from 0 to {parent.calls}, the calls of run "
            f"{parent.run_id!r}, not {calls!r:.100}"
        )


def _copy(session: Record, parent: RunState, run_id: str, agent_id: str | None) -> RunState:
    saved = SavedRun.of(parent)
    forked = attrs.evolve(
        saved,
        run_id=run_id,
        agent_id=agent_id,
        closed=False,
        running=(),
    )
    state = forked.restored(lock=session.lock, history=session.events_of)
    state.recent.extend(parent.recent)
    return state


def _rebuilt(
    session: Record, parent: RunState, calls: int, run_id: str, agent_id: str | None
) -> RunState:
    state = RunState(
        run_id, parent.prompt_name, agent_id, lock=session.lock, history=session.events_of
    )
    state.feedback.watched = parent.feedback.watched
    state.use_profiles(parent.feeds.profiles)
    for provider in parent.feedback.created:
        state.feedback.file_created(provider)
    for event in _until(_all_events(session, parent), calls):
        state.apply(event)
    state.running.clear()
    for episode in state.episodes.all():  # unrecorded: when a problem was seen without a nudge
        state.episodes.seen(episode.key, state.turn)
    return state


def _all_events(session: Record, state: RunState) -> Iterator[Event]:
    """Yield what happened in a run and, before it, in the run that it was forked from."""
    if state.origin is not None:
        parent = session.runs()[state.origin.run_id]
        yield from _until(_all_events(session, parent), state.origin.calls)
    found: list[tuple[tuple[float, int, int], Event]] = [
        (position(event, rank), event)
        for rank, kind in enumerate(_KINDS)
        for event in session[kind].all()
        if event.run_id == state.run_id
    ]
    found.sort(key=itemgetter(0))
    for _, event in found:
        yield event


def _until(events: Iterator[Event], calls: int | None) -> Iterator[Event]:
    """Yield the events up to the end of the `calls`-th call, and what was said about it."""
    if calls is None:
        yield from events
        return
    seen = 0
    for event in events:
        if seen == calls and _goes_on(event):
            return
        seen += isinstance(event, ToolInvoked)
        yield event


def _goes_on(event: Event) -> bool:
    if isinstance(event, GuidanceDelivered | GuidanceSuppressed | StopRequested):
        return event.decision_point in _NEXT
    return isinstance(event, _GOES_ON)
