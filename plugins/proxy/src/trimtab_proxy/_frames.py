"""What the relay and the process that asks providers share: frames, interrupts, freed memory.

A frame is a pickle: both ends are one program of one user, connected by pipes.

A handler is not told where a signal comes from; a thread that waits for it is. So interrupts are
kept out of all threads of this process, and one thread waits for them.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import IO, Any

import attrs

from trimtab_proxy._guide import Counts


@attrs.frozen
class Ready:
    """The first frame that comes back.

    Args:
        error: why there is nothing to ask; empty if all is well.
    """

    error: str = ""
    gate: bool = False
    notes: tuple[str, ...] = ()
    notify: bool = False


@attrs.frozen
class Request:
    """A question to the service.

    Args:
        method: of `GuideService`; ``"ping"`` or ``"close"`` for the process itself.
    """

    number: int
    method: str
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Reply:
    """What a method returned, or the name of the error that it raised; what happened so far."""

    number: int
    value: Any = None
    failure: str = ""
    counts: Counts | None = None


def read_frame(stream: IO[bytes]) -> Any:
    """Return the next frame; an EOFError where the other end has gone."""
    try:
        return pickle.load(stream)  # noqa: S301  # of the process that was started, or started us
    except pickle.UnpicklingError as error:  # it has gone within a frame
        raise EOFError from error


def write_frame(stream: IO[bytes], frame: Any) -> None:
    """Write a frame."""
    stream.write(pickle.dumps(frame, pickle.HIGHEST_PROTOCOL))
    stream.flush()


_THRESHOLDS = (700, 5, 2)


def collect_often() -> None:
    """Let the garbage collector look for ended conversations soon; for a process of our own.

    A session and its run refer to each other, so only a full collection frees them. By default one
    comes after 70,000 new objects, which some 170 conversations make. What exists when this is
    called, modules above all, is left out of collections, so that they stay short.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # the next full one waits for a quarter more than this one has left
    gc.set_threshold(*_THRESHOLDS)


_FROM_KERNEL = 0x80
"""The code of a signal that no process sent: the terminal's."""

_CAN_WAIT = hasattr(signal, "sigwaitinfo")
_INTERRUPT = (signal.SIGINT,)


@contextmanager
def interrupts(*, kept_out: bool) -> Iterator[None]:
    """Keep interrupts from this thread, and for ever from the threads that it starts inside.

    Else take them as ever: a program that is started inside does so too.
    """
    if not _CAN_WAIT:
        yield
        return
    how = signal.SIG_BLOCK if kept_out else signal.SIG_UNBLOCK
    before = signal.pthread_sigmask(how, _INTERRUPT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def interrupts_told(of_other: Callable[[], None]) -> Iterator[None]:
    """Ignore interrupts of the terminal; call a function for each one from elsewhere."""

    def handle(*_: object) -> None:
        if not _CAN_WAIT and not _in_foreground():
            of_other()

    before = signal.signal(signal.SIGINT, handle)
    try:
        if _CAN_WAIT:
            with interrupts(kept_out=True), _waiting(of_other):
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
