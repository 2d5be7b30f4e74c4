"""Tells an interrupt that a terminal sends to all its programs from one for this process alone.

A handler is not told where a signal comes from; a thread that waits for it is. So interrupts are
kept out of all threads of this process, and one thread waits for them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

_FROM_KERNEL = 0x80
"""The code of a signal that no process sent: the terminal's."""

_CAN_WAIT = hasattr(signal, "sigwaitinfo")
_INTERRUPT = (signal.SIGINT,)


@contextmanager
def kept_out() -> Iterator[None]:
    """Keep interrupts from this thread, and for ever from the threads that it starts inside."""
    if not _CAN_WAIT:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def let_in() -> Iterator[None]:
    """Take interrupts as ever: a program that is started inside does so too."""
    if not _CAN_WAIT:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def told(of_other: Callable[[], None]) -> Iterator[None]:
    """Ignore interrupts of the terminal; call a function for each one from elsewhere.

    Args:
        of_other: what to do.
    """

    def handle(*_: object) -> None:
        if not _CAN_WAIT and not _in_foreground():
            of_other()

    before = signal.signal(signal.SIGINT, handle)
    try:
        if _CAN_WAIT:
            with kept_out(), _waiting(of_other):
                yield
        else:
            yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _waiting(of_other: Callable[[], None]) -> Iterator[None]:
    ended: list[bool] = []

    def wait() -> None:
        while True:
            found = signal.sigwaitinfo(_INTERRUPT)
            if ended:
                return
            if found.si_code != _FROM_KERNEL:
                of_other()

    thread = Thread(target=wait, name="trimtab-interrupts", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.append(True)
        if thread.ident is not None and thread.is_alive():
            signal.pthread_kill(thread.ident, signal.SIGINT)
        thread.join()


def _in_foreground() -> bool:
    """Return whether the terminal's interrupts go to this process and to the program."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except (AttributeError, OSError):  # no terminal, or a system without
        return not hasattr(os, "tcgetpgrp")
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
