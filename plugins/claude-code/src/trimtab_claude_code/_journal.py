"""Where files lie: the user's, a project's, and the journal of one Claude Code session.

A line is added before its event is handled, so a process that dies loses nothing. From time to
time the file is replaced, at once and whole, by one line with a snapshot of the session. Decisions
are only ever found in the snapshot: one is written before the agent reads a decision.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

import attrs

from trimtab import SYSTEM_CLOCK, Clock, TrimtabError
from trimtab.inspection import state_home
from trimtab_claude_code._files import file_name, make_private, private, replace


class Moment(NamedTuple):
    """When something happened: wall-clock time in UTC, and the monotonic clock."""

    at: datetime
    seconds: float


class Received(NamedTuple):
    """One event, and when it came."""

    moment: Moment
    payload: Mapping[str, Any]


class Recorded(NamedTuple):
    """What a journal holds.

    Args:
        stamp: the same as long as the same providers would decide the same.
        snapshot: the session at some moment; None at its beginning.
        moment: that moment.
        began: monotonic seconds at which the session's process began, None if unknown.
    """

    stamp: str = ""
    snapshot: str | None = None
    moment: Moment | None = None
    began: float | None = None
    received: tuple[Received, ...] = ()


class Superseded(Exception):  # not an error: the other process does the work
    """Another process has taken up the session and writes its journal."""


class Journal:
    """An append-only file, written by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._whole = False  # whether the last line is known to be whole
        self._last: tuple[int, int] | None = None  # what the file was after our last access

    def read(self) -> Recorded:
        """Return what the file holds; damaged lines, e.g. of a full disk, are left out."""
        try:
            self._last = self._now()
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return Recorded()
        return _recorded(_objects(lines))

    def append(self, moment: Moment, payload: Mapping[str, Any], stamp: str) -> int:
        """Add one event and return its size; a new file begins with the stamp."""
        before = self._now()
        with open(self.path, "ab", opener=private) as file:
            if not file.tell():
                file.write(_line(moment, stamp=stamp))
            elif not self._whole and _torn(file, self.path):
                file.write(b"\n")
            self._whole = False
            size = file.write(_line(moment, payload=payload))
        self._whole = True
        self._last = self._now() if self._is_ours(before) else before
        return size

    def replace(
        self, moment: Moment, snapshot: str, stamp: str, began: float | None = None
    ) -> None:
        """Put a snapshot in the place of everything, unless another process writes it too."""
        if not self._is_ours(self._now()):
            raise Superseded
        line = _line(moment, stamp=stamp, began=began, snapshot=snapshot)
        replace(self.path, line)
        self._last = self._now()

    def _now(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size

    def _is_ours(self, now: tuple[int, int] | None) -> bool:
        return now is None or self._last is None or now == self._last


def _torn(file: IO[bytes], path: Path) -> bool:
    """Whether the last line was cut off in the middle."""
    if not file.tell():
        return False
    with path.open("rb") as written:
        written.seek(-1, os.SEEK_END)
        return written.read() != b"\n"


def _line(moment: Moment, **fields: Any) -> bytes:
    stamp = {"at": moment.at.isoformat(), "seconds": moment.seconds}
    return json.dumps({**stamp, **fields}).encode("utf-8") + b"\n"


def _objects(lines: list[bytes]) -> Iterator[tuple[Moment, dict[str, Any]]]:
    for line in lines:
        try:
            found = json.loads(line)
            moment = Moment(datetime.fromisoformat(found["at"]), float(found["seconds"]))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        yield moment, found


def _recorded(objects: Iterator[tuple[Moment, dict[str, Any]]]) -> Recorded:
    recorded = Recorded()
    received: list[Received] = []
    for moment, found in objects:
        stamp = str(found.get("stamp") or recorded.stamp)
        if isinstance(found.get("snapshot"), str):
            recorded = Recorded(stamp, found["snapshot"], moment, _seconds(found.get("began")))
            received = []
        elif isinstance(found.get("payload"), dict):
            received.append(Received(moment, found["payload"]))
        else:
            recorded = recorded._replace(stamp=stamp)
    return recorded._replace(received=tuple(received))


def _seconds(found: object) -> float | None:
    return float(found) if isinstance(found, int | float) else None


class ReplayClock:
    """Shows a recorded moment while one is set, else the real time, which never goes back."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._moment: Moment | None = None
        self._ahead = 0.0

    def now(self) -> datetime:
        return self._moment.at if self._moment else self._clock.now()

    def monotonic(self) -> float:
        if self._moment:
            return self._moment.seconds
        return self._clock.monotonic() + self._ahead

    def moment(self) -> Moment:
        """Return the time in both senses."""
        return Moment(self.now(), self.monotonic())

    def show(self, moment: Moment) -> None:
        """Show a recorded moment until `go_on`; the machine may have been restarted since."""
        latest = self._moment.seconds if self._moment else moment.seconds
        self._moment = Moment(moment.at, max(moment.seconds, latest))

    def go_on(self) -> None:
        """Show the real time again; where the machine was restarted, the wall clock bridges it."""
        moment, self._moment = self._moment, None
        behind = moment.seconds - self._clock.monotonic() if moment else 0.0
        if moment and behind > 0:
            passed = (self._clock.now() - moment.at).total_seconds()
            self._ahead = behind + max(0.0, passed)


@attrs.frozen
class IndexEntry:
    """Where a session's journal is, and the folder in which it began."""

    journal: str
    project: str


class SessionIndex:
    """Finds the journal of a session wherever its agent is, and all journals to remove them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "index"

    def find(self, session_id: str) -> IndexEntry | None:
        """Return a session whose journal exists."""
        entry = _read(self._folder / file_name(session_id, ".json"))
        return entry if entry and Path(entry.journal).exists() else None

    def keep(self, session_id: str, entry: IndexEntry) -> None:
        """Add or change a session."""
        file = make_private(self._folder) / file_name(session_id, ".json")
        if _read(file) != entry:
            replace(file, json.dumps(attrs.asdict(entry)).encode())
            self._forget_removed()

    def journals(self) -> tuple[Path, ...]:
        """Return the journals that exist."""
        return tuple(Path(entry.journal) for _, entry in self._entries() if _exists(entry))

    def remove_journals(self) -> int:
        """Remove all journals and the index; return how many journals there were."""
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


SUFFIXES = (".jsonl", ".jsonl.new")
"""Of saved sessions, and of what is written to replace one."""


class StateError(TrimtabError):
    """The user's own folder can't be used."""


def user_folder(*, make: bool = True) -> Path:
    """Return the user's own folder, which no project can write to."""
    folder = state_home() / "claude-code"
    try:
        return make_private(folder) if make else folder
    except OSError as error:
        raise StateError(
            f"{folder} can't be made: {error.strerror}. Set TRIMTAB_HOME to a folder that you can "
            "write to."
        ) from error


def sessions_folder(state: Path) -> Path:
    """Return where the journals of sessions lie; it may not exist yet."""
    return state / "claude-code" / "sessions"


def journal_path(state: Path, session_id: str) -> Path:
    """Return the file of one Claude Code session.

    Raises:
        OSError: its folder can't be made.
        StateError: a part of its path is a link, or belongs to another user. A repository may
            bring such a link along, and old files in the folder are removed.
    """
    folder = sessions_folder(state)
    in_project = folder.parents[1].name == ".trimtab"
    own = (folder.parents[1], folder.parent, folder) if in_project else (folder,)
    for part in own:
        _check_own(part)
    make_private(folder)
    for above in folder.parents:
        if above.name == ".trimtab" and not os.path.lexists(above / ".gitignore"):
            (above / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder / file_name(session_id, ".jsonl")


def _check_own(folder: Path) -> None:
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        raise StateError(f"{folder} is not a folder; remove it")
    if os.name != "nt" and found.st_uid != os.geteuid():
        raise StateError(f"{folder} belongs to another user; remove it")
