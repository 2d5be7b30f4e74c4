"""What a store of traces offers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import attrs

from trimtab_trace._envelope import Damage, TraceError, TraceEvent


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

    @property
    def repaired(self) -> int:
        """Bytes of a torn last event that were removed when the trace was opened."""
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
        from trimtab_trace._envelope import TraceDamaged

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
        if is_database(self.path):
            return True
        from trimtab_trace._jsonl import last_epoch

        return last_epoch(self.path) != 0

    def scan(self) -> Iterator[TraceEvent | Damage]:
        """Yield events and damage in the order in which they stand."""
        if is_database(self.path):
            from trimtab_trace._sqlite import scan_database

            return scan_database(self.path, self.name)
        from trimtab_trace._codec import scan_file

        return scan_file(self.path)


def is_database(path: Path) -> bool:
    """Return whether the file is an SQLite database."""
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
