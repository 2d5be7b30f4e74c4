"""What is kept of runs as records of plain types: for snapshots, and for runs that branch off."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._events import (
    DecisionPoint,
    Event,
    ModelResponded,
    RunClosed,
    ToolInvoked,
    ToolStarted,
    UserMessage,
)
from trimtab._events.guidance import CompletionChecked
from trimtab._policy.feedback import FeedbackState, GateState
from trimtab._policy.guidance import EpisodeBook, GuidanceState
from trimtab._session import FACTS, HEAD, Slice, ToolLog
from trimtab._session.codec import encode_value, record_converter
from trimtab._session.feeds import SavedFeeds
from trimtab._session.record import in_order
from trimtab._session.state import HANDLERS, Origin, RunFacts, RunState
from trimtab._types.errors import SessionError, SnapshotError
from trimtab._types.text import describe_error, reduced

if TYPE_CHECKING:
    from trimtab._session.record import Record, SessionLock
    from trimtab._session.state import History

_STATES = (GuidanceState, FeedbackState, GateState, EpisodeBook)


def _copied(value: Any) -> Any:
    """Return a part of a run's state that later changes don't reach; events are frozen."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, set):
        return value.copy()
    if not isinstance(value, _STATES):
        return value
    fields = [field.name for field in attrs.fields(type(value)) if field.init]
    return type(value)(**{name: _copied(getattr(value, name)) for name in fields})


def _needed(_: object, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
    return [field.evolve(default=attrs.NOTHING) for field in fields]


@attrs.define(kw_only=True, eq=False, field_transformer=_needed)
class SavedRun(RunFacts):
    """A `RunState` without defaults, so that nothing is left out; its running calls as a list."""

    running: tuple[ToolStarted, ...]
    feeds: SavedFeeds

    @classmethod
    def of(cls, state: RunState) -> SavedRun:
        """Return what is to be kept of `state`, copied; call it while holding the lock."""
        return cls(
            **{field.name: _copied(getattr(state, field.name)) for field in attrs.fields(RunFacts)},
            running=tuple(event for events in state.running.values() for event in events),
            feeds=state.feeds.saved(),
        )

    def restored(
        self, *, lock: SessionLock | None = None, history: History | None = None
    ) -> RunState:
        state = RunState(self.run_id, self.prompt_name, self.agent_id, lock=lock, history=history)
        for field in attrs.fields(RunFacts):
            setattr(state, field.name, _copied(getattr(self, field.name)))
        for event in self.running:
            state.running.setdefault(event.call_id, []).append(event)
        state.feeds.restore(self.feeds)
        return state


VERSION = 5
"""Of the form of a snapshot; raised when older code could not read it."""


def dump(
    keep: int | None,
    slices: Mapping[type[Any], Slice[Any]],
    runs: Iterable[SavedRun],
    current: Mapping[str, str],
) -> str:
    write_run = _writer_of(SavedRun)
    return _object(
        {
            "version": _text(VERSION),
            "keep": _text(keep),
            "slices": _object(_dumped(slices)),
            "runs": _text([write_run(run) for run in runs]),
            "current": _text(dict(current)),
        }
    )


def _object(fields: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in fields.items()) + "}"


def _text(value: Any) -> str:
    # `default` takes what a record holds against its own annotations.
    return json.dumps(value, default=encode_value, allow_nan=False)


def _writer_of(kind: type[Any]) -> Any:
    return record_converter(strict=True, short=True).get_unstructure_hook(kind)


def _dumped(slices: Mapping[type[Any], Slice[Any]]) -> dict[str, str]:
    dumped: dict[str, str] = {}
    for kind, records in slices.items():
        name = kind.__name__
        if name in dumped:
            raise SnapshotError(f"two types of records are called {name!r}; rename one")
        try:
            if isinstance(records, ToolLog) and len(records):
                dumped[name] = _dumped_calls(records)
            elif len(records) or records.dropped:
                write = _writer_of(kind)
                items = [write(item) for item in records.all()]
                dumped[name] = _text({"items": items, "dropped": records.dropped})
        except Exception as error:
            raise SnapshotError(
                f"records of type {name!r} can't be saved: {describe_error(error)}"
            ) from error
    return dumped


def _dumped_calls(log: ToolLog) -> str:
    """Return the calls of a session; old ones as they are packed, for there may be 100,000."""
    heads, batches, recent = log.parted()
    write = _writer_of(ToolInvoked)
    dumped = {"items": _text([write(call) for call in recent]), "dropped": "0"}
    # Encoded one by one: all the rows at once would take a third more time, and much memory.
    rows = ", ".join([_rows(batch)[1:-1] for batch in batches])
    if rows:
        facts = {"head": _text(HEAD), "facts": _text(FACTS), "heads": _text(heads)}
        dumped["old"] = _object({**facts, "rows": f"[{rows}]"})
    return _object(dumped)


def _rows(batch: list[Any]) -> str:
    try:
        return _text(batch)
    except ValueError:  # a record holds a number that is not finite
        return _text([(head, [_finite(fact) for fact in facts]) for head, facts in batch])


def _finite(fact: Any) -> Any:
    return None if type(fact) is float and not isfinite(fact) else reduced(fact)


_KINDS = tuple(kind for kind in HANDLERS if kind is not RunClosed)
_GOES_ON = (UserMessage, ModelResponded, ToolStarted, ToolInvoked, CompletionChecked)
_NEXT = (DecisionPoint.PRE_TOOL_SELECTION, DecisionPoint.PRE_RESPONSE)


def fork(
    session: Record, parent: RunState, calls: int | None, run_id: str, agent_id: str | None
) -> RunState:
    """Return a new state that starts where `parent` was; call it while holding the lock."""
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
    identity: dict[str, Any] = {"run_id": run_id, "agent_id": agent_id}
    forked = attrs.evolve(SavedRun.of(parent), **identity, closed=False, running=())
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
    state.feeds.use_profiles(parent.feeds.profiles)
    state.feedback.created |= parent.feedback.created
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
    yield from in_order(session, state.run_id, _KINDS)


def _until(events: Iterator[Event], calls: int | None) -> Iterator[Event]:
    """Yield the events up to the end of the `calls`-th call, and what was said about it."""
    if calls is None:
        yield from events
        return
    seen = 0
    for event in events:
        point = getattr(event, "decision_point", None)
        if seen == calls and (isinstance(event, _GOES_ON) or point in _NEXT):
            return
        seen += isinstance(event, ToolInvoked)
        yield event
