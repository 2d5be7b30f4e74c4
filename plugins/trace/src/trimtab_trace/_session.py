"""A session made of a trace: by folding its events, in its own time, asking no provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import attrs

from trimtab import DecisionPoint, Event, Prompt, Run, Session
from trimtab.events import (
    CompletionAsked,
    GuidanceAsked,
    PromptRendered,
    Question,
    RunOpened,
)
from trimtab.hosting import LOCAL_HOST
from trimtab_trace._envelope import TraceError, TraceEvent, UnknownEvent, misfits_named
from trimtab_trace._settings import RunConfigured, bare_prompt, budget_of, host_of, in_force
from trimtab_trace._types import EVENT_TYPES, EventTypes


class ReplayClock:
    """A clock that is set, event by event."""

    def __init__(self) -> None:
        self.wall = datetime(1970, 1, 1, tzinfo=UTC)
        self.seconds = 0.0
        self.opens_at: float | None = None  # the next reading, which opens a run

    def set(self, wall: datetime, seconds: float | None) -> None:
        """Move to the moment of an event; `seconds` stays where None."""
        self.wall = wall
        if seconds is not None:
            self.seconds = seconds

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        if self.opens_at is not None:
            first, self.opens_at = self.opens_at, None
            return first
        return self.seconds


MakePrompt = Callable[[str, RunConfigured | None], Prompt[Any]]


@attrs.define(eq=False)
class Rebuilder:
    """Feeds the records of a trace to a session."""

    make_prompt: MakePrompt = bare_prompt
    types: EventTypes = EVENT_TYPES
    clock: ReplayClock = attrs.field(factory=ReplayClock)
    unknown: int = 0
    _session: Session | None = None
    _settings: dict[str, RunConfigured] = attrs.field(factory=dict)
    _runs: dict[str, Run] = attrs.field(factory=dict)

    @property
    def session(self) -> Session:
        if self._session is None:
            self._session = Session(clock=self.clock)
        return self._session

    def load(self, event: TraceEvent) -> Any:
        """Return the record of an event, after moving the clock to it."""
        record = self.types.load(event)
        seconds = record.elapsed if isinstance(record, Event) else None
        self.clock.set(event.timestamp, seconds)
        if isinstance(record, UnknownEvent):
            self.unknown += 1
        return record

    def configure(self, event: TraceEvent, settings: RunConfigured) -> None:
        self._settings[event.run_id] = settings
        if self._session is None:
            self._session = Session(clock=self.clock, keep=settings.keep)

    def fold(self, event: TraceEvent, record: Any) -> None:
        if isinstance(record, UnknownEvent):
            return
        if isinstance(record, RunConfigured):
            self.configure(event, record)
        elif isinstance(record, RunOpened):
            self.open(record)
        elif isinstance(record, GuidanceAsked | CompletionAsked):
            self._close_turn(record)
        elif not isinstance(record, Question | PromptRendered):
            self.session.dispatch(record)

    def run_of(self, event: Event) -> Run | None:
        """Return the run that an event belongs to, where its opening is in the trace."""
        return self._runs.get(event.run_id)

    def open(self, record: RunOpened) -> Run:
        parent = self._runs.get(record.forked_from)
        if parent is not None and record.run_id not in self._runs:
            fork = self._runs[record.run_id] = self.session.fork_run(
                parent,
                calls=record.forked_at,
                run_id=record.run_id,
                agent_id=record.agent_id,
            )
            return fork
        settings = self._settings.get(record.run_id)
        state = self.session.runs().get(record.run_id)
        self.clock.opens_at = state.active_seconds if state is not None else 0.0
        run = self._runs[record.run_id] = self.session.open_run(
            self.make_prompt(record.prompt_name, settings),
            record.agent_id,
            record.run_id,
            host=host_of(settings) if settings else LOCAL_HOST,
            budget=budget_of(settings) if settings else None,
        )
        return run

    def _close_turn(self, record: GuidanceAsked | CompletionAsked) -> None:
        """Guidance before the next tools, and a stop, end the open turn."""
        point = getattr(record, "decision_point", None)
        run = self.run_of(record)
        if run is not None and point in (None, DecisionPoint.PRE_TOOL_SELECTION):
            run.guide(DecisionPoint.PRE_TOOL_SELECTION)


def session_of(
    events: Iterable[TraceEvent], *, types: EventTypes = EVENT_TYPES, until: int | None = None
) -> Session:
    """Return the session that a trace describes, without asking its providers.

    Args:
        events: of the trace, in order.
        types: the registry of types.
        until: the last event that counts; None for all.
    """
    rebuilder = Rebuilder(types=types)
    for event in in_force(events, until):
        with misfits_named(event):
            rebuilder.fold(event, rebuilder.load(event))
    return rebuilder.session


@attrs.define
class _Counted:
    """Events that may be read again, with the number of the last that was read."""

    events: Iterable[TraceEvent]
    last: int = -1

    def __iter__(self) -> Iterator[TraceEvent]:
        for event in self.events:
            self.last = max(self.last, event.seq)
            yield event


def session_at(events: Iterable[TraceEvent], seq: int) -> Session:
    """Return the session as it was after one event of a trace.

    Args:
        events: of the trace, in order.
        seq: number of that event.

    Raises:
        TraceError: the trace holds no event of that number.
    """
    counted = _Counted(list(events) if isinstance(events, Iterator) else events)
    session = session_of(counted, until=seq)
    if not 0 <= seq <= counted.last:
        held = f"its events are 0 to {counted.last:,}" if counted.last >= 0 else "it holds none"
        raise TraceError(f"the trace has no event {seq}: {held}")
    return session
