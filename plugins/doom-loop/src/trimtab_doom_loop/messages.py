"""What the agent reads."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab import quote, shorten
from trimtab_doom_loop.verdict import Loop, LoopKind

TEXTS: Mapping[int, str] = {
    1: (
        "Detected repeated unsuccessful pattern. Consider a different approach or consult the "
        "planning tool to reassess strategy. Seen after {turn} turns: {seen}."
    ),
    2: (
        "The repeated pattern goes on after {turn} turns: {seen}. {evidence} Doing it again will "
        "not tell you more. Write down what you know by now, and take a step that you have not "
        "tried."
    ),
    3: (
        "Still the same pattern after {turn} turns: {seen}. {evidence} Stop repeating it. Ask "
        "someone else for a fresh view (a reviewer, another model, the user), or report what "
        "blocks you."
    ),
}
"""By level: nudge, firmer with evidence, consultation; see `DoomLoopDetector.texts`."""

_SEEN: Mapping[LoopKind, str] = {
    LoopKind.REPEAT: "{tool} called {times} times in a row, same arguments, same answer",
    LoopKind.CYCLE: "the same {length} steps {times} times over, same answers, last {tool}",
    LoopKind.INTERLEAVED: "{tool} called {times} times with the same arguments and answer, "
    "and nothing in between made a difference",
    LoopKind.REJECTED: "{tool} rejected almost the same call {times} times, same error",
    LoopKind.WAITING: "waited with {tool} {times} times and nothing changed",
    LoopKind.BATCH: "one response asked {times} times for the same call of {tool}",
    LoopKind.SAME_ANSWER: "{times} calls of {tool} in a row, varied arguments, one answer",
    LoopKind.SAME_ERROR: "{times} calls of {tool} in a row failed in the same way",
    LoopKind.TEXT: "the same text in {times} responses running",
    LoopKind.CHANT: "one passage {times} times in one response",
}
_LONGEST = 500
_LONGEST_TOOL = 60
_LONGEST_QUOTE = 140


def seen(loop: Loop) -> str:
    """Say with numbers what was seen; the tool's name is bounded and quoted where it must be."""
    return _SEEN[loop.kind].format(tool=_tool(loop.tool), times=loop.times, length=loop.length)


def _tool(name: str) -> str:
    plain = name.replace("_", "").replace("-", "").replace(".", "")
    return name if plain.isalnum() and len(name) <= _LONGEST_TOOL else quote(name, _LONGEST_TOOL)


def _evidence(loop: Loop) -> str:
    if not loop.said.strip():
        return "The answer is empty each time."
    what = "The passage" if loop.kind in (LoopKind.TEXT, LoopKind.CHANT) else "The answer each time"
    return f"{what}: {quote(loop.said, _LONGEST_QUOTE)}."


def text_for(loop: Loop, level: int, texts: Mapping[int, str]) -> str:
    """Return the text of `level` about `loop`, at most 500 characters."""
    template = texts.get(level, TEXTS[level])
    text = template.format(
        seen=seen(loop),
        evidence=_evidence(loop),
        tool=_tool(loop.tool),
        times=loop.times,
        length=loop.length,
        turn=loop.turn,
    )
    return shorten(text, _LONGEST)
