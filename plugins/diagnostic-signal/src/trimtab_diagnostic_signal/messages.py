"""What the agent reads."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab import quote, shorten
from trimtab_diagnostic_signal.failures import VARIOUS, Failure

TEXTS: Mapping[int, str] = {
    1: "Found {times} new console errors. {look} Seen: {said}.",
    2: (
        "The error came back: {times} turns by now ({tools}), {said}. {look} Find its cause "
        "before you try the next variation."
    ),
    3: (
        "Still failing after {times} turns ({tools}): {said}. Trying again is not working. {look} "
        "Or ask someone else for a fresh view (a reviewer, another model, the user), or report "
        "what blocks you."
    ),
}
"""By level: nudge, firmer with evidence, consultation."""

_LONGEST = 500
_LONGEST_QUOTE = 150


def _look(tool: str | None) -> str:
    if tool is None:
        return "Examine the full error output or the logs before continuing."
    return f"Use the {tool} tool to examine before continuing."


def _said(failure: Failure) -> str:
    what = "the last of them" if failure.name == VARIOUS else "the same each time"
    return f"{what}, {quote(failure.said, _LONGEST_QUOTE)}" if failure.said else what


def text_for(failure: Failure, level: int, tool: str | None, texts: Mapping[int, str]) -> str:
    """Return the text of `level` about `failure`, at most 500 characters."""
    template = texts.get(level, TEXTS[level])
    text = template.format(
        times=failure.times,
        look=_look(tool),
        said=_said(failure),
        tools=shorten(", ".join(failure.tools), 80),
    )
    return shorten(text, _LONGEST)
