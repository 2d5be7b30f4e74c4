"""DiagnosticSignalProvider: points out a failure that keeps coming back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    whole_number,
)
from trimtab.text import level_texts, text_option
from trimtab.trajectory import Following
from trimtab_diagnostic_signal._failures import VARIOUS, Failure, FailureProjection
from trimtab_diagnostic_signal._messages import Rest, seed_text, text_for
from trimtab_signals import helpers_of, untried_tools

if TYPE_CHECKING:
    from trimtab import GuidanceContext, RunContext

_LONGEST_TEXT = 500
"""As long as a nudge may be, so that no text of a user is cut."""
_LONGEST_NAME = 64
"""What the services allow for the name of a tool."""
# Different failures in a row are often honest search; the same one again is not.
_MORE_IF_DIFFERENT = 1
_LONG = 1_000_000
"""Turns since a nudge of a run that had none: more than any run has."""
_LOOPS = "loop"
_TOOL: Any = attrs.validators.optional(text_option(_LONGEST_NAME))


@attrs.frozen(kw_only=True)
class DiagnosticSignalProvider(Following[FailureProjection]):
    """Detects repeated errors and asks the agent to look into them.

    Args:
        error_threshold: turns with the same failure before it speaks; calls of one batch that
            fail alike are one. One more if the failures of consecutive turns differ.
        log_tool_name: the tool to suggest; None, or a tool that the agent is not known to have,
            names none.
        texts: by level (1, 2, 3), instead of the built-in ones; fields ``{seen}`` (the sentence
            on what was seen), ``{stop}`` (the prohibition), ``{look}`` (what to do), ``{call}``
            (the last that failed), ``{times}``, ``{evidence}`` (what it said), ``{untried}``
            (tools of the agent that did not report it, at most two), ``{tools}``, ``{turn}``;
            ``{said}`` is the same as ``{evidence}``.
        wording: ``"seed"`` for the specification's sentences, word for word, at every level.

    Raises:
        ValueError: an option is out of its bounds.
    """

    error_threshold: int = attrs.field(default=3, validator=whole_number(1))
    log_tool_name: str | None = attrs.field(default="view_logs", validator=_TOOL)
    texts: Mapping[int, str] = attrs.field(
        factory=dict,
        validator=level_texts(
            _LONGEST_TEXT,
            times=0,
            turn=0,
            **dict.fromkeys(
                ("seen", "stop", "look", "call", "evidence", "said", "untried", "tools"), ""
            ),
        ),
    )
    wording: Literal["", "seed"] = ""

    name = "diagnostic-signal"
    category = "diagnostic"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION,)

    def projection(self, context: RunContext) -> FailureProjection:  # noqa: ARG002  protocol
        """Return what counts the failures of a run."""
        return FailureProjection()

    def _failure(self, context: GuidanceContext) -> Failure | None:
        followed = self.followed(context)
        failure = followed.failure
        if failure is None or failure.excused():
            return None
        if failure.times >= self.error_threshold:
            return failure
        needed = self.error_threshold + _MORE_IF_DIFFERENT
        if min(followed.in_a_row, self._turns_since_nudge(context)) >= needed:
            return attrs.evolve(failure, name=VARIOUS, times=followed.in_a_row)
        return None

    def _turns_since_nudge(self, context: GuidanceContext) -> int:
        """Return the turns since the last nudge: a failure soon after may follow from it."""
        open_ones = (context.episodes.get(name, ()) for name in (self.category, _LOOPS))
        nudged = [episode.nudged_at for group in open_ones for episode in group]
        return context.turn_count - max(nudged) if nudged else _LONG

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Say whether the last turn brought back a failure often enough."""
        failure = self._failure(context)
        if failure is None:
            return NOT_RELEVANT
        confidence = 0.75 if failure.name == VARIOUS else 0.9
        reason = f"{failure.times} turns failed, {', '.join(failure.tools)}"
        return ClassificationResult(True, confidence, reason, failure.name, found=failure)

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Say how often what failed, quoted, and where to look."""
        failure: Failure = context.found
        return GuidanceInjection(
            key="diagnostic-signal.failure",
            content=self._text(failure, context),
            priority=40,
            category=self.category,
        )

    def _text(self, failure: Failure, context: GuidanceContext) -> str:
        tool = self.log_tool_name
        if self.wording == "seed":
            lacks = context.tools is not None and tool not in context.tools
            return seed_text(failure, None if lacks else tool)
        if context.tools is None or tool not in context.tools:
            tool = None
        untried = untried_tools(context, failure.tools)
        rest = Rest(tool, untried, helpers_of(context), context.turn_count)
        return text_for(failure, context.level_of(failure.name), self.texts, rest)
