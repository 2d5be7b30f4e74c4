"""Writing for people: replayed runs on a terminal, and nothing that it would obey."""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, TextIO

import attrs

from trimtab import SYSTEM_CLOCK, ToolInvoked
from trimtab.events import CallOrigin
from trimtab.text import plural, sanitize, shorten
from trimtab_replay._results import CallView, Decision, Note, Replayed
from trimtab_signals import Calls

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_NARROWEST, _WIDEST, _UNKNOWN = 40, 120, 100
_LONGEST_LINE = 2000
_PROGRESS_SECONDS = 0.2


def cells(text: str) -> int:
    return sum(map(_cell, text))


def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, width: int) -> str:
    """Return untrusted `text` on one line of at most `width` columns."""
    line = sanitize(text, _LONGEST_LINE)
    if cells(line) <= width:
        return line
    kept, used = "", 1
    for character in line:
        used += _cell(character)
        if used > width:
            break
        kept += character
    return kept + "…"


def wrap(text: str, width: int) -> Iterator[str]:
    """Yield untrusted `text` in lines of at most `width` columns, its own line breaks kept."""
    for paragraph in text.splitlines():
        line = ""
        for word in _words(sanitize(paragraph, _LONGEST_LINE), width):
            if line and cells(line) + 1 + cells(word) > width:
                yield line
                line = word
            else:
                line = f"{line} {word}" if line else word
        yield line


def _words(line: str, width: int) -> Iterator[str]:
    for word in line.split():
        rest = word
        while cells(rest) > width:
            piece = fit(rest, width + 1)[:-1]
            yield piece
            rest = rest[len(piece) :]
        yield rest


