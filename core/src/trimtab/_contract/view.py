"""What providers see of a run: its host, and read-only views of its state and its session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from trimtab._contract.hosts import (
    as_delivery,
    as_descriptions,
    as_exceptions,
    as_feedback_delivery,
    as_profiles,
    as_tool_names,
)
from trimtab._events.provenance import DecisionPoint, Delivery
from trimtab._session.recorder import Recorder
from trimtab._types.options import text, yes_or_no

if TYPE_CHECKING:
    from trimtab._contract.tools import BoundPrompt, RenderedPrompt
    from trimtab._events.providers import Feedback
    from trimtab._events.run import ModelResponded, ToolInvoked
    from trimtab._policy.guidance import Episode
    from trimtab._session.record import Record
    from trimtab._session.slices import Slice
    from trimtab._session.state import RunState
    from trimtab._session.trajectory import Trajectory
    from trimtab._types.limits import Budget, Clock, Deadline, Usage
    from trimtab._types.profiles import ToolProfile

T = TypeVar("T")


def _everywhere() -> Mapping[DecisionPoint, Delivery]:
    return dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL)


@attrs.frozen
class Host:
    """A runtime, described.

    Args:
        name: e.g. ``"openai"``.
        delivery: how text is placed, point by point; a missing point is `Delivery.NONE`.
        tools: names of the tools that the agent has; None if unknown.
        parallel_calls: whether one response may hold several calls; None if unknown.
        tool_profiles: what the host knows of its own tools.
        tool_descriptions: what its tools say of themselves, by name, as far as known.
        feedback: how feedback is placed: `Delivery.PERSISTED` behind the result of a call,
            `Delivery.EPHEMERAL` in the next request, `Delivery.NONE` not at all. If None, behind
            results where POST_TOOL_RESULT text can be placed, else in the next request.
        control_flow: exceptions by which the runtime leaves a tool without an end of the call: to
            ask the user, to run it elsewhere, to end the agent.

    Raises:
        TypeError, ValueError: a field has the wrong type; plain strings are accepted for points
            and deliveries.
    """

    name: str = attrs.field(default="local", validator=text(needed=True))
    delivery: Mapping[DecisionPoint, Delivery] = attrs.field(
        factory=_everywhere, converter=as_delivery
    )
    tools: frozenset[str] | None = attrs.field(default=None, converter=as_tool_names)
    parallel_calls: bool | None = attrs.field(default=None, validator=yes_or_no(optional=True))
    tool_profiles: tuple[ToolProfile, ...] = attrs.field(default=(), converter=as_profiles)
    tool_descriptions: Mapping[str, str] = attrs.field(factory=dict, converter=as_descriptions)

    feedback: Delivery | None = attrs.field(default=None, converter=as_feedback_delivery)
    control_flow: tuple[type[BaseException], ...] = attrs.field(default=(), converter=as_exceptions)

    def delivers(self, point: DecisionPoint) -> Delivery:
        """Return how text is placed at `point`."""
        return self.delivery.get(point, Delivery.NONE)

    @property
    def feedback_delivery(self) -> Delivery:
        """How feedback is placed."""
        if self.feedback is not None:
            return self.feedback
        if self.delivers(DecisionPoint.POST_TOOL_RESULT) is not Delivery.NONE:
            return Delivery.PERSISTED
        fixed = self.delivers(DecisionPoint.PRE_TOOL_SELECTION) is Delivery.NONE
        return Delivery.NONE if fixed else Delivery.EPHEMERAL


LOCAL_HOST = Host()


class BoundRun(Recorder):
    """A recorder with the prompt and host of its run: what contexts read.

    Attributes:
        prompt: the prompt that was opened.
        host: the runtime that the agent runs on.
        tools: names of the agent's tools, or None if they are unknown.
        rendered: the prompt as last rendered, or None.
    """

    prompt: BoundPrompt
    host: Host
    tools: frozenset[str] | None
    rendered: RenderedPrompt[Any] | None

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        """What the agent's tools say of themselves, by name, as far as known."""
        raise NotImplementedError


class SessionView:
    """A session, read-only; two views of one session are equal."""

    __slots__ = ("__weakref__", "_session")

    def __init__(self, session: Record) -> None:
        self._session = session

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionView) and other._session is self._session

    def __hash__(self) -> int:
        return id(self._session)

    def __getitem__(self, kind: type[T]) -> Slice[T]:
        """Return the slice of `kind`: ``session[ToolInvoked].latest()``."""
        return self._session[kind]

    @property
    def clock(self) -> Clock:
        """The session's source of time."""
        return self._session.clock


