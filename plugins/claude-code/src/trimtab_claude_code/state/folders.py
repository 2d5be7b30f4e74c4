"""Where things lie: what belongs to the user, and what belongs to one project."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path

from trimtab import Configuration
from trimtab.plugins.config import state_home

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def user_folder() -> Path:
    """Return the user's own folder, which no project can write to: token, port, troubles.

    Raises:
        OSError: it can't be made.
    """
    return _private(state_home(Configuration()) / "claude-code")


def sessions_folder(configuration: Configuration) -> Path:
    """Return where the journals of a configuration's sessions lie; it may not exist yet."""
    return state_home(configuration) / "claude-code" / "sessions"


def journal_path(configuration: Configuration, session_id: str) -> Path:
    """Return the file of one Claude Code session, whatever its id holds.

    Raises:
        OSError: the folder can't be made.
    """
    return _private(sessions_folder(configuration)) / f"{_file_name(session_id)}.jsonl"


def _file_name(session_id: str) -> str:
    if _SAFE.fullmatch(session_id):
        return session_id
    raw = session_id.encode("utf-8", "surrogatepass")
    return f"id-{blake2b(raw, digest_size=16).hexdigest()}"


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
