"""What the agent reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.text import quote, shorten
from trimtab_diagnostic_signal._failures import VARIOUS, Failure
from trimtab_signals import advice, asked_by, tool_name

TEXTS: Mapping[int, str] = {
    1: "Turn {turn}: {seen} Do not try again in the same way. {look} Or say what blocks you.",
    2: "Turn {turn}, this goes on: {seen} Do not try a further variation before you know the "
    "cause. {look} Or say what blocks you.",
    3: "Turn {turn}, still the same: {seen} Stop trying. {look} Or say what blocks you.",
}
"""By level: nudge, firmer, way out."""

SEED = "Found {times} new console errors. {look}"
"""The specification's sentences, ``wording = "seed"``."""

LONGEST = 300
"""Characters of a built-in text."""
_LONGEST_OWN = 500
"""As long as a nudge may be, so that no text of a user is cut."""
_LONGEST_QUOTES = (110, 60, 30)
_LONGEST_CALL = 90
"""A call is named, not quoted: enough to tell it from others, on one line."""
_READ_IT = "Read the whole message and what it names."
_NOTHING_LEFT = quote("")


def _look(failure: Failure, tool: str | None, untried: Sequence[str]) -> str:
    asked = None
    if len(failure.tools) == 1:
        asked = asked_by(failure.output, command=failure.command, given=failure.call)
    if asked is not None:  # what the answer asks for comes before other tools
        return advice(asked, tool_name(failure.tools[0]))
    if tool is not None:
        return _use(tool)
    if (
        not untried or failure.name == VARIOUS
    ):  # many ways to fail have no one tool as their way out
        return _READ_IT
    return f"Find the cause first: call {' or '.join(tool_name(name) for name in untried)}."


def _use(tool: str) -> str:
    return f"Use the {tool_name(tool)} tool to examine before continuing."


def _quoted(output: str, longest: int) -> str:
    """Return an output in quotes; empty if nothing readable is in it."""
    said = quote(output, longest)
    return "" if said == _NOTHING_LEFT else said


def _seen(failure: Failure, longest: int) -> str:
    said = _quoted(failure.output, longest)
    if failure.name == VARIOUS:
        last = f"; the last said {said}" if said else ""
        return f"The last turns all failed, in {failure.times} different ways{last}."
    tools = ", ".join(tool_name(tool) for tool in failure.tools[:3])
    if failure.varies and said:
        return f"{tools} failed in {failure.times} turns in the same way, the last with {said}."
    same = f": {said}" if said else ""
    return f"{tools} failed in {failure.times} turns with the same error{same}."


def text_for(
    failure: Failure,
    level: int,
    tool: str | None,
    texts: Mapping[int, str],
    *,
    untried: Sequence[str] = (),
    turn: int = 0,
) -> str:
    """Return the text of `level` about `failure`: a built-in one has at most 300 characters."""
    template = texts.get(level)
    if template is not None:
        text = _filled(template, failure, (tool, untried, turn), _LONGEST_QUOTES[0])
        return shorten(text, _LONGEST_OWN)
    rest = (tool, untried, turn)
    made = (_filled(TEXTS[level], failure, rest, longest) for longest in _LONGEST_QUOTES)
    return next((text for text in made if len(text) <= LONGEST), "") or shorten(
        _filled(TEXTS[level], failure, (tool, (), turn), _LONGEST_QUOTES[-1]), LONGEST
    )


def seed_text(failure: Failure, tool: str | None) -> str:
    """Return the specification's text with its numbers filled in."""
    return SEED.format(times=failure.times, look=_use(tool) if tool else _READ_IT)


_Rest = tuple[str | None, Sequence[str], int]


def _filled(template: str, failure: Failure, rest: _Rest, longest: int) -> str:
    tool, untried, turn = rest
    said = _quoted(failure.output, longest)
    return template.format(
        times=failure.times,
        turn=turn,
        seen=_seen(failure, longest),
        look=_look(failure, tool, untried),
        said=said,
        evidence=said,
        call=shorten(failure.call, _LONGEST_CALL),
        untried=", ".join(tool_name(name) for name in untried),
        tools=shorten(", ".join(failure.tools), 80),
    )
