"""The records of guidance (seed 000)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import attrs

from trimtab.plugins.source import Source
from trimtab.runtime.host import DecisionPoint, Delivery
from trimtab.session.context import RunContext
from trimtab.session.events import Event, ModelResponded, ToolCall, ToolInvoked
from trimtab.text import CONTROL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trimtab.guidance.episodes import Episode
    from trimtab.prompt.rendering import RenderedPrompt

KEY = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MAX_CONTENT = 500


def _key(_: object, attribute: attrs.Attribute[str], value: str) -> None:
    if not KEY.fullmatch(value):
        raise ValueError(f"{attribute.name} {value!r} does not match {KEY.pattern}")


def _content(_: object, attribute: attrs.Attribute[str], value: Any) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_CONTENT:
        raise ValueError(f"{attribute.name} must be text of 1 to {MAX_CONTENT} characters")
    if CONTROL.search(value):
        raise ValueError(f"{attribute.name} holds control characters; escape them first")


def _share(_: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{attribute.name} must lie between 0.0 and 1.0, not {value}")


@attrs.frozen
class GuidanceInjection:
    """One piece of guidance.

    Args:
        key: identifier, ``^[a-z0-9][a-z0-9._-]{0,63}$``.
        content: what the agent reads, 1–500 characters, no control characters.
        priority: lower speaks first.
        category: grouping, e.g. ``"diagnostic"``; one injection per category and decision.
        source: the provider's name; core fills it in.

    Raises:
        ValueError: a field is out of its bounds.
    """

    key: str = attrs.field(validator=_key)
    content: str = attrs.field(validator=_content)
    priority: int = 100
    category: str = ""
    source: str = ""


@attrs.frozen
class ClassificationResult:
    """Whether guidance applies.

    Args:
        relevant: whether to inject.
        confidence: 0.0–1.0.
        reason: why, in a few words; goes to the record, not to the agent.
        episode: names the one trouble that is meant, e.g. the fingerprint of a loop, so that
            core can tell a second trouble from the first; the injection's key where None.
    """

    relevant: bool
    confidence: float = attrs.field(default=1.0, validator=_share)
    reason: str | None = None
    episode: str | None = None


NOT_RELEVANT = ClassificationResult(relevant=False, confidence=0.0)
CERTAIN = ClassificationResult(relevant=True)


@attrs.frozen
class Proposal:
    """What a guidance hook returns: the text and why."""

    injection: GuidanceInjection
    classification: ClassificationResult = CERTAIN


@attrs.frozen(kw_only=True, eq=False, repr=False)
class GuidanceContext(RunContext):
    """What a guidance provider may look at; frozen, and cheap to make.

    Attributes:
        decision_point: where in the agent's cycle.
        pending_tool_calls: calls about to execute (PRE_TOOL_EXECUTION), else empty.
        last_response: most recent response of the model, None before the first.
        last_call: most recent ended tool call, None before the first.
        classification: what `classify` found; None while it is being asked.
    """

    decision_point: DecisionPoint
    pending_tool_calls: tuple[ToolCall, ...] = ()
    classification: ClassificationResult | None = None

    @property
    def rendered_prompt(self) -> RenderedPrompt[Any] | None:
        """The prompt as last rendered, None before the first time."""
        return self.run.rendered

    @property
    def last_response(self) -> ModelResponded | None:
        return self.run.state.last_response

    @property
    def last_call(self) -> ToolInvoked | None:
        return self.run.state.last_call

    @property
    def turn_count(self) -> int:
        """Turns of this run so far."""
        return self.run.state.turns

    @property
    def episodes(self) -> Mapping[str, tuple[Episode, ...]]:
        """Open troubles by category, whichever provider speaks about them."""
        return self.run.state.episodes.by_category()

    def level_of(self, episode: str) -> int:
        """Return the level (1, 2 or 3) at which the next nudge about `episode` would speak."""
        return self.run.state.episodes.next_level(episode)

    def nudges_of(self, provider: str) -> int:
        """Return how often a guidance provider has spoken in this run, shadow mode included."""
        return self.run.state.guidance.nudges_of(provider)


@runtime_checkable
class GuidanceProvider(Protocol):
    """Speaks at decision points (seed 000).

    An attribute ``decision_points`` (a tuple of `DecisionPoint`) limits where it is asked;
    without it, it is asked at all five.
    """

    @property
    def name(self) -> str:
        """Unique identifier."""
        ...

    @property
    def category(self) -> str:
        """Guidance category, e.g. ``"diagnostic"``."""
        ...

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Say whether guidance applies: microseconds, no I/O."""
        ...

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Make the text; called only when the classification passed the threshold."""
        ...


@attrs.frozen(kw_only=True, eq=False, repr=False)
class GuidanceDelivered(Event):
    """Guidance was handed to the host (seed 000, with delivery and source)."""

    provider_name: str
    injection: GuidanceInjection
    decision_point: DecisionPoint
    classification: ClassificationResult
    delivery: Delivery
    source: Source
    turn: int
    call_index: int
    level: int
    episode: str

    @property
    def timestamp(self) -> Any:
        """When it was delivered (the seed's name for `at`)."""
        return self.at


@attrs.frozen(kw_only=True, eq=False, repr=False)
class GuidanceSuppressed(Event):
    """Guidance was proposed and held back by policy; `reason` says which rule."""

    provider_name: str
    decision_point: DecisionPoint
    classification: ClassificationResult
    source: Source
    turn: int
    call_index: int
    episode: str
    reason: str
