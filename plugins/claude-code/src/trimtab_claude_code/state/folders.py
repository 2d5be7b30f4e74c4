"""Where things lie: what belongs to the user, and what belongs to one project."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from trimtab.inspection import state_home
from trimtab_claude_code.state.names import journal_name

KEPT = timedelta(days=30)
"""How long a journal is kept after its last event."""


def user_folder(*, make: bool = True) -> Path:
    """Return the user's own folder, which no project can write to: token, port, troubles.

    Args:
        make: where it is not there yet.

    Raises:
        OSError: it can't be made.
    """
    folder = state_home() / "claude-code"
    return _private(folder) if make else folder


def sessions_folder(configuration: Path | None) -> Path:
    """Return where the journals of a configuration's sessions lie; it may not exist yet.

    Args:
        configuration: the configuration's file; None where there is none.
    """
    return state_home(configuration) / "claude-code" / "sessions"


def journal_path(configuration: Path | None, session_id: str) -> Path:
    """Return the file of one Claude Code session, whatever its id holds.

    Args:
        configuration: the configuration's file; None where there is none.
        session_id: the session.

    Raises:
        OSError: the folder can't be made.
    """
    return _private(sessions_folder(configuration)) / journal_name(session_id)


def forget_old(folder: Path, now: datetime) -> None:
    """Remove the journals of sessions in which nothing has happened for 30 days.

    Args:
        folder: where they lie.
        now: the time, aware.

    Raises:
        OSError: one can't be looked at or removed.
    """
    oldest = (now - KEPT).timestamp()
    for file in folder.iterdir():
        if file.suffix in (".jsonl", ".lock", ".new") and file.stat().st_mtime < oldest:
            file.unlink(missing_ok=True)


def _private(folder: Path) -> Path:
    """Make a folder for the user's eyes alone, and keep it out of version control."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for above in folder.parents:
            if above.name == ".trimtab":
                _ignore(above / ".gitignore")
    return folder


def _ignore(path: Path) -> None:
    if not os.path.lexists(path):
        path.write_text("*\n", encoding="utf-8")
