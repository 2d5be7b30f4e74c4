"""Writing for people: widths, colours, and nothing that a terminal would obey."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TextIO

import attrs

from trimtab import SYSTEM_CLOCK
from trimtab.text import sanitize

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_NARROWEST, _WIDEST, _UNKNOWN = 40, 120, 100
_LONGEST_LINE = 2000
_PROGRESS_SECONDS = 0.2


def cells(text: str) -> int:
    """Return how many columns `text` takes."""
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
        """Write one line."""
        self.stream.write(f"{text}\n")

    def paint(self, text: str, *styles: str) -> str:
        """Return `text` in these styles, where there are colours."""
        if not self.colours or not text:
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
        """Show that `done` of `of` files are done."""
        now = SYSTEM_CLOCK.monotonic()
        if of > 1 and self.stream.isatty() and now - self._shown_at >= _PROGRESS_SECONDS:
            filled = 30 * done // of
            bar = "#" * filled + "-" * (30 - filled)
            self.stream.write(f"\r[{bar}] {done} of {of} files\x1b[K")
            self.stream.flush()
            self._shown_at, self._showing = now, True

    def items(self, done: int, what: str) -> None:
        """Show that `done` things are done, of an unknown number."""
        now = SYSTEM_CLOCK.monotonic()
        if self.stream.isatty() and now - self._shown_at >= _PROGRESS_SECONDS:
            self.stream.write(f"\r{done:,} {what}\x1b[K")
            self.stream.flush()
            self._shown_at, self._showing = now, True

    def clear(self) -> None:
        """Take the line away."""
        if self._showing:
            self.stream.write("\r\x1b[K")
            self._showing = False
