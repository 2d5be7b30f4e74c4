"""Which sessions have a journal, and where: kept in the user's own folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import attrs

from trimtab import SYSTEM_CLOCK
from trimtab_claude_code._state.files import file_name, make_private, replace


@attrs.frozen
class IndexEntry:
    """One session.

    Args:
        journal: its journal's path.
        project: the folder in which it began.
    """

    journal: str
    project: str


class SessionIndex:
    """Finds the journal of a session wherever its agent is, and all journals to remove them.

    Args:
        folder: the user's own folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "index"

    def find(self, session_id: str) -> IndexEntry | None:
        """Return a session whose journal exists."""
        entry = _read(self._folder / file_name(session_id, ".json"))
        return entry if entry and Path(entry.journal).exists() else None

    def keep(self, session_id: str, entry: IndexEntry) -> None:
        """Add or change a session.

        Raises:
            OSError: it can't be written.
        """
        file = make_private(self._folder) / file_name(session_id, ".json")
        if _read(file) != entry:
            replace(file, json.dumps(attrs.asdict(entry)).encode())
            self._forget_removed()

    def journals(self) -> tuple[Path, ...]:
        """Return the journals that exist."""
        return tuple(Path(entry.journal) for _, entry in self._entries() if _exists(entry))

    def remove_journals(self) -> int:
        """Remove all journals and the index; return how many journals there were.

        Raises:
            OSError: one can't be removed.
        """
        removed = 0
        for file, entry in self._entries():
            removed += _exists(entry)
            Path(entry.journal).unlink(missing_ok=True)
            file.unlink(missing_ok=True)
        return removed

    def _entries(self) -> Iterator[tuple[Path, IndexEntry]]:
        for file in sorted(self._folder.glob("*.json")):
            entry = _read(file)
            if entry is not None:
                yield file, entry

    def _forget_removed(self) -> None:
        """Forget sessions whose journals were removed, e.g. for their age."""
        for file, entry in self._entries():
            journal = Path(entry.journal)
            if journal.parent.is_dir() and not journal.exists() and not _fresh(file):
                file.unlink(missing_ok=True)


def _fresh(file: Path) -> bool:
    """Whether an entry may belong to a session whose journal is not written yet."""
    return SYSTEM_CLOCK.now().timestamp() - file.stat().st_mtime < 86_400


def _exists(entry: IndexEntry) -> bool:
    return Path(entry.journal).exists()


def _read(file: Path) -> IndexEntry | None:
    try:
        found = json.loads(file.read_bytes())
        return IndexEntry(str(found["journal"]), str(found["project"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
