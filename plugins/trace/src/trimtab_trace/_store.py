"""What a store of traces offers, and files of JSON lines: one a run, a line break commits."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Protocol

import attrs

from trimtab_trace._codec import (
    BadLine,
    Durability,
    SyncPolicy,
    decode_line,
    encode_line,
    scan_file,
)
from trimtab_trace._envelope import (
    Damage,
    EventIds,
    TraceBusy,
    TraceDamaged,
    TraceError,
    TraceEvent,
    TraceWriteError,
)


class TraceStore(Protocol):
    """A place where one trace is appended to, by one writer at a time."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def next_seq(self) -> int:
        """The `seq` of the next event."""
        ...

    @property
    def epoch(self) -> int:
        """How often the trace had been opened for writing before."""
        ...

    def append(self, event: TraceEvent, *, durable: bool = False) -> TraceEvent:
        """Add one event; return it with its `seq` and `epoch`.

        Args:
            event: its `seq` and `epoch` are ignored.
            durable: sync to the disk before returning, whatever the store's mode.

        Raises:
            EventInvalid: it can't be encoded; nothing was written.
            TraceWriteError: it was not written; the store can be used again.
        """
        ...

    def find(self, event_id: str) -> TraceEvent | None:
        """Return the event of this id that was in the trace when it was opened, or None.

        Args:
            event_id: as in `TraceEvent`.
        """
        ...

    def close(self) -> None:
        """Sync what is written and let other writers in; closing twice is harmless."""
        ...


@attrs.define
class Trace:
    """A trace opened for reading: iterate over it for its events, as often as needed.

    Args:
        path: the file.
        name: of the trace in a database with several; None takes the only one.
        strict: raise at the first damage; else leave it out and collect it in `damages`.

    Attributes:
        damages: what was damaged in the last iteration.
    """

    path: Path
    name: str | None = None
    strict: bool = True
    damages: list[Damage] = attrs.field(factory=list, init=False)

    def __iter__(self) -> Iterator[TraceEvent]:
        """Yield the events in order.

        Raises:
            TraceDamaged: the trace is damaged and `strict` is set.
            TraceError: the file can't be read, or is not a trace.
        """
        self.damages = []
        for item in self.scan():
            if isinstance(item, TraceEvent):
                yield item
            elif self.strict:
                raise TraceDamaged(
                    f"the trace {self.path} is damaged: {item}; `trimtab trace verify` names"
                    " all damages, and open_trace(…, strict=False) leaves damaged events out"
                )
            else:
                self.damages.append(item)

    @property
    def reopened(self) -> bool:
        """Whether a second writer has added to it; True where that is not known."""
        return is_database(self.path) or last_epoch(self.path) != 0

    def scan(self) -> Iterator[TraceEvent | Damage]:
        """Yield events and damage in the order in which they stand."""
        if is_database(self.path):
            from trimtab_trace._sqlite import scan_database

            return scan_database(self.path, self.name)
        return scan_file(self.path)


def is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except FileNotFoundError:
        raise TraceError(f"can't read the trace {path}: no such file") from None
    except OSError as error:
        raise TraceError(f"can't read the trace {path}: {error.strerror}") from None


def open_trace(path: Path | str, name: str | None = None, *, strict: bool = True) -> Trace:
    """Return the trace in a file, JSON lines or SQLite, opened for reading.

    Args:
        path: the file.
        name: of the trace in a database with several.
        strict: raise `TraceDamaged` at the first damage; else collect it in ``damages``.
    """
    return Trace(Path(path), name, strict)


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_CHUNK = 1 << 16
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_sync = getattr(os, "fdatasync", os.fsync)


