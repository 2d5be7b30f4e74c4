"""What went wrong outside the agent's run, until somebody has been told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trimtab import SYSTEM_CLOCK, Clock, shorten

_LONGEST = 500
_MOST_BYTES = 64_000


class Trouble(NamedTuple):
    """Something that went wrong.

    Args:
        what: in words for the user.
        at: when, ISO 8601; empty where it could not be written down.
    """

    what: str
    at: str = ""


class Troubles:
    """A short list on disk, told once at the beginning of the next session.

    Args:
        folder: the user's own folder.
        clock: stamps what is noted.
    """

    def __init__(self, folder: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        self._new = folder / "troubles.jsonl"
        self._old = folder / "troubles.told.jsonl"
        self._clock = clock
        self._unwritten: list[Trouble] = []

    def note(self, what: str) -> None:
        """Keep `what`, in memory where it can't be written. Never raises; says nothing twice."""
        what = shorten(what, _LONGEST)
        if any(known.what == what for known in (*self._unwritten, *_read(self._new))):
            return
        try:
            self._write(Trouble(what, self._clock.now().isoformat()))
        except OSError:
            self._unwritten.append(Trouble(what))

    def _write(self, trouble: Trouble) -> None:
        with self._new.open("a", encoding="utf-8") as file:
            if file.tell() < _MOST_BYTES:
                file.write(json.dumps(trouble._asdict()) + "\n")

    def tell(self) -> tuple[Trouble, ...]:
        """Return what nobody has been told yet, and count it as told."""
        untold = (*_read(self._new), *self._unwritten)
        self._unwritten = []
        try:
            self._new.replace(self._old)
        except OSError:
            pass
        return untold

    def all(self) -> tuple[Trouble, ...]:
        """Return what has been told last, and what nobody has been told yet."""
        return (*_read(self._old), *_read(self._new), *self._unwritten)


def _read(path: Path) -> Iterator[Trouble]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            found = json.loads(line)
            yield Trouble(str(found["what"]), str(found["at"]))
        except (ValueError, TypeError, KeyError):
            continue
