"""Runs a program to its end: signals reach it, its exit status comes back."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from types import FrameType

from trimtab_proxy import _interrupts as interrupts
from trimtab_proxy._launching import Launch, LaunchFailed

_MOMENT = 0.5
"""Seconds in which a program that was interrupted with this process ends; a second interrupt
means another thing to many programs."""

_PASSED_ON = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT")


def run(start: Launch) -> int:
    """Start a program with this process's terminal and wait for its end.

    The terminal sends an interrupt to the program itself, so it is only ignored here; what is sent
    to this process alone is passed on. An interrupt that comes from elsewhere may have reached the
    program too: it is passed on to one that still runs a moment later.

    Returns:
        Its exit status; 128 and the signal's number where a signal ended it, as shells have it.

    Raises:
        LaunchFailed: it can't be started.
    """
    children: list[subprocess.Popen[bytes]] = []

    def send_interrupt() -> None:
        for child in children:
            _send(child, signal.SIGINT)

    def interrupt() -> None:
        later = Timer(_MOMENT, send_interrupt)
        later.daemon = True
        later.start()

    with interrupts.told(of_other=interrupt):
        child = _started(start)
        children.append(child)
        with _passed_on(child):
            status = _wait(child)
    return status if status >= 0 else 128 - status


def _started(start: Launch) -> subprocess.Popen[bytes]:
    try:
        with interrupts.let_in():
            return subprocess.Popen(start.command, env=dict(start.environment))
    except OSError as error:
        raise LaunchFailed(
            f"{start.command[0]!r} can't be started: {error.strerror or error}"
        ) from None


def _wait(child: subprocess.Popen[bytes]) -> int:
    """Wait for the end; where the program stops itself, stop too, and go on together."""
    if not hasattr(os, "WUNTRACED"):
        return child.wait()
    while True:
        try:
            _, status = os.waitpid(child.pid, os.WUNTRACED)
        except ChildProcessError:
            return child.wait()
        if os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(child.pid, signal.SIGCONT)
            continue
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode


def _send(child: subprocess.Popen[bytes], number: int) -> None:
    if child.returncode is None:
        os.kill(child.pid, number)


@contextmanager
def _passed_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    def pass_on(number: int, _: FrameType | None) -> None:
        _send(child, number)

    known = [getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)]
    before = {number: signal.signal(number, pass_on) for number in known}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
