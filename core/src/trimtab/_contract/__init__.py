"""Contexts: what providers see of a run, read-only."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import attrs

from trimtab._events import DecisionPoint, ModelResponded, ToolCall, ToolInvoked
from trimtab._policy.guidance import SILENT, Episode
from trimtab._session.recorder import Recorder
from trimtab._types.resources import Filesystem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from trimtab._contract.hosts import Host
    from trimtab._contract.tools import BoundPrompt, RenderedPrompt
    from trimtab._events.guidance import ClassificationResult, Feedback
    from trimtab._policy import ProviderConfig
    from trimtab._session import Slice
    from trimtab._session.record import Record
    from trimtab._session.state import Trajectory
    from trimtab._types.limits import Budget, Clock, Deadline, Usage
    from trimtab._types.resources import Resources, ToolProfile

T = TypeVar("T")


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


class BoundRun(Recorder):
    """A recorder with the prompt and host of its run: what contexts read."""

    prompt: BoundPrompt
    host: Host
    tools: frozenset[str] | None
    rendered: RenderedPrompt[Any] | None

    @cached_property
    def session_view(self) -> SessionView:
        return SessionView(self.session)

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        raise NotImplementedError


@attrs.frozen(eq=False, repr=False)
class RunContext:
    """What ``run_opened`` and ``run_closed`` get, and the base of all other contexts.

    A read-only view of the run: nothing that is reachable from a context records events, closes
    the run or changes a limit.

    Args:
        run: the run that asks.
    """

    _run: BoundRun = attrs.field(alias="run")

    @property
    def run_id(self) -> str:
        """The run's identifier."""
        return self._run.state.run_id

    @property
    def agent_id(self) -> str | None:
        """The subagent that the run belongs to; None for the main agent."""
        return self._run.state.agent_id

    @property
    def session(self) -> SessionView:
        """The session with the full history; read-only."""
        return self._run.session_view

    @property
    def prompt(self) -> BoundPrompt:
        """The prompt of the run, with its name and resources."""
        return self._run.prompt

    @property
    def trajectory(self) -> Trajectory:
        """The calls of this run; projections are attached here."""
        return self._run.state.trajectory

    @property
    def host(self) -> Host:
        """The runtime that the agent runs on."""
        return self._run.host

    @property
    def tools(self) -> frozenset[str] | None:
        """Names of the agent's tools, or None if they are unknown; then name none as present."""
        return self._run.tools

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        """What the agent's tools say of themselves, by name, as far as known."""
        return self._run.tool_descriptions

    @property
    def deadline(self) -> Deadline | None:
        """The run's time limit, or None."""
        return self._run.deadline

    @property
    def budget(self) -> Budget | None:
        """The run's limits, or None."""
        return self._run.budget

    @property
    def turns_left(self) -> int | None:
        """Responses until the nearer limit, of the budget or of the host; None without limit."""
        budget, most, left = self.budget, self.host.max_turns, []
        if budget is not None and budget.max_turns is not None:
            left.append(budget.max_turns - self.turn_count)
        if most is not None:
            left.append(most - self.turns_of_request)
        return max(0, min(left)) if left else None

    @property
    def usage(self) -> Usage:
        """Tokens and cost of all responses so far."""
        return self._run.state.usage

    @property
    def active_seconds(self) -> float:
        """Monotonic seconds since the run was opened."""
        return self._run.active_seconds

    @property
    def resources(self) -> Resources:
        """Resources bound to the prompt."""
        return self._run.prompt.resources

    @property
    def filesystem(self) -> Filesystem | None:
        """The filesystem resource, or None if none is bound."""
        return self.resources.get_optional(Filesystem)

    @property
    def turn_count(self) -> int:
        """Turns of this run so far."""
        return self._run.state.turns

    @property
    def turns_of_request(self) -> int:
        """Turns since the user last spoke."""
        return self._run.state.turns - self._run.state.requested_at

    @property
    def tool_call_count(self) -> int:
        """Ended tool calls of this run, the one just made included."""
        return self._run.state.calls

    @property
    def last_call(self) -> ToolInvoked | None:
        """The most recent ended tool call, or None."""
        return self._run.state.last_call

    @property
    def last_response(self) -> ModelResponded | None:
        """The most recent response of the model, or None."""
        return self._run.state.last_response

    def recent_tool_calls(self, n: int) -> Sequence[ToolInvoked]:
        """Return the last `n` ended calls of this run, oldest first.

        They are the record's own: don't change their arguments or results in place.
        """
        return self._run.recent_tool_calls(n)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class GuidanceContext(RunContext):
    """What a guidance provider may look at; frozen, and cheap to make.

    Attributes:
        decision_point: where in the agent's cycle.
        pending_tool_calls: calls about to execute (PRE_TOOL_EXECUTION), else empty.
        classification: what `classify` found; None while it is being asked.
    """

    decision_point: DecisionPoint
    pending_tool_calls: tuple[ToolCall, ...] = ()
    classification: ClassificationResult | None = None

    @property
    def found(self) -> Any:
        """What `classify` handed to `provide` as ``ClassificationResult(found=…)``, or None."""
        return None if self.classification is None else self.classification.found

    @property
    def rendered_prompt(self) -> RenderedPrompt[Any] | None:
        """The prompt as last rendered, or None."""
        return self._run.rendered

    @property
    def episodes(self) -> Mapping[str, tuple[Episode, ...]]:
        """Open episodes by category, of all providers."""
        return self._run.state.episodes.by_category()

    def level_of(self, episode: str) -> int:
        """Return the level (1, 2 or 3) at which the next nudge about `episode` would speak."""
        return self._run.state.episodes.next_level(episode)

    def nudges_of(self, provider: str) -> int:
        """Return how often a guidance provider has spoken in this run, shadow mode included.

        Args:
            provider: its name.
        """
        return self._run.state.guidance.spoken.get(provider, SILENT).total

    def turns_since_nudge(self, provider: str) -> int | None:
        """Return how many turns ago a guidance provider spoke last, shadow mode included.

        Args:
            provider: its name.

        Returns:
            0 in the turn in which it spoke; None if it has not spoken in this run.
        """
        spoken = self._run.state.guidance.spoken.get(provider)
        return None if spoken is None else self._run.state.turn - spoken.turn


