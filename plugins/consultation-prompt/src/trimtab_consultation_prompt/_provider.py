"""The provider: suggests to consult another agent when attempts keep failing."""

from __future__ import annotations

from typing import Literal

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    Episode,
    GuidanceContext,
    GuidanceInjection,
    RunContext,
    whole_number,
)
from trimtab.text import quote, shorten, text_option
from trimtab.trajectory import Following
from trimtab_consultation_prompt._attempts import Attempts, is_tool

NAME = "consultation-prompt"
PAUSE = 5
"""Turns of silence after a consultation, and after a round of its own."""

REPEATS = 2
"""Repeated attempts count half: so many times the threshold of failures is enough too."""

NUDGES = 2
"""So many nudges about a loop that goes on lead to a consultation."""

LONGEST_TEXT = 500
"""As long as a nudge may be, so that no text of a user is cut."""
LONGEST_NAME = 64
"""What the services allow for the name of a tool."""
MESSAGE = (
    "{seen} Do not try a further variation now: {ask} Say what you tried, and what each attempt"
    " showed."
)
SEED = (
    "Multiple attempts unsuccessful. Consider using {tool} to get fresh perspective from"
    " specialized agent."
)
"""The specification's sentence, ``wording = "seed"``."""

_LONGEST_QUOTE = 80
"""A quote shows which answer is meant; the agent has the whole of it."""


_COUNT = whole_number(1)


@attrs.frozen
class Found:
    """The reason for a consultation in words, what failed last, and how many attempts failed."""

    seen: str
    output: str
    count: int


@attrs.frozen
class ConsultationPromptProvider(Following[Attempts]):
    """Suggests to consult another agent when local attempts fail.

    It speaks when `failure_threshold` different attempts have failed, or twice as many of which
    some are the same, or when a loop goes on after two nudges in the category `loop_category`. It
    never names a tool that the agent is known not to have, and is silent for five turns
    after the agent has consulted someone, and after a round of its own.

    Args:
        failure_threshold: failed attempts before suggesting; each further round needs as many
            again.
        consultation_tool: the tool to suggest.
        max_rounds: times it speaks in one run.
        loop_category: category of the guidance about loops.
        message: what the agent reads, with ``{seen}``, ``{ask}`` (the sentence on whom to ask),
            ``{tool}``, ``{count}`` and ``{evidence}`` (what failed last).
        wording: ``"seed"`` for the specification's sentence, word for word.

    Raises:
        ValueError: an option is out of its bounds.
    """

    failure_threshold: int = attrs.field(default=5, validator=_COUNT)
    consultation_tool: str = attrs.field(
        default="request_review",
        validator=text_option(LONGEST_NAME),
    )
    max_rounds: int = attrs.field(default=2, kw_only=True, validator=_COUNT)
    loop_category: str = attrs.field(
        default="loop", kw_only=True, validator=text_option(LONGEST_NAME)
    )
    message: str = attrs.field(
        default=MESSAGE,
        kw_only=True,
        validator=text_option(LONGEST_TEXT, tool="", seen="", count=0, ask="", evidence=""),
    )
    wording: Literal["", "seed"] = attrs.field(default="", kw_only=True)

    name = NAME
    category = "consultation"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION,)

    def projection(self, context: RunContext) -> Attempts:  # noqa: ARG002  protocol
        """Return what counts the attempts of a run."""
        return Attempts(self.consultation_tool)

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Decide whether enough has failed."""
        attempts = self.followed(context)
        seen = self._seen(context, attempts)
        if not seen or not self._may_speak(context, attempts):
            return NOT_RELEVANT
        found = Found(seen, attempts.output, attempts.count)
        return ClassificationResult(True, 0.9, seen, NAME, found=found)

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Suggest the consultation, with the reason for it."""
        found: Found = context.found
        message = SEED if self.wording == "seed" else self.message
        text = message.format(
            tool=self.consultation_tool,
            seen=found.seen,
            ask=self._ask(context),
            evidence=quote(found.output, _LONGEST_QUOTE) if found.output else "",
            count=found.count,
        )
        return GuidanceInjection(NAME, shorten(text, LONGEST_TEXT), category=self.category)

    def _ask(self, context: GuidanceContext) -> str:
        """Return whom to ask: the tool, if the agent is known to have it."""
        if context.tools is None:
            return "ask someone else for a fresh view, such as a reviewer or the user."
        return f"call {self.consultation_tool} for a fresh view."

    def _may_speak(self, context: GuidanceContext, attempts: Attempts) -> bool:
        if context.nudges_of(NAME) >= self.max_rounds or not self._available(context):
            return False
        spoke = context.turns_since_nudge(NAME)
        if spoke is not None and spoke < PAUSE:
            return False
        consulted = attempts.consulted_at
        return consulted is None or attempts.turn - consulted >= PAUSE

    def _available(self, context: GuidanceContext) -> bool:
        tools = context.tools
        return tools is None or any(is_tool(tool, self.consultation_tool) for tool in tools)

    def _loop(self, context: GuidanceContext) -> Episode | None:
        """Return a loop that went on after its nudges."""
        return next(
            (
                episode
                for episode in context.episodes.get(self.loop_category, ())
                if episode.nudges >= NUDGES and episode.seen_at > episode.nudged_at
            ),
            None,
        )

    def _seen(self, context: GuidanceContext, attempts: Attempts) -> str:
        """Return the reason for a consultation in words; empty if there is none."""
        if not attempts.count and not context.episodes:
            return ""
        needed = self.failure_threshold * (context.nudges_of(NAME) + 1)
        if attempts.count >= needed:
            return f"{attempts.count} different attempts have failed{_last(attempts)}."
        if attempts.failures >= REPEATS * needed:
            return _repeated(attempts)
        loop = self._loop(context)
        return f"The same pattern has gone on after {loop.nudges} reminders." if loop else ""


def _repeated(attempts: Attempts) -> str:
    if attempts.count == 1:
        return f"The same attempt has failed {attempts.failures} times{_last(attempts)}."
    return (
        f"{attempts.failures} attempts have failed, only {attempts.count} of them different"
        f"{_last(attempts)}."
    )


def _last(attempts: Attempts) -> str:
    said = quote(attempts.output, _LONGEST_QUOTE)
    return "" if said == quote("") else f", the last with {said}"
