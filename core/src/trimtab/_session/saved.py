"""What a snapshot keeps of a run, as records of plain types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from trimtab._events.guidance import StopRequested
from trimtab._events.providers import Feedback
from trimtab._events.run import ModelResponded, ToolStarted
from trimtab._policy.completion import GateState
from trimtab._policy.feedback import FeedbackState, Mark
from trimtab._policy.guidance import Episode, EpisodeBook, GuidanceState, Spoken
from trimtab._session.feeds import SavedFeeds
from trimtab._session.state import Origin, RunState
from trimtab._types.limits import Usage

if TYPE_CHECKING:
    from trimtab._session.lock import SessionLock
    from trimtab._session.state import History


@attrs.frozen
class SavedGuidance:
    """A `GuidanceState`; its attributes by their names, the open episodes as a list."""

    episodes: tuple[Episode, ...]
    spoken: dict[str, Spoken]
    persisted: frozenset[str]
    withheld: dict[str, str]
    stop: StopRequested | None = None

    @classmethod
    def of(cls, state: GuidanceState) -> SavedGuidance:
        """Return what is to be kept of `state`, copied."""
        return cls(
            state.episodes.all(),
            dict(state.spoken),
            frozenset(state.persisted),
            dict(state.withheld),
            state.stop,
        )

    def restored(self) -> GuidanceState:
        """Return the state."""
        state = GuidanceState()
        state.episodes = EpisodeBook(self.episodes)
        state.spoken = dict(self.spoken)
        state.persisted = set(self.persisted)
        state.withheld = dict(self.withheld)
        state.stop = self.stop
        return state


@attrs.frozen
class SavedFeedback:
    """A `FeedbackState`; what is reserved for a moment is not kept."""

    last: Feedback | None
    by_provider: tuple[Feedback, ...]
    times: dict[str, int]
    used: dict[str, Mark]
    created: frozenset[str]

    @classmethod
    def of(cls, state: FeedbackState) -> SavedFeedback:
        """Return what is to be kept of `state`, copied."""
        return cls(
            state.last,
            tuple(state._by_provider.values()),
            dict(state._times),
            dict(state._used),
            frozenset(state.created),
        )

    def restored(self) -> FeedbackState:
        """Return the state."""
        state = FeedbackState()
        state.last = self.last
        state._by_provider = {event.provider_name: event for event in self.by_provider}
        state._times = dict(self.times)
        state._used = dict(self.used)
        state.created = set(self.created)
        return state


@attrs.frozen(kw_only=True)
class SavedRun:
    """A `RunState`; its attributes by their names, the running calls as a list."""

    run_id: str
    prompt_name: str
    agent_id: str | None
    turns: int
    open_turn: int | None
    calls: int
    running: tuple[ToolStarted, ...]
    last_response: ModelResponded | None
    usage: Usage
    closed: bool
    origin: Origin | None
    active_seconds: float
    feeds: SavedFeeds
    guidance: SavedGuidance
    feedback: SavedFeedback
    gate: GateState
    faults: dict[str, dict[str, int]]
    quarantined: frozenset[str]
    requested_at: int = 0

    @classmethod
    def of(cls, state: RunState) -> SavedRun:
        """Return what is to be kept of `state`, copied; call it while holding the lock."""
        return cls(
            run_id=state.run_id,
            prompt_name=state.prompt_name,
            agent_id=state.agent_id,
            turns=state.turns,
            open_turn=state.open_turn,
            calls=state.calls,
            running=tuple(event for events in state.running.values() for event in events),
            last_response=state.last_response,
            usage=state.usage,
            closed=state.closed,
            origin=state.origin,
            active_seconds=state.active_seconds,
            feeds=state.feeds.saved(),
            guidance=SavedGuidance.of(state.guidance),
            feedback=SavedFeedback.of(state.feedback),
            gate=attrs.evolve(state.gate),
            faults={provider: dict(hooks) for provider, hooks in state.faults.items()},
            quarantined=frozenset(state.quarantined),
            requested_at=state.requested_at,
        )

    def restored(
        self, *, lock: SessionLock | None = None, history: History | None = None
    ) -> RunState:
        """Return the state, for a session with that lock and history."""
        state = RunState(self.run_id, self.prompt_name, self.agent_id, lock=lock, history=history)
        state.turns, state.open_turn, state.calls = self.turns, self.open_turn, self.calls
        for event in self.running:
            state.running.setdefault(event.call_id, []).append(event)
        state.last_response = self.last_response
        state.usage = self.usage
        state.closed = self.closed
        state.origin = self.origin
        state.active_seconds = self.active_seconds
        state.feeds.restore(self.feeds)
        state.guidance = self.guidance.restored()
        state.feedback = self.feedback.restored()
        state.gate = attrs.evolve(self.gate)
        state.faults = {provider: dict(hooks) for provider, hooks in self.faults.items()}
        state.quarantined = set(self.quarantined)
        state.requested_at = self.requested_at
        return state