class JsonlStore:
    """Appends to one file.

    Opening repairs a torn last line: what was never acknowledged is removed. A lock keeps a
    second writer out until `close`.

    Args:
        path: the file; its folder is made where it is missing.
        durability: when to sync, a name of `Durability`.

    Raises:
        TraceBusy: another writer holds the file.
        TraceError: the file or its folder can't be made or written.
    """

    def __init__(self, path: Path | str, *, durability: str = "barrier") -> None:
        self.path = Path(path)
        self._policy = SyncPolicy(Durability.of(durability))
        self._lock = Lock()
        self._file = _open(self.path)
        self._process = os.getpid()
        try:
            hold(self._file, self.path)
            end = _repair(self._file)
        except BaseException:
            os.close(self._file)
            raise
        self.next_seq, self.epoch, self._size = end
        status = os.fstat(self._file)
        self._identity = status.st_dev, status.st_ino
        self._earlier: EventIds | None = None if self._size else EventIds()

    def append(self, event: TraceEvent, *, durable: bool = False) -> TraceEvent:
        """Add one event; see `TraceStore.append`."""
        with self._lock:
            if event.seq != self.next_seq or event.epoch != self.epoch:
                event = attrs.evolve(event, seq=self.next_seq, epoch=self.epoch)
            line = encode_line(event)
            self._write(line)
            self._size += len(line)
            self.next_seq += 1
            if self._policy.due(event.event_type, durable=durable):
                self._sync()
        return event

    def find(self, event_id: str) -> TraceEvent | None:
        """Return the event of this id that was in the trace when it was opened, or None.

        Args:
            event_id: as in `TraceEvent`.
        """
        with self._lock:
            if self._earlier is None:
                self._earlier = EventIds.of(self.path)
            if event_id not in self._earlier:
                return None
        found = (item for item in scan_file(self.path) if isinstance(item, TraceEvent))
        return next((event for event in found if event.event_id == event_id), None)

    def _check(self) -> None:
        """Find out whether this writer may still write, and to the file of that name."""
        if self._file < 0:
            raise TraceWriteError(f"the trace {self.path} is closed; open it again to append")
        if os.getpid() != self._process:
            raise TraceWriteError(
                f"the trace {self.path} was opened by another process, which forked; open a trace"
                " of its own in this one"
            )
        try:
            status = self.path.stat()
            gone = (status.st_dev, status.st_ino) != self._identity
        except OSError:
            gone = True
        if gone:
            raise TraceWriteError(
                f"the trace {self.path} was removed or renamed while it was written; events since"
                " then are not kept. Leave the files of open runs where they are"
            )

    def _write(self, line: bytes) -> None:
        self._check()
        written = 0
        try:
            while written < len(line):
                written += os.write(self._file, line[written:] if written else line)
        except OSError as error:
            self._undo(error)
            raise TraceWriteError(
                f"can't write to the trace {self.path}: {error.strerror}; the event was left out,"
                f" {_advice(error)}"
            ) from error
        except BaseException:
            self._undo(None)
            raise

    def _undo(self, error: OSError | None) -> None:
        """Remove the written part of a line; where that fails, the next opening does it."""
        try:
            os.ftruncate(self._file, self._size)
        except OSError as second:
            os.close(self._file)
            self._file = -1
            raise TraceWriteError(
                f"can't write to the trace {self.path}: {(error or second).strerror}; open it again"
                " to repair its last line"
            ) from second

    def _sync(self) -> None:
        try:
            _sync(self._file)
        except OSError as error:
            raise TraceWriteError(
                f"can't sync the trace {self.path}: {error.strerror}; the last event may be lost"
                f" if the machine stops, {_advice(error)}"
            ) from error

    def close(self) -> None:
        """Sync what is written and let other writers in; closing twice is harmless."""
        with self._lock:
            if self._file < 0:
                return
            try:
                if self._policy.durability is not Durability.NONE:
                    self._sync()
            finally:
                os.close(self._file)
                self._file = -1


def _advice(error: OSError) -> str:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return "free some space and append again" if is_full else "append again when the cause is gone"


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        known = path.exists()
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _FLAGS, 0o600)
    except OSError as error:
        raise TraceError(
            f"can't write the trace {path}: {error.strerror}; choose a folder that can be written"
        ) from None
    if not known:
        _sync_folder(path.parent)
    return file


def read_at(file: int, count: int, offset: int) -> bytes:
    """Return up to `count` bytes of an open file from `offset` on, where a system lacks `pread`.

    The file is opened to append, so that it does not matter where this leaves its position.
    """
    if hasattr(os, "pread"):
        return os.pread(file, count, offset)
    os.lseek(file, offset, os.SEEK_SET)
    parts = []
    while count > 0 and (part := os.read(file, count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _sync_folder(folder: Path) -> None:
    """Make a new file's name survive a crash, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def hold(file: int, path: Path) -> None:
    """Keep other writers out of an open file until it is closed."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise TraceBusy(
            f"another writer holds the trace {path}; close it, or write to another file"
        ) from None
    except OSError:
        return  # a file system without locks


def _repair(file: int) -> tuple[int, int, int]:
    """Return next seq, epoch and size, after the last line is put right."""
    size, tail = os.fstat(file).st_size, _tail(file)
    if tail and _intact(tail):
        os.write(file, b"\n")
        size += 1
    elif tail and _intact(tail[:-1]):  # the line break was changed to another byte
        os.ftruncate(file, size - 1)
        os.write(file, b"\n")
    elif tail:
        size -= len(tail)
        os.ftruncate(file, size)
    return (*_last(file, size), size)


def _tail(file: int) -> bytes:
    """Return what stands behind the last line break."""
    size = os.fstat(file).st_size
    start = _line_start(file, size)
    return read_at(file, size - start, start)


def _intact(line: bytes) -> bool:
    try:
        decode_line(line)
    except BadLine:
        return False
    return True


def _line_start(file: int, end: int) -> int:
    """Return where the line that ends before `end` starts: behind the line break before it."""
    while end > 0:
        begin = max(0, end - _CHUNK)
        found = read_at(file, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _last(file: int, size: int) -> tuple[int, int]:
    """Return the next seq and epoch by the last intact line; damaged ones behind it count."""
    damaged, end = 0, size
    while end > 0:
        start = _line_start(file, end - 1)
        try:
            event = decode_line(read_at(file, end - 1 - start, start))
        except BadLine:
            damaged, end = damaged + 1, start
            continue
        return event.seq + 1 + damaged, event.epoch + 1
    return damaged, 1 if damaged else 0


def last_epoch(path: Path) -> int:
    """Return the epoch of the last intact event; -1 where there is none."""
    with path.open("rb") as file:
        number = file.fileno()
        size = _line_start(number, os.fstat(number).st_size)
        return _last(number, size)[1] - 1


def torn_bytes(path: Path) -> int:
    """Return the length of a last line that was cut short; 0 where the file ends with an event."""
    with path.open("rb") as file:
        tail = _tail(file.fileno())
    return 0 if not tail or _intact(tail) or _intact(tail[:-1]) else len(tail)
