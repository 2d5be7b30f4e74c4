"""Where the user's files lie, and the journal of one Claude Code session.

A line is added before its event is handled, so a process that dies loses nothing. From time to
time the file is replaced, at once and whole, by one line with a snapshot of the session. Decisions
are only ever found in the snapshot: one is written before the agent reads a decision.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

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
        project, stamp: as for `Journal`.
        snapshot: the session at some moment; None at its beginning.
        moment: that moment.
        began: monotonic seconds at which the session's process began, None if unknown.
    """

    project: str = ""
    stamp: str = ""
    snapshot: str | None = None
    moment: Moment | None = None
    began: float | None = None
    received: tuple[Received, ...] = ()


class Superseded(Exception):  # not an error: the other process does the work
    """Another process has taken up the session and writes its journal."""


class Journal:
    """An append-only file, written by one process at a time.

    Args:
        project: the folder in which the session began.
        stamp: the same as long as the same providers would decide the same.
    """

    def __init__(self, path: Path, project: str = "", stamp: str = "") -> None:
        self.path = path
        self.stamp = stamp
        self._origin = {"project": project, "stamp": stamp}
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

    def append(self, moment: Moment, payload: Mapping[str, Any]) -> int:
        """Add one event and return its size; a new file first says where the session began."""
        before = self._now()
        with open(self.path, "ab", opener=private) as file:
            if not file.tell():
                file.write(_line(moment, **self._origin))
            elif not self._whole and _torn(file, self.path):
                file.write(b"\n")
            self._whole = False
            size = file.write(_line(moment, payload=payload))
        self._whole = True
        self._last = self._now() if self._is_ours(before) else before
        return size

    def replace(self, moment: Moment, snapshot: str, began: float | None = None) -> None:
        """Put a snapshot in the place of everything, unless another process writes it too."""
        if not self._is_ours(self._now()):
            raise Superseded
        line = _line(moment, **self._origin, began=began, snapshot=snapshot)
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
        project = str(found.get("project") or recorded.project)
        stamp = str(found.get("stamp") or recorded.stamp)
        if isinstance(found.get("snapshot"), str):
            began = _seconds(found.get("began"))
            recorded = Recorded(project, stamp, found["snapshot"], moment, began)
            received = []
        elif isinstance(found.get("payload"), dict):
            received.append(Received(moment, found["payload"]))
        else:
            recorded = recorded._replace(project=project, stamp=stamp)
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


def session_file(folder: Path, session_id: str) -> Path:
    """Return where a session is saved; its folder may not exist yet."""
    return folder / "sessions" / file_name(session_id, ".jsonl")
