"""``trimtab watch``: the sessions of this machine as they go on, in a terminal."""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from heapq import merge
from itertools import islice
from pathlib import Path

import attrs
from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from trimtab import SYSTEM_CLOCK, TrimtabError
from trimtab.text import plural, sanitize
from trimtab_trace._journal import journal_folder
from trimtab_trace._journal.sessions import Call, JournalSession, Nudge, Tail
from trimtab_trace._journal.status import model_line, what_became

_NAMES = {
    b"\x1b[A": "up", b"\x1bOA": "up", b"k": "up",
    b"\x1b[B": "down", b"\x1bOB": "down", b"j": "down",
    b"\x1b[C": "right", b"\x1bOC": "right", b"l": "right",
    b"\x1b[D": "left", b"\x1bOD": "left", b"h": "left",
    b"\x1b[F": "end", b"\x1bOF": "end", b"\x1b[4~": "end", b"G": "end",
    b"q": "q", b"\x03": "q", b"\x04": "q",
}  # fmt: skip


def names_in(typed: bytes) -> list[str]:
    """Return the names of the keys in what was typed; others are left out."""
    found, at = [], 0
    by_length = sorted(_NAMES, key=len, reverse=True)
    while at < len(typed):
        code = next((each for each in by_length if typed.startswith(each, at)), None)
        if code is not None:
            found.append(_NAMES[code])
        at += len(code) if code else 1
    return found


if sys.platform == "win32":
    import msvcrt
    import time

    _ARROWS = {b"H": "up", b"P": "down", b"K": "left", b"M": "right", b"O": "end"}

    @contextmanager
    def raw_keys() -> Iterator[None]:
        """Read keys as they come; nothing is to be set here."""
        yield

    def read_keys(seconds: float) -> list[str]:
        """Return the names of the keys that were pressed, after at most so many seconds."""
        found: list[str] = []
        for _ in range(max(1, int(seconds / 0.02))):
            while msvcrt.kbhit():
                code = msvcrt.getch()
                arrow = code in {b"\x00", b"\xe0"}
                found += [_ARROWS.get(msvcrt.getch(), "")] if arrow else names_in(code)
            if found:
                break
            time.sleep(0.02)
        return [name for name in found if name]

else:
    import termios
    import tty

    @contextmanager
    def raw_keys() -> Iterator[None]:
        """Read keys as they come; the terminal is as before afterwards."""
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        try:
            tty.setcbreak(terminal)
            yield
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def read_keys(seconds: float) -> list[str]:
        """Return the names of the keys that were pressed, after at most so many seconds."""
        terminal = sys.stdin.fileno()
        ready, _, _ = select.select([terminal], [], [], seconds)
        if not ready:
            return []
        typed = os.read(terminal, 1024)
        return names_in(typed) if typed else ["q"]  # the terminal has gone


KEEP_CALLS = 300
_WIDE = 120
_WORDS_LINES = 8
_STYLES = {"delivered": "bold green", "in shadow": "bold cyan", "held back": "yellow"}
HELP = "↑↓ decision   ←→ session   End newest   q quit"


