"""DoomLoopDetector: tells an agent that it repeats itself without progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    number,
    whole_number,
)
from trimtab.text import level_texts
from trimtab.trajectory import Following
from trimtab_doom_loop._loop import Loop
from trimtab_doom_loop._messages import SEED, seen, text_for
from trimtab_doom_loop._projection import LoopProjection
from trimtab_doom_loop._search import Limits
from trimtab_signals import ToolProfiles, helpers_of, untried_tools

if TYPE_CHECKING:
    from trimtab import GuidanceContext, RunContext

_LONGEST_TEXT = 500
"""As long as a nudge may be."""


@attrs.frozen(kw_only=True)
class DoomLoopDetector(Following[LoopProjection]):
    """Detects circular patterns that show a stuck agent.

    Args:
        similarity_threshold: share (0.0–1.0) from which arguments are near-equal. Only when the
            answer brings nothing new do they count as repeats, and then later than equal ones;
            below 0.85 as early as arguments that differ by a number; at 1.0 never.
        window_size: longest sequence looked for, in actions; a batch is one action.
        max_repetitions: how many times a sequence must occur.
        texts: by level (1, 2, 3), instead of the built-in ones; fields ``{seen}`` (the sentence
            on what was seen), ``{stop}`` (the prohibition), ``{next}`` (what to do), ``{call}``,
            ``{times}``, ``{evidence}`` (the answer), ``{untried}`` (tools of the agent that are
            not in the loop, at most two), ``{tool}``, ``{length}``, ``{turn}``.
        wording: ``"seed"`` for the specification's sentence, word for word, at every level.

    Raises:
        ValueError: an option is out of its bounds.
    """

    similarity_threshold: float = attrs.field(default=0.85, validator=number(0.0, 1.0))
    window_size: int = attrs.field(default=5, validator=[whole_number(1), attrs.validators.le(32)])
    max_repetitions: int = attrs.field(
        default=3, validator=[whole_number(2), attrs.validators.le(32)]
    )
    texts: Mapping[int, str] = attrs.field(
        factory=dict,
        validator=level_texts(
            _LONGEST_TEXT,
            **dict.fromkeys(("seen", "stop", "next", "call", "evidence", "untried", "tool"), ""),
            times=0,
            length=0,
            turn=0,
        ),
    )
    wording: Literal["", "seed"] = ""

    name = "doom-loop"
    category = "loop"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION, DecisionPoint.PRE_RESPONSE)

    def projection(self, context: RunContext) -> LoopProjection:
        """Return what finds the loops of a run."""
        limits = Limits(self.similarity_threshold, self.window_size, self.max_repetitions)
        return LoopProjection(limits, ToolProfiles(context.trajectory.tool_profiles))

    def _loop(self, context: GuidanceContext) -> Loop | None:
        followed = self.followed(context)
        if context.decision_point is DecisionPoint.PRE_RESPONSE:
            return followed.chant
        return followed.loop or followed.chant

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Say whether the last action, or the last response, belongs to a loop."""
        loop = self._loop(context)
        if loop is None:
            return NOT_RELEVANT
        return ClassificationResult(True, loop.confidence, seen(loop), loop.episode, found=loop)

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Say what was seen: firmer each time, and finally suggest to consult someone."""
        loop: Loop = context.found
        return GuidanceInjection(
            key=f"doom-loop.{loop.kind.value.replace('_', '-')}",
            content=SEED if self.wording == "seed" else self._text(loop, context),
            priority=30,
            category=self.category,
        )

    def _text(self, loop: Loop, context: GuidanceContext) -> str:
        untried = untried_tools(context, loop.tools)
        level, turn = context.level_of(loop.episode), context.turn_count
        helpers = helpers_of(context)
        return text_for(loop, level, self.texts, untried=untried, helpers=helpers, turn=turn)
