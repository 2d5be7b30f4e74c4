"""State of one run, updated by each event in constant time, and how its providers follow it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from trimtab._events import (
    CompactionHappened,
    Event,
    ModelResponded,
    RunClosed,
    ToolCall,
    ToolInvoked,
    ToolStarted,
    UserMessage,
)
from trimtab._events.guidance import (
    CompletionChecked,
    Feedback,
    FeedbackSuppressed,
    GuidanceDelivered,
    GuidanceSuppressed,
    ProviderFaulted,
    ProviderQuarantined,
    StopRequested,
)
from trimtab._policy.feedback import FeedbackState, GateState, Mark
from trimtab._policy.guidance import GuidanceState
from trimtab._session.feeds import Feeds
from trimtab._session.projection import BaseProjection
from trimtab._types.limits import Usage

if TYPE_CHECKING:
    from trimtab._policy.guidance import EpisodeBook
    from trimtab._types.resources import ToolProfile

P = TypeVar("P", bound=BaseProjection)


class Trajectory:
    """The tool calls of one run, as projections follow them.

    The harness's own calls are left out everywhere.

    Args:
        feeds: takes the run's events in.
    """

    __slots__ = ("_feeds",)

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds

    @property
    def tool_profiles(self) -> tuple[ToolProfile, ...]:
        """What prompt and host declare about the tools, in order of precedence."""
        return self._feeds.profiles

    @property
    def calls(self) -> int:
        """Ended tool calls."""
        return self._feeds.calls

    @property
    def turns(self) -> int:
        """Closed turns with calls."""
        return self._feeds.turns

    def attach(self, name: str, projection: BaseProjection) -> BaseProjection:
        """Feed a projection from now on, and return what is fed under `name`.

        A provider calls it in its hook ``run_opened``, marked with `trimtab.hookimpl`:
        ``context.trajectory.attach(self.name, MyProjection())``. In a restored session the
        projection first gets its saved state; if it has none, or joins a run late, it is rebuilt
        from the record of the run. A name that is taken keeps what it has.

        Args:
            name: the provider's name.
            projection: what is fed.

        Raises:
            TypeError: it would not be fed: it is no projection, or its methods are misspelt, async
                or none of those that take what happens.
        """
        return self._feeds.attach(name, projection)

    def projection(self, name: str) -> BaseProjection | None:
        """Return what is fed under `name`, up to date, or None.

        What the projection raises passes through: in a provider's call, it counts as the
        provider's failure.

        Args:
            name: the provider's name.
        """
        feed = self._feeds.feeds.get(name)
        if feed is None:
            return None
        feed.catch_up()
        return feed.projection

    def follow(self, kind: type[P]) -> P:
        """Return the projection of a class that the providers of a run share, up to date.

        It is made with `BaseProjection.of_run` when it is first needed or asked for, and saved
        with the session like all others. What it raises passes through.

        Args:
            kind: its class.
        """
        return self._feeds.follow(kind)  # type: ignore[return-value]


History = Callable[[str], Iterable[Event]]
RECENT_CALLS = 64
"""Those that a provider gets without a search through the calls of all runs."""


@attrs.frozen
class Origin:
    """Where a forked run branched off."""

    run_id: str
    calls: int
    events: int


@attrs.define(eq=False, repr=False)
class RunFacts:
    """What a snapshot keeps of a run, beside its open calls and its projections.

    Attributes:
        turns: turns opened so far; the open or last one has the index ``turns - 1``.
        requested_at: turns when the user last spoke.
        faults: failures of each provider in a row, by hook.
    """

    run_id: str
    prompt_name: str
    agent_id: str | None = None
    turns: int = 0
    requested_at: int = 0
    open_turn: int | None = None
    calls: int = 0
    last_response: ModelResponded | None = None
    usage: Usage = Usage()
    closed: bool = False
    origin: Origin | None = None
    active_seconds: float = 0.0
    guidance: GuidanceState = attrs.field(factory=GuidanceState)
    feedback: FeedbackState = attrs.field(factory=FeedbackState)
    gate: GateState = attrs.field(factory=GateState)
    faults: dict[str, dict[str, int]] = attrs.field(factory=dict)
    quarantined: set[str] = attrs.field(factory=set)


class RunState(RunFacts):
    """Everything that the decisions of one run depend on.

    Attributes:
        running: calls that have started and not ended, by id; those that share one as they started.
    """

    def __init__(
        self,
        run_id: str,
        prompt_name: str,
        agent_id: str | None = None,
        *,
        lock: AbstractContextManager[Any] | None = None,
        history: History | None = None,
    ) -> None:
        super().__init__(run_id, prompt_name, agent_id)
        self.running: dict[str, list[ToolStarted]] = {}
        self.recent: deque[ToolInvoked] = deque(maxlen=RECENT_CALLS)
        self.feeds = Feeds(lock=lock, history=None if history is None else partial(history, run_id))
        self.trajectory = Trajectory(self.feeds)

    @property
    def last_call(self) -> ToolInvoked | None:
        return self.recent[-1] if self.recent else None

    @property
    def episodes(self) -> EpisodeBook:
        return self.guidance.episodes

    @property
    def turn(self) -> int:
        return self.turns - 1

    def answered(self, provider: str, hook: str) -> None:
        """Note that a hook of a provider has answered: its faults in a row are over.

        Those of its other hooks are not. Else a provider whose `provide` always fails would begin
        anew with each `classify`.
        """
        hooks = self.faults.get(provider)
        if hooks is not None:
            hooks.pop(hook, None)
            if not hooks:
                self.faults.pop(provider, None)

    def asked_for(self, call_id: str) -> ToolCall | None:
        calls = self.last_response.tool_calls if self.last_response else ()
        return next((call for call in calls if call.call_id == call_id), None)

    def apply(self, event: Event) -> None:
        elapsed = event.elapsed
        if elapsed is not None and elapsed > self.active_seconds:
            self.active_seconds = elapsed
        handler = HANDLERS.get(event.__class__)
        if handler is not None:
            handler(self, event)

    def close_turn(self) -> None:
        if self.open_turn is not None:
            self.open_turn = None
            self.feeds.close_turn()

    def next_turn(self) -> int:
        return self.turns if self.open_turn is None else self.open_turn

    def _enter(self, turn: int | None) -> None:
        if turn is not None and turn == self.open_turn:
            return
        self.close_turn()
        self.open_turn = self.turns if turn is None else max(turn, self.turns)
        self.turns = self.open_turn + 1

    def _responded(self, event: ModelResponded) -> None:
        turn, turns = event.turn, self.turns
        self.open_turn = turn = turns if turn is None or turn < turns else turn
        self.turns = turn + 1
        self.last_response = event
        if event.usage is not None:
            self.usage = self.usage + event.usage
        self.feeds.responded(event)

    def _called(self, event: ToolStarted) -> None:
        if event.turn is None or event.turn != self.open_turn:
            self._enter(event.turn)
        self.running.setdefault(event.call_id, []).append(event)

    def _returned(self, event: ToolInvoked) -> None:
        turn = event.turn
        if turn is None or turn >= self.turns:
            self._enter(turn)
        running = self.running.get(event.call_id)
        if running is not None:
            del running[0]
            if not running:
                del self.running[event.call_id]
        self.calls += 1
        self.recent.append(event)
        if event.tool in self.feedback.watched:
            self.feedback.used[event.tool] = Mark(self.calls, self.active_seconds)
        self.feeds.ended(event)
        if turn is None:
            self.close_turn()

    def _said(self, event: UserMessage) -> None:
        self.close_turn()
        if not event.notification:
            self.episodes.open.clear()
            self.gate.user_spoke()
            self.requested_at = self.turns
            self.guidance.stop = None
        self.feeds.user_spoke(event)

    def _compacted(self, event: CompactionHappened) -> None:
        self.guidance.persisted.clear()
        self.feeds.compacted(event)

    def _faulted(self, event: ProviderFaulted) -> None:
        hooks = self.faults.setdefault(event.source.key, {})
        hooks[event.hook] = hooks.get(event.hook, 0) + 1

    def _ended(self, _: RunClosed) -> None:
        self.close_turn()
        self.closed = True


Handler = Callable[[RunState, Any], None]


HANDLERS: dict[type[Event], Handler] = {
    UserMessage: RunState._said,
    CompactionHappened: RunState._compacted,
    ModelResponded: RunState._responded,
    ToolStarted: RunState._called,
    ToolInvoked: RunState._returned,
    Feedback: lambda state, event: state.feedback.delivered(event),
    FeedbackSuppressed: lambda state, event: state.feedback.delivered(event.feedback),
    GuidanceDelivered: lambda state, event: state.guidance.delivered(event),
    GuidanceSuppressed: lambda state, event: state.guidance.suppressed(event),
    StopRequested: lambda state, event: state.guidance.stop_requested(event),
    CompletionChecked: lambda state, event: state.gate.checked(event),
    ProviderFaulted: RunState._faulted,
    ProviderQuarantined: lambda state, event: state.quarantined.add(event.source.key),
    RunClosed: RunState._ended,
}
"""What folds the events of each class in; the state does not depend on others. A run is made again
from its record in this order where the clock stood still."""
