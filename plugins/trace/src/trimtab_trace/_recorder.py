"""Recorders: observers of a run that a prompt names, and that write its trace."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any, Literal

import attrs

from trimtab import Event, RecorderContext
from trimtab.hosting import names_known
from trimtab.inspection import state_home
from trimtab_trace._codec import BadLine, Durability, decode_line
from trimtab_trace._envelope import References, TraceError, TraceEvent, versions_of
from trimtab_trace._secrets import Redactor, redactor
from trimtab_trace._settings import in_force, settings_of
from trimtab_trace._sqlite import SqliteStore
from trimtab_trace._store import JsonlStore, Trace, TraceStore, hold, is_database
from trimtab_trace._writer import TraceWriter

_LONGEST_LINE = 1 << 20
"""Bytes of a first line; it holds the settings of a prompt."""


def remove_old(folder: Path, keep: int, current: Path, name_of: Callable[[str], str]) -> None:
    """Remove the oldest traces of a folder, so that `keep` are left.

    The folder may be the user's: a file is a trace of the recorder if its first line is an intact
    event that begins a run, and it has the name that the recorder gives to the trace of that run.
    """
    others = [found for found in _traces(folder, name_of) if found[1] != current]
    for _, path in sorted(others, reverse=True)[keep - 1 :]:
        _remove(path)


def _traces(folder: Path, name_of: Callable[[str], str]) -> Iterator[tuple[int, Path]]:
    for path in folder.glob("*.jsonl"):
        try:
            if path.is_symlink() or not path.is_file():
                continue
            with path.open("rb") as file:
                event = decode_line(file.readline(_LONGEST_LINE).rstrip(b"\n"))
            if event.event_type == "RunConfigured" and name_of(event.run_id) == path.name:
                yield path.stat().st_mtime_ns, path
        except (OSError, BadLine):
            continue


def _remove(path: Path) -> None:
    """Remove a trace unless another writer, in this process or elsewhere, holds it."""
    try:
        file = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return
    try:
        hold(file, path)
        path.unlink()
    except (OSError, TraceError):
        return
    finally:
        os.close(file)


_LONGEST_NAME = 120
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


class Recording:
    """Writes one run to a trace.

    Args:
        writer: of the trace.
        close: whether the end of the run closes it.
    """

    def __init__(self, writer: TraceWriter | SessionTrace, *, close: bool = True) -> None:
        self.writer = writer
        self._close = close

    def record(self, event: Any) -> None:
        """Append one event of the run."""
        self.writer.record(event)

    def close(self) -> None:
        """The run has ended."""
        if self._close:
            self.writer.close()


def file_name(run_id: str) -> str:
    """Return a run's identifier as the name of a file, without its suffix.

    Where a name can't hold the identifier as it is, or a file system could take it for that of
    another, a digest of it follows.
    """
    name = _UNSAFE.sub("_", run_id)[:_LONGEST_NAME].lstrip(".")
    if name == run_id and name == name.lower():
        return name
    digest = blake2b(run_id.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{name or 'run'}-{digest}"


def begin(writer: TraceWriter, context: RecorderContext) -> None:
    """Write what the run was opened with, the first event of its trace."""
    settings = settings_of(context)
    versions = writer.versions[settings.prompt] = versions_of(context.prompt)
    writer.write(
        "RunConfigured",
        attrs.asdict(settings, recurse=False),
        run_id=context.run_id,
        actor=context.agent_id or "main",
        references=versions.added(References(namespace=settings.prompt), None),
    )


Syncs = Literal["none", "barrier", "interval", "each"]
"""The names of `Durability`."""


@names_known()
class JsonlTrace:
    """The recorder ``jsonl-trace``: one file of JSON lines per run, ``RUN_ID.jsonl``.

    Args:
        folder: where the files are; ``traces`` in the state folder of the prompt where None.
        durability: when to sync to the disk: ``"none"``, ``"barrier"``, ``"interval"`` or
            ``"each"``.
        redact: take well-known forms of secrets out of what is written, and these: names, with
            ``*`` as in ``"*token*"``, and beginnings, as in ``"acme-key-"``. Nothing is taken out
            where None.
        keep: traces of this recorder that stay in the folder; older ones are removed when a run
            opens, but for those that are still written. None keeps all.
    """

    name = "jsonl-trace"

    def __init__(
        self,
        folder: str | None = None,
        *,
        durability: Syncs = "barrier",
        redact: Iterable[str] | None = None,
        keep: int | None = None,
    ) -> None:
        self._folder = Path(folder) if folder else None
        self._durability = Durability.of(durability).value
        self._redact = _redactor(redact)
        if keep is not None and keep < 1:
            raise TraceError(f"keep must be 1 or more, or None for all, not {keep!r:.60}")
        self._keep = keep

    def open(self, context: RecorderContext) -> Recording:
        """Start to record a run."""
        folder = self._folder or default_folder(context)
        path = folder / f"{file_name(context.run_id)}.jsonl"
        store = JsonlStore(path, durability=self._durability)
        if self._keep is not None:
            remove_old(folder, self._keep, path, lambda run_id: f"{file_name(run_id)}.jsonl")
        return _recording(store, context, self._redact)


@names_known()
class SqliteTrace:
    """The recorder ``sqlite-trace``: one database for many runs.

    Args:
        path: the database; ``traces.db`` in the state folder of the prompt where None.
        durability, redact: as for `JsonlTrace`.
    """

    name = "sqlite-trace"

    def __init__(
        self,
        path: str | None = None,
        *,
        durability: Syncs = "barrier",
        redact: Iterable[str] | None = None,
    ) -> None:
        self._path = Path(path) if path else None
        self._durability = Durability.of(durability).value
        self._redact = _redactor(redact)

    def open(self, context: RecorderContext) -> Recording:
        """Start to record a run."""
        path = self._path or default_folder(context) / "traces.db"
        store = SqliteStore(path, context.run_id, durability=self._durability)
        return _recording(store, context, self._redact)


def _recording(store: TraceStore, context: RecorderContext, redact: Redactor | None) -> Recording:
    try:
        writer = TraceWriter(store, clock=context.session.clock, redact=redact)
        begin(writer, context)
    except BaseException:
        store.close()
        raise
    return Recording(writer)


def _redactor(keys: Iterable[str] | None) -> Redactor | None:
    if keys is None:
        return None
    return redactor(tuple(keys))


def default_folder(context: RecorderContext) -> Path:
    """Return the folder of traces: ``traces`` in the state folder of the prompt."""
    return (context.state_folder or state_home()) / "traces"


class SessionTrace:
    """Writes all runs of one session to one file.

    Give it to the runs of a session, one after the other; close it when the session is over.

    Args:
        path: the file.
        durability, redact: as for `JsonlTrace`.
    """

    name = "session-trace"

    def __init__(
        self,
        path: Path | str,
        *,
        durability: str = "none",
        redact: Iterable[str] | None = None,
    ) -> None:
        store = JsonlStore(path, durability=durability)
        self._writer = TraceWriter(store, redact=_redactor(redact))
        self._last: object = None

    def open(self, context: RecorderContext) -> Recording:
        """Start to record a run."""
        self._writer.clock = context.session.clock
        begin(self._writer, context)
        return Recording(self, close=False)

    def record(self, event: object) -> None:
        """Append one event; a record that reaches every run of the session is written once."""
        if isinstance(event, Event) or event is not self._last:
            self._last = event
            self._writer.record(event)

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._writer.close()


_BEGINNING = 8
"""Events among which the opening of a run that has a file of its own stands."""


def with_origin(events: Iterable[TraceEvent]) -> Iterable[TraceEvent]:
    """Return the events in force, behind those of the run that this one was forked from.

    A fork that has a file of its own begins with the state of its parent, whose trace lies beside
    it; what the parent did after the fork is left out.
    """
    kept = in_force(events)
    if not isinstance(events, Trace) or is_database(events.path):
        return kept
    opened = next((e for e in islice(events, _BEGINNING) if e.event_type == "RunOpened"), None)
    parent = opened.payload.get("forked_from") if opened is not None else None
    if opened is None or not isinstance(parent, str) or not parent:
        return kept
    path = events.path.with_name(f"{file_name(parent)}.jsonl")
    if path == events.path:
        return kept
    if not path.is_file():
        raise TraceError(
            f"{events.path}: its run was forked from {parent!r:.100}, whose trace is not beside it:"
            f" put {path.name} there"
        )
    before = with_origin(Trace(path, strict=events.strict))
    return chain(takewhile(lambda event: event.timestamp <= opened.timestamp, before), kept)
