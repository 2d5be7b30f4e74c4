"""Where files lie: those of the user, and those of one project."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from trimtab import TrimtabError
from trimtab.inspection import state_home
from trimtab_claude_code._state.files import file_name, make_private

SUFFIXES = (".jsonl", ".jsonl.new")
"""Of saved sessions, and of what is written to replace one."""


class StateError(TrimtabError):
    """The user's own folder can't be used."""


def user_folder(*, make: bool = True) -> Path:
    """Return the user's own folder, which no project can write to.

    Args:
        make: make it where it is missing.

    Raises:
        StateError: it can't be made.
    """
    folder = state_home() / "claude-code"
    try:
        return make_private(folder) if make else folder
    except OSError as error:
        raise StateError(
            f"{folder} can't be made: {error.strerror}. Set TRIMTAB_HOME to a folder that you can "
            "write to."
        ) from error


def sessions_folder(state: Path) -> Path:
    """Return where the journals of sessions lie; it may not exist yet.

    Args:
        state: the state folder of a configuration, or of the user.
    """
    return state / "claude-code" / "sessions"


def journal_path(state: Path, session_id: str) -> Path:
    """Return the file of one Claude Code session.

    Raises:
        OSError: its folder can't be made.
        StateError: a part of its path is a link, or belongs to another user. A repository may
            bring such a link along, and old files in the folder are removed.
    """
    folder = sessions_folder(state)
    own = (folder.parents[1], folder.parent, folder) if _is_in_project(folder) else (folder,)
    for part in own:
        _check_own(part)
    make_private(folder)
    for above in folder.parents:
        if above.name == ".trimtab":
            _ignore(above / ".gitignore")
    return folder / file_name(session_id, ".jsonl")


def _is_in_project(folder: Path) -> bool:
    return folder.parents[1].name == ".trimtab"


def _check_own(folder: Path) -> None:
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        raise StateError(f"{folder} is not a folder; remove it")
    if os.name != "nt" and found.st_uid != os.geteuid():
        raise StateError(f"{folder} belongs to another user; remove it")


def _ignore(path: Path) -> None:
    if not os.path.lexists(path):
        path.write_text("*\n", encoding="utf-8")
