"""What becomes of later events after one that the server did not answer.

Events pass until another server is ready. A session that has waited twice goes on without
guidance: a provider that hangs must not cost it more than `_MOST_WAITS` times the client's timeout.
Standard library only: the client runs without site-packages.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from trimtab_claude_code._client import PAUSED, RETRY_AFTER
from trimtab_claude_code._state.files import replace

_WAITS = "waits.json"
_MOST_WAITS = 2
_MOST_SESSIONS = 50
_SAME_WAIT = 2.0
"""Seconds within which events of a session wait at the same time: parallel calls have theirs."""

_SHORT = 3.0
_OFTEN = 2
_WINDOW = 60.0
"""After `_OFTEN` waits within so many seconds without a known cause, a new server is not asked at
once: it is more likely to be the next that hangs."""


class Breaker:
    """Lets events pass.

    Args:
        folder: the user's own folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._now = time.time()  # noqa: TID251  # runs without trimtab

    def open(self, session: str, *, waited: bool, short: bool = False) -> None:
        """Let all events pass for a while.

        Args:
            session: whose event it was; empty if unknown.
            waited: whether it cost the session the whole timeout.
            short: whether the server is only slow.
        """
        waits = self._read()
        if waited:
            count, last = waits.get(session, (0, 0.0))
            waits[session] = (count + (self._now - last > _SAME_WAIT), self._now)
        recent = dict(sorted(waits.items(), key=lambda item: item[1][1])[-_MOST_SESSIONS:])
        self._write(_WAITS, json.dumps(recent))
        self._pause(self._now + (_SHORT if short else RETRY_AFTER), recent)

    def close(self, *, known: bool) -> None:
        """Let events through again, but for sessions that have waited too often.

        Args:
            known: whether it is known why the last server did not answer.
        """
        waits = self._read()
        recent = sum(count for count, last in waits.values() if self._now - last < _WINDOW)
        if known or recent < _OFTEN:
            self._pause(0.0, waits)

    @property
    def given_up(self) -> list[str]:
        """The sessions that go on without guidance."""
        return [name for name, (count, _) in self._read().items() if count >= _MOST_WAITS]

    def _pause(self, until: float, waits: dict[str, tuple[int, float]]) -> None:
        out = [name for name, (count, _) in waits.items() if count >= _MOST_WAITS and name]
        if until or out:
            self._write(PAUSED, "\n".join([str(until), *map(json.dumps, out)]))
        else:
            with suppress(OSError):
                (self._folder / PAUSED).unlink()

    def _read(self) -> dict[str, tuple[int, float]]:
        try:
            found: Any = json.loads((self._folder / _WAITS).read_bytes())
            return {str(name): (int(n), float(last)) for name, (n, last) in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _write(self, name: str, text: str) -> None:
        with suppress(OSError):  # on a full disk each event is on its own
            replace(self._folder / name, text.encode())
