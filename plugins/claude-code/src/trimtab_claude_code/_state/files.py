"""Files that only the user can read; standard library only."""

from __future__ import annotations

import os
from pathlib import Path


def private(path: str, flags: int) -> int:
    """Open a file for the user alone: an ``opener`` for `open`."""
    return os.open(path, flags, 0o600)


def replace(path: Path, content: bytes) -> None:
    """Put `content` in the place of a file, at once and whole.

    Raises:
        OSError: it can't be written; the file is as it was.
    """
    fresh = path.with_name(f"{path.name}.new")
    try:
        with open(fresh, "wb", opener=private) as file:
            file.write(content)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def make_private(folder: Path) -> Path:
    """Make a folder that only the user can enter, and return it.

    Raises:
        OSError: it can't be made.
    """
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name != "nt" and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    return folder