@attrs.frozen(eq=False, repr=False)
class FeedbackContext(RunContext):
    """What a feedback provider may look at."""

    @property
    def last_feedback(self) -> Feedback | None:
        """Most recent feedback of this run, from any provider."""
        return self._run.state.feedback.last

    def last_feedback_for_provider(self, name: str) -> Feedback | None:
        """Return the most recent feedback of one provider in this run.

        Args:
            name: the provider's.
        """
        return self._run.state.feedback.by_provider.get(name)

    def tool_calls_since_last_feedback(self) -> int:
        """Return the calls since the last feedback of any provider in this run."""
        last = self.last_feedback
        return self.tool_call_count - (last.call_index + 1 if last else 0)

    def tool_calls_since_last_feedback_for_provider(self, name: str) -> int:
        """Return the calls since the last feedback of one provider in this run.

        Args:
            name: the provider's.
        """
        last = self.last_feedback_for_provider(name)
        return self.tool_call_count - (last.call_index + 1 if last else 0)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TaskCompletionContext(RunContext):
    """What a checker may look at.

    Attributes:
        tentative_output: what the agent wants to end with, if anything.
        stop_reason: why it stops, in the host's words.
        attempt: how often this run was checked before, from 0.
        final: whether this is the verification after the end, when nothing can be sent back.
    """

    tentative_output: Any = None
    stop_reason: str | None = None
    attempt: int = 0
    final: bool = False


@attrs.frozen(eq=False, repr=False)
class RecorderContext(RunContext):
    """What a recorder sees of the run that it is opened for.

    Attributes:
        tool_profiles: how tools behave, the prompt's profiles before the host's.
        keep: tool results that the session keeps whole; None for all.
        providers: the settings of all providers of the prompt, recorders included.
        guidance_limit: injections per decision, over all providers.
        feedback_delivery: whether the first feedback provider that speaks is delivered, or all.
        state_folder: where files of this prompt's recorders belong; it may not exist yet:
            ``TRIMTAB_HOME``, else ``.trimtab`` beside the configuration, else the user's state
            folder. None for providers that were not resolved for a prompt.
    """

    tool_profiles: tuple[ToolProfile, ...]
    keep: int | None
    providers: tuple[ProviderConfig, ...]
    guidance_limit: int
    feedback_delivery: Literal["first", "all"]
    state_folder: Path | None
