"""A limit for imports of commands: a plugin whose module hangs is named, and left behind."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

FIRST_WORD = 10.0
LONGEST = 60.0
"""Seconds: of a machine under load, the largest packages take about 20."""


class ImportTookTooLong(BaseException):  # a module may catch every Exception
    """The module was still being imported when its time was over."""


class _Limit:
    """Whether this process is a command's; a library leaves the timer of its user alone."""

    is_set = False


@contextmanager
def imports_limited() -> Iterator[None]:
    """Limit the time of each plugin's import in the main thread, where the system has a timer."""
    before, _Limit.is_set = _Limit.is_set, True
    try:
        yield
    finally:
        _Limit.is_set = before


@contextmanager
def import_limit(what: str) -> Iterator[None]:
    """Say so on standard error if an import takes long, and end it after a minute.

    There is one timer in a process: where another part of it has set that, the import has no limit.

    Args:
        what: the module and its plugin.

    Raises:
        ImportTookTooLong: it was ended.
    """
    if not (_Limit.is_set and _timer_is_free()):
        yield
        return
    told: list[str] = []

    def warn(_: int, __: FrameType | None) -> None:
        if told:
            raise ImportTookTooLong(f"it took more than {LONGEST:g} s")
        told.append(what)
        sys.stderr.write(f"trimtab: still importing {what}; Ctrl-C ends this\n")

    handler = signal.signal(signal.SIGALRM, warn)
    signal.setitimer(signal.ITIMER_REAL, FIRST_WORD, LONGEST - FIRST_WORD)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if handler is not None:  # one that was not set from Python can't be set again
            signal.signal(signal.SIGALRM, handler)


def _timer_is_free() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return (
        is_main and hasattr(signal, "setitimer") and not any(signal.getitimer(signal.ITIMER_REAL))
    )