@attrs.frozen
class Screen:
    """Where to write, how wide it is, and whether it shows colours."""

    stream: TextIO
    width: int
    colours: bool

    @classmethod
    def of(cls, stream: TextIO) -> Screen:
        """Look at `stream`: colours only on a terminal, and not where ``NO_COLOR`` is set."""
        terminal = stream.isatty()
        width = shutil.get_terminal_size((_UNKNOWN, 24)).columns
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(stream, max(_NARROWEST, min(width, _WIDEST)), terminal and wanted)

    def say(self, text: str = "") -> None:
        self.stream.write(f"{text}\n")

    def paint(self, text: str, *styles: str) -> str:
        if not self.colours or not text or not styles:
            return text
        codes = ";".join(_CODES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Write rows in columns: the first to the left, the others to the right."""
        widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
        for number, (first, *rest) in enumerate(rows):
            line = first + " " * (widths[0] - cells(first))
            line += "".join(
                "  " + " " * (width - cells(cell)) + cell
                for cell, width in zip(rest, widths[1:], strict=True)
            )
            self.say(self.paint(line.rstrip(), "bold") if number == 0 else line.rstrip())


@attrs.define
class Progress:
    """One line on a terminal that says how far long work has come; elsewhere nothing."""

    stream: TextIO = attrs.field(factory=lambda: sys.stderr)
    _shown_at: float = float("-inf")
    _showing: bool = False

    def files(self, done: int, of: int) -> None:
        if of > 1:
            filled = 30 * done // of
            self._write(f"[{'#' * filled}{'-' * (30 - filled)}] {done} of {of} files")

    def items(self, done: int, what: str) -> None:
        self._write(f"{done:,} {what}")

    def _write(self, line: str) -> None:
        now = SYSTEM_CLOCK.monotonic()
        if self.stream.isatty() and now - self._shown_at >= _PROGRESS_SECONDS:
            self.stream.write(f"\r{line}\x1b[K")
            self.stream.flush()
            self._shown_at, self._showing = now, True

    def clear(self) -> None:
        if self._showing:
            self.stream.write("\r\x1b[K")
            self._showing = False


MAX_PARAMS = 400
MAX_RESULT = 600


def call_view(event: ToolInvoked, calls: Calls, *, turn: int, call: int) -> CallView:
    """Return `event` bounded for showing, with what `calls` made of it."""
    # The records leave out the calls of others than the model.
    recent = calls.recent(1) if event.caller is CallOrigin.MODEL else ()
    record = recent[-1] if recent else None
    return CallView(
        turn=turn,
        call=call,
        tool=event.tool,
        params=shorten(_params(event.params), MAX_PARAMS),
        result=shorten(_text(event.result), MAX_RESULT),
        outcome=event.outcome,
        caller=event.caller,
        agent=event.agent_id,
        polling=bool(record and record.waits),
        failed=event.failed or bool(record and record.failed),
    )


def _params(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _text(value)
    return "\n".join(f"{key}: {_text(given)}" for key, given in value.items())


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class TurnState(Enum):
    """What a turn was like; the value is its letter in a strip."""

    OK = "o"
    ERROR = "e"
    PARALLEL = "p"
    WAITING = "w"
    TEXT = "t"


def states(replayed: Replayed) -> list[TurnState]:
    """Return the state of every turn of a run whose steps were kept."""
    calls: list[list[CallView]] = [[] for _ in range(replayed.turns)]
    for step in replayed.steps:
        calls[step.turn].append(step)
    return [_state(steps) for steps in calls]


def _state(steps: list[CallView]) -> TurnState:
    if not steps:
        return TurnState.TEXT
    if any(step.failed for step in steps):
        return TurnState.ERROR
    if all(step.polling for step in steps):
        return TurnState.WAITING
    return TurnState.PARALLEL if len(steps) > 1 else TurnState.OK


_MARKS = {
    TurnState.OK: ".",
    TurnState.ERROR: "x",
    TurnState.PARALLEL: "=",
    TurnState.WAITING: "~",
    TurnState.TEXT: "-",
}
_COLOURS = {
    TurnState.ERROR: ("red",),
    TurnState.PARALLEL: ("green",),
    TurnState.WAITING: ("cyan",),
}
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
        painted = (screen.paint(_MARKS[each], *_COLOURS.get(each, ())) for each in part)
        screen.say(_INDENT + "".join(painted))
        arrows = "".join("^" if start + n in spoken else " " for n in range(len(part))).rstrip()
        if arrows:
            screen.say(_INDENT + screen.paint(arrows, "yellow"))


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


@attrs.define
class ProviderSummary:
    """What one provider did."""

    name: str
    nudges: int = 0
    tokens: int = 0
    first_calls: list[int] = attrs.field(factory=list)

    @property
    def runs(self) -> int:
        return len(self.first_calls)

    @property
    def typical_first_call(self) -> float | None:
        """The median of `first_calls`; None if it never spoke."""
        from statistics import median  # needed for a screen only

        return median(self.first_calls) if self.first_calls else None


@attrs.define
class Summary:
    """Adds up runs; memory grows with the runs that were spoken in, by one number each.

    Args:
        names: providers that were asked; those that never spoke are listed too.

    Attributes:
        notes: in how many runs something was noted, by what, whose and why; not what was
            suppressed.
    """

    names: Iterable[str] = ()
    runs: int = 0
    calls: int = 0
    touched: int = 0
    notes: Counter[tuple[str, str, str]] = attrs.field(factory=Counter)
    _providers: dict[str, ProviderSummary] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        for name in self.names:
            self._providers[name] = ProviderSummary(name)

    def add(self, replayed: Replayed) -> None:
        self.runs += 1
        self.calls += replayed.calls
        self.touched += bool(replayed.decisions)
        seen: set[str] = set()
        for decision in replayed.decisions:
            provider = self._of(decision.provider)
            provider.nudges += 1
            provider.tokens += decision.tokens
            if decision.provider not in seen:
                seen.add(decision.provider)
                provider.first_calls.append(decision.call)
        self.notes.update({_key(note) for note in replayed.notes if note.event != "suppressed"})

    def _of(self, name: str) -> ProviderSummary:
        return self._providers.setdefault(name, ProviderSummary(name))

    @property
    def providers(self) -> tuple[ProviderSummary, ...]:
        return tuple(self._providers.values())

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the table for people, its head first."""
        yield "provider", "runs", "nudges", "first call", "per 100 calls", "tokens"
        for one in self.providers:
            first = one.typical_first_call
            yield (
                one.name,
                f"{one.runs:,}",
                f"{one.nudges:,}",
                "–" if first is None else f"{first:g}",
                f"{100 * one.nudges / self.calls:.2f}" if self.calls else "–",
                f"{one.tokens:,}",
            )


def _key(note: Note) -> tuple[str, str, str]:
    return note.event, note.provider, note.message