@attrs.define
class WatchView:
    """Follows journals, and draws what is chosen of them.

    Args:
        tail: reads the journals.

    Attributes:
        session: path of the chosen session; None follows the newest.
        nudge: index of the chosen decision; None follows the newest.
    """

    tail: Tail
    session: Path | None = None
    nudge: int | None = None

    def press(self, key: str) -> bool:
        """Act on a key: ``up``, ``down``, ``left``, ``right``, ``end`` or ``q``."""
        if key == "q":
            return False
        if key in {"up", "down"}:
            self._step(-1 if key == "up" else 1)
        elif key in {"left", "right"}:
            self._turn(-1 if key == "left" else 1)
        elif key == "end":
            self.session = self.nudge = None
        return True

    def _step(self, by: int) -> None:
        chosen = self.chosen
        last = len(chosen.nudges) - 1 if chosen else -1
        at = last if self.nudge is None else self.nudge
        at = max(0, min(last, at + by))
        self.nudge = None if at >= last else at

    def _turn(self, by: int) -> None:
        paths = [one.path for one in self.tail.ordered()]
        if paths:
            at = paths.index(self.session) if self.session in paths else 0
            self.session = paths[max(0, min(len(paths) - 1, at + by))]
            self.nudge = None

    @property
    def chosen(self) -> JournalSession | None:
        if self.session is not None and self.session in self.tail.sessions:
            return self.tail.sessions[self.session]
        return next(iter(self.tail.ordered()), None)

    def draw(self, width: int, height: int) -> RenderableType:
        chosen = self.chosen
        if chosen is None:
            return Text(f"no session is recorded in {self.tail.folder}; waiting (q quits)")
        left = 40 if width >= _WIDE else 24
        body = max(4, height - _WORDS_LINES - 3)
        layout = Layout()
        layout.split_column(
            Layout(name="body", size=body + 2),
            Layout(self._words(chosen), name="words"),
            Layout(Text(HELP, style="dim", no_wrap=True), name="help", size=1),
        )
        layout["body"].split_row(
            Layout(self._sessions(left - 4, body), size=left),
            Layout(self._timeline(chosen, body)),
        )
        return layout

    def _sessions(self, width: int, lines: int) -> Panel:
        now, chosen = SYSTEM_CLOCK.now(), self.chosen
        sessions = list(self.tail.ordered())
        room = max(1, lines // 2)
        at = next((n for n, one in enumerate(sessions) if one is chosen), 0)
        start = max(0, min(at - room // 2, len(sessions) - room))
        shown = sessions[start : start + room]
        rows = [_session_row(one, width, now, chosen=one is chosen) for one in shown]
        return Panel(Group(*rows), title=plural(len(sessions), "session"))

    def _timeline(self, session: JournalSession, lines: int) -> Panel:
        calls: list[Call | Nudge] = [*session.calls[-KEEP_CALLS:]]
        rows = list(merge(calls, session.nudges[-KEEP_CALLS:], key=lambda row: row.at))
        mark = self._marked(session)
        at = next((n for n, row in enumerate(rows) if row is mark), len(rows) - 1)
        end = len(rows) if self.nudge is None else min(len(rows), at + lines // 2)
        shown = islice(rows, max(0, end - lines), end)
        title = sanitize(f"{session.host} {session.name}", 60)
        about = [plural(session.ended_calls, "call"), plural(len(session.nudges), "decision")]
        about += filter(None, [model_line(session)])
        return Panel(
            Group(*(_row(one, marked=one is mark) for one in shown)),
            title=Text(title),
            subtitle=Text(", ".join(about)),
        )

    def _marked(self, session: JournalSession) -> Nudge | None:
        if not session.nudges:
            return None
        at = len(session.nudges) - 1 if self.nudge is None else self.nudge
        return session.nudges[min(at, len(session.nudges) - 1)]

    def _words(self, session: JournalSession) -> Panel:
        nudge = self._marked(session)
        if nudge is None:
            return Panel(Text("nothing was said", style="dim"), title="words")
        parts = [Text(sanitize(nudge.words or "no words", 2_000))]
        if nudge.reason and nudge.words:
            parts.append(Text(f"because: {sanitize(nudge.reason, 400)}", style="dim"))
        head = f"{sanitize(nudge.provider, 30)} {what_became(nudge)}"
        return Panel(Group(*parts), title=Text(sanitize(head, 70)))


def _session_row(
    session: JournalSession, width: int, now: datetime, *, chosen: bool
) -> RenderableType:
    style = "reverse" if chosen else ""
    mark = "●" if session.is_running(now) else " "
    said = sum(one.state == "delivered" for one in session.nudges)
    head = Text(f"{mark} {sanitize(session.title or session.name, 60)}", style=style)
    about = f"  {said} said, {sanitize(session.program or session.host, 14)} {session.name}"
    second = Text(sanitize(about, 60), style="dim")
    for line in (head, second):
        line.truncate(width, overflow="ellipsis", pad=True)
    return Group(head, second)


def _row(row: Call | Nudge, *, marked: bool) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{row.at.astimezone():%H:%M:%S} ", style="dim")
    agent = f"[{sanitize(row.agent, 12)}] " if row.agent else ""
    if isinstance(row, Nudge):
        line.append(f"{'▶ ' if marked else '  '}{agent}")
        style = _STYLES.get(row.state, "bold red")
        line.append(f"{sanitize(row.provider, 24)} {what_became(row)}", style=style)
        line.append(f": {sanitize(row.words, 200)}" if row.words else "")
        return line
    line.append(f"  {agent}{sanitize(row.tool, 24)} ", style="dim")
    if row.outcome != "ok":
        style = "red" if row.outcome == "error" else "magenta"
        line.append(f"{sanitize(row.outcome, 12)} ", style=style)
    about = row.params if isinstance(row.params, str) else json.dumps(row.params, default=str)
    line.append(sanitize(about, 160), style="dim")
    return line


_PAUSE = 0.3


def watch(parser: argparse.ArgumentParser) -> None:
    """Watch the sessions of this machine, and what is said in them, as they go on."""
    parser.description = (
        "A live view of the journals of this machine: sessions on the left, calls and decisions of "
        "one on the right, the words below. Needs trimtab-trace[watch]."
    )
    parser.set_defaults(run=run_watch)


def run_watch(_: argparse.Namespace) -> int:
    """Show the sessions until ``q`` is pressed."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise TrimtabError("trimtab watch needs a terminal; see trimtab status --follow")

    console = Console()
    view = WatchView(Tail(journal_folder(), keep_calls=KEEP_CALLS))
    with raw_keys(), Live(console=console, screen=True, auto_refresh=False) as live:
        going_on = True
        while going_on:
            view.tail.poll()
            live.update(view.draw(*console.size), refresh=True)
            going_on = all(view.press(key) for key in read_keys(_PAUSE))
    return 0
