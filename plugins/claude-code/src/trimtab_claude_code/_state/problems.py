"""Problems outside the agent's run, kept until the user has seen them; standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from trimtab_claude_code._state.files import private

_LONGEST = 500
_MAX_BYTES = 64_000


class Problem(NamedTuple):
    """Something that went wrong.

    Args:
        message: one line for the user.
        at: when, ISO 8601; empty if it could not be stored.
    """

    message: str
    at: str = ""


class Problems:
    """A short list on disk, shown once at the beginning or end of the next session.

    Args:
        folder: the user's own folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._new = folder / "problems.jsonl"
        self._old = folder / "problems.seen.jsonl"
        self._unwritten: list[Problem] = []

    def add(self, message: str) -> None:
        """Store a message once, in memory if it can't be written. Never raises."""
        message = _one_line(message)
        if any(known.message == message for known in (*self._unwritten, *_read(self._new))):
            return
        try:
            self._write(Problem(message, datetime.now(UTC).isoformat()))  # noqa: TID251  # runs without trimtab
        except OSError:
            self._unwritten.append(Problem(message))

    def _write(self, problem: Problem) -> None:
        with open(self._new, "a", encoding="utf-8", opener=private) as file:
            if file.tell() < _MAX_BYTES:
                file.write(json.dumps(problem._asdict()) + "\n")

    def take_new(self) -> tuple[Problem, ...]:
        """Return the problems that the user has not seen yet, and count them as seen."""
        new = self.new()
        self._unwritten = []
        if new:
            try:
                self._new.replace(self._old)
            except OSError:
                pass
        return new

    def new(self) -> tuple[Problem, ...]:
        """Return the problems that the user has not seen yet."""
        return (*_read(self._new), *self._unwritten)

    def all(self) -> tuple[Problem, ...]:
        """Return the problems that were shown last, and those not seen yet."""
        return (*_read(self._old), *_read(self._new), *self._unwritten)


def _one_line(text: str) -> str:
    """Return a text that a terminal shows as it is: errors may hold the output of tools."""
    plain = "".join(char if char.isprintable() else " " for char in text[: 2 * _LONGEST])
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."


def _read(path: Path) -> Iterator[Problem]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            found = json.loads(line)
            yield Problem(str(found["message"]), str(found["at"]))
        except (ValueError, TypeError, KeyError):
            continue
