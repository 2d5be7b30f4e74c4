"""Where journals lie, and how old ones go."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from trimtab import SYSTEM_CLOCK
from trimtab.inspection import state_home
from trimtab_trace._journal.settings import JournalSettings

SUFFIX = ".jsonl"
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def journal_folder(state: Path | None = None) -> Path:
    """Return the folder of all journals of this user; it may not exist yet.

    Args:
        state: the user's state folder; the usual one if None.
    """
    return (state or state_home()) / "journals"


def file_stem(name: str) -> str:
    """Return a name as that of a file, whatever it holds."""
    if _SAFE.fullmatch(name):
        return name
    return f"id-{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def make_folder(folder: Path) -> None:
    """Make a folder that only the user can enter.

    Raises:
        OSError: it can't be made.
    """
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name != "nt" and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def journals(folder: Path) -> list[Path]:
    """Return the journals of a folder, the newest first."""
    try:
        return [path for path, _ in _found(folder, (SUFFIX,))]
    except OSError:
        return []


def journals_of(host: str, folder: Path) -> list[Path]:
    """Return the journals of one host, the newest first.

    Args:
        host: its name.
        folder: as `journal_folder` returns it.
    """
    return [path for path in journals(folder) if path.name.startswith(f"{host}-")]


def remove_old_journals(
    folder: Path, settings: JournalSettings, suffixes: tuple[str, ...] = (SUFFIX,)
) -> None:
    """Remove journals that are too old, and the oldest of those that are too large together.

    Args:
        folder: in which they lie.
        settings: the limits.
        suffixes: of the names of files that count.

    Raises:
        OSError: the folder can't be read, or one can't be removed.
    """
    oldest = SYSTEM_CLOCK.now().timestamp() - settings.keep_days * 86_400
    room = settings.max_megabytes * 1e6
    for path, found in _found(folder, suffixes):
        room -= found.st_size
        if found.st_mtime < oldest or room < 0:
            path.unlink(missing_ok=True)


def _found(folder: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the journals of a folder with their status, the newest first."""
    found = []
    for entry in os.scandir(folder):
        if entry.name.endswith(suffixes) and entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):  # another process has removed it
                found.append((Path(entry.path), entry.stat()))
    yield from sorted(found, key=lambda each: -each[1].st_mtime)
