"""A replayed run on a terminal: a strip of its turns, and who spoke where, why, and the text."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.text import plural
from trimtab_replay._results import CallView, Decision, Note, Replayed
from trimtab_replay._strip import TurnState, states
from trimtab_replay._terminal import Screen, cells, fit, wrap

_MARKS = {
    TurnState.OK: ".",
    TurnState.ERROR: "x",
    TurnState.PARALLEL: "=",
    TurnState.WAITING: "~",
    TurnState.TEXT: "-",
}
_COLOURS = {TurnState.ERROR: "red", TurnState.PARALLEL: "green", TurnState.WAITING: "cyan"}
_FAILURES = ("fault", "quarantined", "unverified")
_INDENT = "  "
LEGEND = "turns: . ok   x error   = parallel   ~ waiting   - text only   ^ someone speaks"


def show(replayed: Replayed, screen: Screen) -> None:
    """Write the timeline of one run."""
    _head(replayed, screen)
    if replayed.decisions:
        _strip(replayed, screen)
        _decisions(replayed, screen)
    for note in replayed.notes:
        if note.event in _FAILURES:
            _note(note, screen)


def _head(replayed: Replayed, screen: Screen) -> None:
    count = len(replayed.decisions)
    said = plural(count, "nudge") if count else "quiet"
    size = f"{plural(replayed.calls, 'call')}, {plural(replayed.turns, 'turn')}"
    facts = f"  {replayed.reader}, {size}, {said}"
    facts = fit(facts, 2 * screen.width // 3)
    identity = fit(replayed.id, screen.width - cells(facts))
    screen.say(screen.paint(identity, "bold") + screen.paint(facts, "dim"))


def _strip(replayed: Replayed, screen: Screen) -> None:
    marks = states(replayed)
    spoken = {max(0, decision.turn) for decision in replayed.decisions}
    step = screen.width - len(_INDENT)
    for start in range(0, len(marks), step):
        part = marks[start : start + step]
        screen.say(_INDENT + "".join(_painted(state, screen) for state in part))
        arrows = "".join("^" if start + n in spoken else " " for n in range(len(part))).rstrip()
        if arrows:
            screen.say(_INDENT + screen.paint(arrows, "yellow"))


def _painted(state: TurnState, screen: Screen) -> str:
    colour = _COLOURS.get(state)
    return screen.paint(_MARKS[state], colour) if colour else _MARKS[state]


def _decisions(replayed: Replayed, screen: Screen) -> None:
    by_call = {step.call: step for step in replayed.steps}
    last: tuple[int, int] | None = None
    for decision in replayed.decisions:
        if (decision.turn, decision.call) != last:
            screen.say()
            _call(decision, by_call.get(decision.call), screen)
            last = (decision.turn, decision.call)
        _decision(decision, screen)
    screen.say()


def _call(decision: Decision, step: CallView | None, screen: Screen) -> None:
    where = f"{_INDENT}turn {decision.turn}, call {decision.call}"
    if decision.call < 0:
        where = f"{_INDENT}before the first call"
    if step is None:
        screen.say(where)
        return
    outcome = "" if step.outcome == "ok" and not step.failed else f"  [{step.outcome.value}]"
    room = screen.width - len(where) - len(outcome) - 2
    screen.say(f"{where}  {fit(f'{step.tool} {step.params}', room)}{outcome}")


def _decision(decision: Decision, screen: Screen) -> None:
    name = fit(decision.provider, screen.width // 2)
    how = fit(", ".join(_how(decision)), screen.width - cells(name) - 3 * len(_INDENT))
    screen.say(f"{_INDENT * 2}{screen.paint(name, 'bold', 'yellow')}  {screen.paint(how, 'dim')}")
    width = screen.width - 3 * len(_INDENT)
    for line in wrap(decision.reason or "", width):
        screen.say(_INDENT * 3 + screen.paint(line, "dim"))
    for line in wrap(decision.text, width - 2):
        screen.say(f"{_INDENT * 3}| {line}")


def _how(decision: Decision) -> Iterator[str]:
    yield decision.kind
    if decision.point:
        yield f"at {decision.point}"
    if decision.level:
        yield f"level {decision.level}"
    if decision.severity:
        yield decision.severity
    if decision.confidence is not None:
        yield f"confidence {decision.confidence:g}"


def _note(note: Note, screen: Screen) -> None:
    text = fit(
        f"{note.event} at call {note.call}: {note.provider}: {note.message}",
        screen.width - len(_INDENT),
    )
    screen.say(_INDENT + screen.paint(text, "red"))
