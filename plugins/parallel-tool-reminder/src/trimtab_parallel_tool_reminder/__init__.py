"""Guidance for LLM agents: suggests asking for independent tool calls together."""

from __future__ import annotations

from math import inf
from typing import Literal

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceContext,
    GuidanceInjection,
    RunContext,
    whole_number,
)
from trimtab.text import quote, shorten, text_option
from trimtab.trajectory import Following
from trimtab_parallel_tool_reminder._streak import Streak
from trimtab_signals import ToolProfiles, wants_one_at_a_time

__all__ = ["ParallelToolReminder"]


NAME = "parallel-tool-reminder"
PATIENCE = 4
"""Each further reminder needs a streak so many times as long."""

SHOWN = 3
"""Tools that a text names: the latest, on one line."""
LONGEST_NAME = 40
LONGEST_TEXT = 500
"""As long as a nudge may be, so that no text of a user is cut."""
MESSAGE = (
    "The last {count} turns made one call each ({tools}), and none needed the answer of another."
    " Ask for such calls together in one response."
)
SEED = (
    "Multiple independent operations detected. Consider executing tools in parallel for efficiency."
)
"""The specification's sentence, ``wording = "seed"``."""


@attrs.frozen
class Seen:
    """A streak as it was when it was found long enough: how many turns, and the last tools."""

    count: int
    tools: tuple[str, ...]


@attrs.frozen
class ParallelToolReminder(Following[Streak]):
    """Reminds the agent to ask for independent calls together.

    It counts turns of one call that only reads (or whose tool is declared independent), none of
    which uses an answer of another. It is silent if the host runs one call per turn, and once the
    agent has asked for several calls in one response.

    Args:
        sequential_threshold: so many turns in a row make it speak.
        max_reminders: times it speaks in one run; each further one needs a streak four times as
            long.
        message: what the agent reads, with ``{count}`` and ``{tools}``.
        wording: ``"seed"`` for the specification's sentence, word for word.

    Raises:
        ValueError: an option is out of its bounds.
    """

    sequential_threshold: int = attrs.field(default=3, validator=whole_number(2))
    max_reminders: int = attrs.field(default=2, kw_only=True, validator=whole_number(1))
    message: str = attrs.field(
        default=MESSAGE, kw_only=True, validator=text_option(LONGEST_TEXT, count=0, tools="")
    )
    wording: Literal["", "seed"] = attrs.field(default="", kw_only=True)

    name = NAME
    category = "efficiency"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION,)

    def projection(self, context: RunContext) -> Streak:
        """Return what watches the turns of a run."""
        profiles = ToolProfiles(context.trajectory.tool_profiles)
        return Streak(profiles, self.sequential_threshold)

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Decide whether the streak is long enough."""
        streak = self.followed(context)
        if streak.length < self.sequential_threshold:
            return NOT_RELEVANT
        if streak.batched or streak.alone or context.host.parallel_calls is False:
            return NOT_RELEVANT
        given = context.nudges_of(NAME)
        streak.needed = inf if given >= self.max_reminders else self._needed(given)
        if streak.length < streak.needed:
            return NOT_RELEVANT
        length = streak.independent()
        if length < self._needed(given) or self._one_at_a_time(context):
            return NOT_RELEVANT
        reason = f"{length} independent single-call turns in a row"
        seen = Seen(streak.length, tuple(streak.tools[-SHOWN:]))
        return ClassificationResult(True, 0.8, reason, NAME, found=seen)

    def _one_at_a_time(self, context: GuidanceContext) -> bool:
        """Tell whether the prompt asks for one call at a time."""
        prompt = context.rendered_prompt
        return prompt is not None and wants_one_at_a_time(prompt.text)

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Say what was seen and what could be done."""
        seen: Seen = context.found
        tools = ", ".join(quote(tool, LONGEST_NAME)[1:-1] for tool in seen.tools)
        message = SEED if self.wording == "seed" else self.message
        text = shorten(message.format(count=seen.count, tools=tools), LONGEST_TEXT)
        return GuidanceInjection(NAME, text, priority=200, category=self.category)

    def _needed(self, given: int) -> int:
        return int(self.sequential_threshold * PATIENCE**given)
