"""A lock between processes that dies with its holder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab import TrimtabError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PAUSE = 0.005


class Busy(TrimtabError):
    """Another process has held the lock for too long."""


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock file `path`; where the system has no such locks, go on without.

    Raises:
        Busy: it was not free within `seconds`.
        OSError: the file can't be opened.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(handle, path, seconds)
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, path: Path, seconds: float) -> None:
    if fcntl is None:
        return
    for _ in range(max(1, int(seconds / _PAUSE))):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        else:
            return
    raise Busy(f"{path.name} was not free within {seconds:g} s; this event is left out")
