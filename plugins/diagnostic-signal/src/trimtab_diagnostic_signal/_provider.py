"""The provider, and what it says to the agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    whole_number,
)
from trimtab.text import level_texts, quote, shorten, text_option
from trimtab.trajectory import Following
from trimtab_diagnostic_signal._failures import VARIOUS, Failure, FailureProjection
from trimtab_signals import (
    Asked,
    WayOut,
    advice,
    asked_of_last,
    helpers_of,
    tool_name,
    untried_tools,
)

if TYPE_CHECKING:
    from trimtab import GuidanceContext, RunContext

TEXTS: Mapping[int, str] = {
    1: "Turn {turn}: {seen} {stop} {look} Or say what blocks you.",
    2: "Turn {turn}, this goes on: {seen} {stop} {look} Or say what blocks you.",
    3: "Turn {turn}, still the same: {seen} {stop} {look} Or say what blocks you.",
}
"""By level: nudge, firmer, way out."""

_STOPS: Mapping[int, str] = {
    1: "Do not try again in the same way.",
    2: "Do not try a further variation before you know the cause.",
    3: "Stop trying.",
}
"""Left out where the answer asks for the same tool, for a weak model obeys what it reads first."""

SEED = "Found {times} new console errors. {look}"
"""The specification's sentences, ``wording = "seed"``."""

LONGEST = 300
"""Characters of a built-in text."""
_LONGEST_OWN = 500
"""As long as a nudge may be, so that no text of a user is cut."""
_LONGEST_QUOTES = (110, 60, 30)
_LONGEST_CALL = 90
"""A call is named, not quoted: enough to tell it from others, on one line."""
_READ_IT = "First call a tool that only shows something about what the answer names."
_NOTHING_LEFT = quote("")


@attrs.frozen
class Rest:
    """What a text is filled with, besides the failure.

    Args:
        asked: what the answer asks for, if one tool gave it.
        tool: the one to examine with; None if the agent has none.
        untried: other tools to propose, the most helpful first.
        helpers: the tools by which the agent can wait, or ask its user.
        turn: the number of the turn.
    """

    asked: Asked | None = None
    tool: str | None = None
    untried: Sequence[str] = ()
    helpers: Mapping[WayOut, str] = attrs.field(factory=dict)
    turn: int = 0


def _look(failure: Failure, rest: Rest) -> str:
    asked = rest.asked
    if asked is not None:  # what the answer asks for comes before other tools
        helper = rest.helpers.get(asked.way, "")
        return advice(asked, tool_name(failure.tools[0]), helper and tool_name(helper))
    if rest.tool is not None:
        return _use(rest.tool)
    if failure.name == VARIOUS or not rest.untried:
        return _READ_IT  # many ways to fail have no one tool as their way out
    names = " or ".join(rest.untried)
    return f"Find the cause first: call {names}."


def _use(tool: str) -> str:
    return f"Use the {tool_name(tool)} tool to examine before continuing."


def _quoted(output: str, longest: int) -> str:
    """Return an output in quotes; empty if nothing readable is in it."""
    said = quote(output, longest)
    return "" if said == _NOTHING_LEFT else said


def _seen(failure: Failure, longest: int, *, quoted: bool = True) -> str:
    said = _quoted(failure.output, longest) if quoted else ""
    if failure.name == VARIOUS:
        last = f"; the last said {said}" if said else ""
        return f"The last turns all failed, in {failure.times} different ways{last}."
    tools = ", ".join(tool_name(tool) for tool in failure.tools[:3])
    if failure.varies and said:
        return f"{tools} failed in {failure.times} turns in the same way, the last with {said}."
    same = f": {said}" if said else ""
    return f"{tools} failed in {failure.times} turns with the same error{same}."


def text_for(
    failure: Failure, level: int, texts: Mapping[int, str], rest: Rest | None = None
) -> str:
    """Return the text of `level` about `failure`: a built-in one has at most 300 characters."""
    template = texts.get(level)
    rest = rest or Rest()
    if template is not None:
        text = _filled(template, failure, level, rest, _LONGEST_QUOTES[0])
        return shorten(text, _LONGEST_OWN)
    template = TEXTS[level]
    made = (_filled(template, failure, level, rest, longest) for longest in _LONGEST_QUOTES)
    return next((text for text in made if len(text) <= LONGEST), "") or shorten(
        _filled(template, failure, level, attrs.evolve(rest, untried=()), _LONGEST_QUOTES[-1]),
        LONGEST,
    )


def seed_text(failure: Failure, tool: str | None) -> str:
    """Return the specification's text with its numbers filled in."""
    return SEED.format(times=failure.times, look=_use(tool) if tool else _READ_IT)


def _filled(template: str, failure: Failure, level: int, rest: Rest, longest: int) -> str:
    said = _quoted(failure.output, longest)
    asked = rest.asked
    # Twice the same quote would be half of the text; a user's own text may have no other.
    is_quoted = asked is None or not asked.quoted or template not in TEXTS.values()
    text = template.format(
        times=failure.times,
        turn=rest.turn,
        seen=_seen(failure, longest, quoted=is_quoted),
        stop=_STOPS[level] if asked is None else "",
        look=_look(failure, rest),
        said=said,
        evidence=said,
        call=shorten(failure.call, _LONGEST_CALL),
        untried=", ".join(rest.untried),
        tools=shorten(", ".join(failure.tools), 80),
    )
    return " ".join(text.split())


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
            (a tool of the agent that did not report it), ``{tools}``, ``{turn}``;
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
            _LONGEST_OWN,
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
        needed = self.error_threshold
        if followed.one_reason < needed:
            needed += _MORE_IF_DIFFERENT
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
        one = failure.tools if len(failure.tools) == 1 else ()
        asked = asked_of_last(context, one)
        rest = Rest(asked, tool, untried, helpers_of(context), context.turn_count)
        return text_for(failure, context.level_of(failure.name), self.texts, rest)
