"""Holds the port of the resident process, and starts that process again where it dies or is stuck.

Events that come meanwhile wait at the port. Imports little: it does nothing but wait, for as long
as the resident process lives.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from trimtab import SYSTEM_CLOCK
from trimtab_claude_code.service.pulse import Pulse
from trimtab_claude_code.state.lock import locked

MOST_DEATHS = 3
WITHIN_SECONDS = 60.0
_LOCK = "service.lock"
_MARK = "service.pid"
_SECONDS_TO_END = 5.0
_LOST = (
    "The resident process and the one that watches it were killed, or the machine went down: "
    "nobody was guided until a prompt started them anew."
)
_STUCK = "The resident process was stuck for 15 s, and was killed."


def outlive(folder: Path) -> Pulse | None:
    """Start processes that serve, one after the other, until one ends well.

    Gives up at the fourth death within a minute; the next prompt starts a guardian anew.

    Args:
        folder: the user's own folder, where deaths are noted.

    Returns:
        In each process that is to serve, the pulse that it must keep up; None, at the end, in the
        one that was called.

    Raises:
        Busy: another guardian has been ending for too long.
        OSError: the folder can't be written to.
    """
    with locked(folder / _LOCK, _SECONDS_TO_END):
        return _outlive(folder)


def _outlive(folder: Path) -> Pulse | None:
    mark, deaths = folder / _MARK, list[float]()
    _begin(mark)
    while len(deaths) <= MOST_DEATHS:
        pulse = Pulse()
        child = os.fork()
        pulse.keep_end(beating=not child)
        if not child:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            return pulse
        status = _end_of(child, pulse, mark)
        if not status:
            break
        now = SYSTEM_CLOCK.monotonic()
        deaths = [*(death for death in deaths if death > now - WITHIN_SECONDS), now]
        _note(folder, _told(status, last=len(deaths) > MOST_DEATHS))
    mark.unlink(missing_ok=True)
    return None


def _begin(mark: Path) -> None:
    """Leave a mark that only an orderly end takes away."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    if mark.exists():
        _note(mark.parent, _LOST)
    try:
        mark.write_text(str(os.getpid()), encoding="utf-8")
    except OSError:
        pass  # a full disk: what it would tell is lost, and nothing else


def _end_of(child: int, pulse: Pulse, mark: Path) -> int:
    """Wait for a process; end it where it is stuck, or this one is told to end."""
    try:
        if not pulse.watch():
            os.kill(child, signal.SIGKILL)
            _note(mark.parent, _STUCK)
        pulse.close()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except SystemExit:
        os.kill(child, signal.SIGTERM)
        mark.unlink(missing_ok=True)
        raise


def _told(status: int, *, last: bool) -> str:
    signalled = f"of signal {-status}, {signal.strsignal(-status)}"
    how = f"with status {status}" if status > 0 else signalled
    if last:
        often = f"{MOST_DEATHS + 1} times within a minute"
        return f"The resident process died {often}, at last {how}: the next prompt starts it again."
    return f"The resident process died {how}; it was started again at once, from its journals."


def _note(folder: Path, what: str) -> None:
    from trimtab_claude_code.state.troubles import Troubles

    Troubles(folder).note(what)
