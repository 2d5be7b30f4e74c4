"""The journal of one Claude Code session: what its hooks were told, line by line.

A line is added before its event is handled, so a process that dies loses nothing. From time to
time the file is replaced, at once and whole, by one line with a snapshot of the session.
Imports little: see `noting`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any, NamedTuple


class Moment(NamedTuple):
    """When something was told.

    Args:
        at: wall-clock time, aware UTC.
        seconds: the monotonic clock, in seconds.
    """

    at: datetime
    seconds: float


class Told(NamedTuple):
    """One event that a hook was told, and when."""

    moment: Moment
    payload: Mapping[str, Any]


class Recorded(NamedTuple):
    """What a journal holds.

    Args:
        snapshot: the session at some moment; None at its beginning.
        moment: that moment.
        told: what came after it, oldest first.
    """

    snapshot: str | None = None
    moment: Moment | None = None
    told: tuple[Told, ...] = ()


class Journal:
    """An append-only file; whoever writes holds the session's lock.

    Args:
        path: the file; its folder must exist when something is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Recorded:
        """Return what is there; lines that are damaged, e.g. by a full disk, are left out.

        Raises:
            OSError: the file is there and can't be read.
        """
        try:
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return Recorded()
        return _recorded(_objects(lines))

    def append(self, moment: Moment, payload: Mapping[str, Any]) -> None:
        """Add one event.

        Raises:
            OSError: it can't be written, e.g. because the disk is full.
        """
        with open(self.path, "ab", opener=_private) as file:
            if _torn(file, self.path):
                file.write(b"\n")
            file.write(_line(moment, payload=payload))

    def replace(self, moment: Moment, snapshot: str) -> None:
        """Put a snapshot in the place of everything.

        Raises:
            OSError: it can't be written; the journal is as it was.
        """
        fresh = self.path.with_suffix(".new")
        with open(fresh, "wb", opener=_private) as file:
            file.write(_line(moment, snapshot=snapshot))
        fresh.replace(self.path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


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
    told: list[Told] = []
    for moment, found in objects:
        if isinstance(found.get("snapshot"), str):
            recorded, told = Recorded(found["snapshot"], moment), []
        elif isinstance(found.get("payload"), dict):
            told.append(Told(moment, found["payload"]))
    return recorded._replace(told=tuple(told))
