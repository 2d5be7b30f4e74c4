"""A lock between processes that ends with its holder; standard library only."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE = 0.005


class Busy(Exception):  # the launcher runs without trimtab
    """Another process held the lock for too long."""


@contextmanager
def locked(path: Path, timeout: float) -> Iterator[None]:
    """Hold the lock file `path`.

    Args:
        path: the file; made where it is missing.
        timeout: seconds to wait.

    Raises:
        Busy: another process held it all that time.
        OSError: the file can't be opened.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        for _ in range(max(1, int(timeout / _PAUSE))):
            if _acquire(handle):
                break
            time.sleep(_PAUSE)
        else:
            raise Busy(f"{path.name} was not free within {timeout:g} s")
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _acquire(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _acquire(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
