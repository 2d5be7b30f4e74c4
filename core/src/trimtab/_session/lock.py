"""The lock of a session; observers are called after it is released."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any
from weakref import WeakSet


class SessionLock:
    """A re-entrant lock that calls `tell` for what was left with `later`, once it is free.

    `tell` raises nothing but an interrupt, which is raised once all that was left is told.

    So observers are called outside the lock even where one dispatch happens inside another
    holder's block.

    Attributes:
        guard: what to hold while recording: the bare lock while there is no observer, since it
            costs a quarter.
    """

    def __init__(self, tell: Callable[[object], None]) -> None:
        self._tell = tell
        self._observed = False
        self._renew()
        _LOCKS.add(self)

    def _renew(self) -> None:
        self._lock = RLock()
        self._acquire, self._release = self._lock.acquire, self._lock.release
        self._depth = 0
        self._untold: list[object] = []
        self.guard: AbstractContextManager[Any] = self if self._observed else self._lock

    @property
    def held(self) -> bool:
        """Whether this thread holds the lock."""
        return bool(self._lock._is_owned())  # type: ignore[attr-defined]

    def observed_by(self, by: object) -> None:
        """Note who listens, empty for nobody; call it while holding the lock."""
        self._observed = bool(by)
        self.guard = self if self._observed else self._lock

    def after_fork(self) -> None:
        """Free the lock in a forked process, where no thread is left that could release it."""
        if not self.held:
            self._renew()

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
        try:
            while untold:
                self._tell(untold.pop(0))
        except BaseException:  # an interrupt: the others hear what happened all the same
            self._tell_others(untold)
            raise

    def _tell_others(self, untold: list[object]) -> None:
        while untold:
            try:
                self._tell(untold.pop(0))
            except BaseException as another:  # noqa: BLE001 - the first is raised
                del another

    def later(self, event: object) -> None:
        """Tell `event` when the lock is free; call it while holding the lock."""
        self._untold.append(event)


_LOCKS: WeakSet[SessionLock] = WeakSet()


def _after_fork() -> None:
    for lock in tuple(_LOCKS):
        lock.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
