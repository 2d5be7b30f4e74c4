"""Traces in an SQLite database: many runs in one file, several processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Lock

import attrs

from trimtab_trace._codec import (
    BadLine,
    Durability,
    SyncPolicy,
    decode_line,
    encode_line,
    gap,
)
from trimtab_trace._envelope import (
    Damage,
    TraceBusy,
    TraceError,
    TraceEvent,
    TraceWriteError,
    encoded,
)

_SCHEMA = """
create table if not exists event (
    id integer primary key,
    trace text not null,
    seq integer not null,
    epoch integer not null,
    run_id text not null,
    event_type text not null,
    body blob not null,
    unique (trace, seq)
)
"""
_INSERT = "insert into event (trace, seq, epoch, run_id, event_type, body) values (?,?,?,?,?,?)"
_LAST = "select seq, epoch from event where trace = ? order by seq desc limit 1"
_EARLIER = "select body from event where trace = ? and epoch < ? and instr(body, ?) order by seq"
_VERSION = 1
_WAIT = 5.0


class SqliteStore:
    """Appends to one trace of a database.

    Args:
        path: the database; made with its folder where it is missing.
        name: of the trace in it, e.g. the run's identifier.
        durability: when to sync, a name of `Durability`.

    Raises:
        TraceError: the database can't be made or written, or is of another kind.
    """

    def __init__(self, path: Path | str, name: str = "run", *, durability: str = "barrier") -> None:
        self.path = Path(path)
        self.name = name
        self._policy = SyncPolicy(Durability.of(durability))
        self._lock = Lock()
        self._database: sqlite3.Connection | None = _connect(self.path)
        self._full = False
        last = self._database.execute(_LAST, (name,)).fetchone()
        self.next_seq: int = last[0] + 1 if last else 0
        self.epoch: int = last[1] + 1 if last else 0

    def append(self, event: TraceEvent, *, durable: bool = False) -> TraceEvent:
        """Add one event; see `TraceStore.append`.

        Raises:
            TraceBusy: another writer added an event in this one's place.
        """
        with self._lock:
            if self._database is None:
                raise TraceWriteError(f"the trace {self.path} is closed; open it again to append")
            event = attrs.evolve(event, seq=self.next_seq, epoch=self.epoch)
            body = encode_line(event)
            self._insert(self._database, event, body, durable=durable)
            self.next_seq += 1
        return event

    def find(self, event_id: str) -> TraceEvent | None:
        """Return the event of this id that was in the trace when it was opened, or None.

        Args:
            event_id: as in `TraceEvent`.
        """
        with self._lock:
            if self._database is None or not self.epoch:
                return None
            rows = self._database.execute(_EARLIER, (self.name, self.epoch, encoded(event_id)))
            for (body,) in rows:
                try:
                    event = decode_line(body)
                except BadLine:
                    continue
                if event.event_id == event_id:
                    return event
        return None

    def _insert(
        self, database: sqlite3.Connection, event: TraceEvent, body: bytes, *, durable: bool
    ) -> None:
        full = self._policy.due(event.event_type, durable=durable)
        row = (self.name, event.seq, event.epoch, event.run_id, event.event_type, body[:-1])
        try:
            if full is not self._full:
                database.execute(f"pragma synchronous = {'full' if full else 'normal'}")
                self._full = full
            database.execute(_INSERT, row)
        except sqlite3.IntegrityError:
            raise TraceBusy(
                f"another writer added event {event.seq} to trace {self.name!r} in {self.path};"
                " open the trace again to append behind it"
            ) from None
        except sqlite3.Error as error:
            raise TraceWriteError(
                f"can't write to the trace {self.path}: {error}; the event was left out,"
                " append again when the cause is gone"
            ) from error

    def close(self) -> None:
        """Close the database; closing twice is harmless."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None


def _connect(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=_WAIT
        )
    except (OSError, sqlite3.Error) as error:
        raise _unusable(path, error) from None
    try:
        version = database.execute("pragma user_version").fetchone()[0]
        if version > _VERSION:
            raise TraceError(
                f"the traces in {path} have format {version}; this release reads {_VERSION}"
            )
        database.execute("pragma journal_mode = wal")
        database.execute("pragma synchronous = normal")
        database.execute(_SCHEMA)
        database.execute(f"pragma user_version = {_VERSION}")
    except sqlite3.Error as error:
        database.close()
        raise _unusable(path, error) from None
    except TraceError:
        database.close()
        raise
    return database


def _unusable(path: Path, error: Exception) -> TraceError:
    why = error.strerror if isinstance(error, OSError) else error
    return TraceError(f"can't write traces to {path}: {why}; choose a file that can be written")


def traces_in(path: Path | str) -> list[str]:
    """Return the names of the traces in a database, in the order of their first events.

    Args:
        path: of the database file.

    Raises:
        TraceError: it can't be read.
    """
    with closing(_reader(Path(path))) as database:
        try:
            rows = database.execute("select trace from event group by trace order by min(id)")
            return [name for (name,) in rows]
        except sqlite3.Error as error:
            raise TraceError(f"can't read traces from {path}: {error}") from None


def _reader(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT)
    except sqlite3.Error as error:
        raise TraceError(f"can't read traces from {path}: {error}") from None


def scan_database(path: Path, name: str | None = None) -> Iterator[TraceEvent | Damage]:
    """Yield the events of one trace in order, and what is damaged where it stands."""
    known = traces_in(path)
    if name is None and len(known) == 1:
        name = known[0]
    if name not in known:
        listed = ", ".join(known[:5]) + (", …" if len(known) > 5 else "")
        wanted = f"no trace {name!r}" if name else f"{len(known):,} traces"
        raise TraceError(f"{path} holds {wanted}; name one of: {listed or 'none'}")
    with closing(_reader(path)) as database:
        yield from _rows(database, str(name))


def _rows(database: sqlite3.Connection, name: str) -> Iterator[TraceEvent | Damage]:
    expected = 0
    try:
        for (what,) in database.execute("pragma quick_check(1)"):
            if what != "ok":
                yield Damage("the database", str(what))
        select = "select id, seq, body from event where trace = ? order by seq"
        for row, seq, body in database.execute(select, (name,)):
            if seq != expected:
                yield gap(expected, seq)
            expected = seq + 1
            yield _event(row, seq, body)
    except sqlite3.Error as error:
        yield Damage("the database", str(error), expected)


def _event(row: int, seq: int, body: object) -> TraceEvent | Damage:
    try:
        if not isinstance(body, bytes):
            raise BadLine("no bytes")
        event = decode_line(body)
    except BadLine as error:
        return Damage(f"row {row}", str(error), seq)
    if event.seq != seq:
        return Damage(f"row {row}", f"holds event {event.seq} in place of event {seq}", seq)
    return event