class StateView:
    """The counters of a run, read-only."""

    __slots__ = ("_state",)

    def __init__(self, state: RunState) -> None:
        self._state = state

    @property
    def turns(self) -> int:
        """Turns opened so far."""
        return self._state.turns

    @property
    def turn(self) -> int:
        """Index of the open or last turn; -1 before the first."""
        return self._state.turn

    @property
    def calls(self) -> int:
        """Ended tool calls so far."""
        return self._state.calls

    @property
    def last_call(self) -> ToolInvoked | None:
        """The most recent ended call, or None."""
        return self._state.last_call

    @property
    def last_response(self) -> ModelResponded | None:
        """The most recent response of the model, or None."""
        return self._state.last_response

    @property
    def last_feedback(self) -> Feedback | None:
        """The most recent feedback of any provider, or None."""
        return self._state.last_feedback

    @property
    def usage(self) -> Usage:
        """Tokens and cost so far."""
        return self._state.usage

    @property
    def closed(self) -> bool:
        """Whether the run has ended."""
        return self._state.closed

    @property
    def episodes(self) -> Mapping[str, tuple[Episode, ...]]:
        """Open episodes by category."""
        return self._state.episodes.by_category()

    def level_of(self, episode: str) -> int:
        """Return the level (1, 2 or 3) of the next nudge about `episode`."""
        return self._state.episodes.next_level(episode)

    def nudges_of(self, provider: str) -> int:
        """Return how often a guidance provider has spoken, shadow mode included."""
        return self._state.guidance.nudges_of(provider)

    def turns_since_nudge(self, provider: str) -> int | None:
        """Return how many turns ago a guidance provider spoke last, or None."""
        at = self._state.guidance.nudged_at(provider)
        return None if at is None else self._state.turn - at

    def feedback_of(self, provider: str) -> Feedback | None:
        """Return the last feedback of one provider, or None."""
        return self._state.feedback_of(provider)


class RunView:
    """A run, read-only: nothing here records, closes or changes a limit.

    Attributes:
        session: its session.
        state: its counters.
        trajectory: its tool calls, as projections follow them.
    """

    __slots__ = ("_run", "session", "state", "trajectory")

    _run: BoundRun
    state: StateView
    session: SessionView
    trajectory: Trajectory

    def __init__(self, run: BoundRun) -> None:
        known = (run, StateView(run.state), SessionView(run.session), run.state.trajectory)
        for name, value in zip(("_run", "state", "session", "trajectory"), known, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: what one provider assigned, others would read.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"a RunView is read-only: {name} can't be assigned")

    @property
    def run_id(self) -> str:
        """The run's identifier."""
        return self._run.state.run_id

    @property
    def agent_id(self) -> str | None:
        """The subagent that the run belongs to; None for the main agent."""
        return self._run.state.agent_id

    @property
    def prompt(self) -> BoundPrompt:
        """The prompt of the run."""
        return self._run.prompt

    @property
    def host(self) -> Host:
        """The runtime that the agent runs on."""
        return self._run.host

    @property
    def tools(self) -> frozenset[str] | None:
        """Names of the agent's tools, or None if they are unknown."""
        return self._run.tools

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        """What the agent's tools say of themselves, by name, as far as known."""
        return self._run.tool_descriptions

    @property
    def rendered(self) -> RenderedPrompt[Any] | None:
        """The prompt as last rendered, or None."""
        return self._run.rendered

    @property
    def deadline(self) -> Deadline | None:
        """The run's time limit, or None."""
        return self._run.deadline

    @property
    def budget(self) -> Budget | None:
        """The run's limits in tokens, cost and active time, or None."""
        return self._run.budget

    @property
    def usage(self) -> Usage:
        """Tokens and cost so far."""
        return self._run.state.usage

    @property
    def active_seconds(self) -> float:
        """Monotonic seconds since the run was opened."""
        return self._run.active_seconds

    def recent_tool_calls(self, n: int) -> Sequence[ToolInvoked]:
        """Return the last `n` ended calls of the run, oldest first."""
        return self._run.recent_tool_calls(n)
