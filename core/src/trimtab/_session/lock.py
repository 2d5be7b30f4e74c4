"""The one lock of a session; what observers are to hear waits until it is released."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock


class SessionLock:
    """A re-entrant lock that calls `tell` for what was left with `later`, once it is free.

    So observers are called outside the lock even where one dispatch happens inside another
    holder's block.
    """

    def __init__(self, tell: Callable[[object], None]) -> None:
        lock = RLock()
        self._acquire, self._release = lock.acquire, lock.release
        self._depth = 0
        self._tell = tell
        self._untold: list[object] = []

    def __enter__(self) -> None:
        self._acquire()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._untold and self._depth == 0:
            self._release_and_tell()
        else:
            self._release()

    def _release_and_tell(self) -> None:
        untold, self._untold = self._untold, []
        self._release()
        for event in untold:
            self._tell(event)

    def later(self, event: object) -> None:
        """Tell `event` when the lock is free; call it while holding the lock."""
        self._untold.append(event)
