"""Private files, their names and locks, and problems kept in one; standard library only."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PAUSE = 0.005


def private(path: str, flags: int) -> int:
    """Open a file for the user alone: an ``opener`` for `open`."""
    return os.open(path, flags, 0o600)


def replace(path: Path, content: bytes) -> None:
    """Put `content` in the place of a file, at once and whole, or leave the file as it was."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        with open(fresh, "wb", opener=private) as file:
            file.write(content)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def make_private(folder: Path) -> Path:
    """Make a folder that only the user can enter, and return it."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name != "nt" and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def file_name(session_id: str, suffix: str) -> str:
    """Return the name of a session's file, whatever its id holds."""
    if _SAFE.fullmatch(session_id):
        return f"{session_id}{suffix}"
    from hashlib import blake2b  # the launcher needs none of it

    raw = session_id.encode("utf-8", "surrogatepass")
    return f"id-{blake2b(raw, digest_size=16).hexdigest()}{suffix}"


class Busy(Exception):  # the launcher runs without trimtab
    """Another process held the lock for too long."""


@contextmanager
def locked(path: Path, timeout: float) -> Iterator[None]:
    """Hold the lock file `path`; `Busy` if another process holds it for `timeout` seconds."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        for _ in range(max(1, int(timeout / _PAUSE))):
            if _acquire(handle):
                break
            time.sleep(_PAUSE)
        else:
            raise Busy(f"{path.name} was not free within {timeout:g} s")
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _acquire(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _acquire(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_LONGEST = 500
_MAX_BYTES = 64_000


class Problem(NamedTuple):
    """One line for the user, and when it was (ISO 8601; empty if it could not be stored)."""

    message: str
    at: str = ""


class Problems:
    """A short list on disk, shown once at the beginning or end of the next session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._new = folder / "problems.jsonl"
        self._old = folder / "problems.seen.jsonl"
        self._unwritten: list[Problem] = []

    def add(self, message: str) -> None:
        """Store a message once, in memory if it can't be written. Never raises."""
        message = _one_line(message)
        if any(known.message == message for known in (*self._unwritten, *_read(self._new))):
            return
        try:
            self._write(Problem(message, datetime.now(UTC).isoformat()))  # noqa: TID251  # runs without trimtab
        except OSError:
            self._unwritten.append(Problem(message))

    def _write(self, problem: Problem) -> None:
        with open(self._new, "a", encoding="utf-8", opener=private) as file:
            if file.tell() < _MAX_BYTES:
                file.write(json.dumps(problem._asdict()) + "\n")

    def take_new(self) -> tuple[Problem, ...]:
        """Return the problems that the user has not seen yet, and count them as seen."""
        new = self.new()
        self._unwritten = []
        if new:
            try:
                self._new.replace(self._old)
            except OSError:
                pass
        return new

    def new(self) -> tuple[Problem, ...]:
        """Return the problems that the user has not seen yet."""
        return (*_read(self._new), *self._unwritten)

    def all(self) -> tuple[Problem, ...]:
        """Return the problems that were shown last, and those not seen yet."""
        return (*_read(self._old), *_read(self._new), *self._unwritten)


def _one_line(text: str) -> str:
    """Return a text that a terminal shows as it is: errors may hold the output of tools."""
    plain = "".join(char if char.isprintable() else " " for char in text[: 2 * _LONGEST])
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."


def _read(path: Path) -> Iterator[Problem]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            found = json.loads(line)
            yield Problem(str(found["message"]), str(found["at"]))
        except (ValueError, TypeError, KeyError):
            continue
