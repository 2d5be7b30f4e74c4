"""What a new hook server does about the end of the one before it, and what it notes itself."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from trimtab import SYSTEM_CLOCK, TrimtabError
from trimtab.hosting import Call, CallBoard, SetAside, last_call
from trimtab_claude_code._breaker import Breaker
from trimtab_claude_code._host_config import HOST
from trimtab_claude_code._server_process import ended_at, is_alive
from trimtab_claude_code._state.problems import Problems
from trimtab_claude_code._transport import CALLS
from trimtab_trace import (
    GuidanceStopped,
    JournalOpened,
    JournalSettings,
    SessionJournal,
    journal_folder,
)

_NO_LIMIT = 1e6
_HELD_SECONDS = 1.0
"""A call that a server was ended in is to blame from here on: a shorter one may have waited for the
processor."""


def begin(folder: Path) -> None:
    """Set aside the provider that ended or held the last server, and watch calls from now on.

    Args:
        folder: the user's own folder.
    """
    call = last_call(folder / CALLS)
    held = call is not None and _is_to_blame(folder, call)
    if call is not None and held:
        _set_aside(folder, call)
    Breaker(folder).close(held_by=call.provider if call is not None and held else "")
    _tell_stopped(folder)
    with suppress(OSError):  # on a full disk nobody is watched
        CallBoard(folder / CALLS, SYSTEM_CLOCK.monotonic).watch()


def _tell_stopped(folder: Path) -> None:
    """Write into the journals of sessions that they go on without guidance, where none does yet."""
    for session_id, cost in Breaker(folder).not_told().items():
        journals, stem = journal_folder(folder.parent), f"{HOST}-{session_id}"
        kept = JournalSettings(keep_days=_NO_LIMIT, max_megabytes=_NO_LIMIT)  # removes none
        journal = SessionJournal(stem, JournalOpened(host=HOST), folder=journals, settings=kept)
        if journal.exists:
            with suppress(OSError, TrimtabError):
                journal.record(GuidanceStopped(seconds=cost.seconds, providers=cost.providers))
            journal.close()
        Breaker(folder).told(session_id)


def _is_to_blame(folder: Path, call: Call) -> bool:
    if is_alive(call.pid):
        return False  # it is still at its last events
    ended = ended_at(folder, call.pid)
    return ended is None or ended - call.began >= _HELD_SECONDS


def _set_aside(folder: Path, call: Call) -> None:
    name, ended = call.provider, ended_at(folder, call.pid)
    did = "ended the hook server" if ended is None else "held the hook server until it was ended"
    told = f"{name} {did}, and stays out until you run: trimtab status --bring-back {name}"
    with suppress(OSError):
        at = SYSTEM_CLOCK.now().isoformat(timespec="seconds")
        SetAside(folder.parent).add(name, at=at, host=HOST, reason=did)
    Problems(folder).add(told)
