"""The recorder ``journal``: what happened in a session, and what was said, on any host."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

import attrs

from trimtab import Event, Feedback, GuidanceDelivered, RecorderContext
from trimtab.events import (
    CompletionChecked,
    GuidanceSuppressed,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
    RunClosed,
    RunOpened,
    UserMessage,
)
from trimtab_trace._envelope import TraceBusy, new_event_id
from trimtab_trace._journal import (
    SUFFIX,
    GuidanceStopped,
    JournalFull,
    JournalOpened,
    JournalSettings,
    check_size,
    file_stem,
    journal_folder,
    make_folder,
    read_redact,
    remove_old_journals,
)
from trimtab_trace._recorder import begin
from trimtab_trace._secrets import Redaction, bounded
from trimtab_trace._store import JsonlStore
from trimtab_trace._writer import TraceWriter

LARGEST_BYTES = 20_000_000
"""Size of one journal; what is written after it is decisions alone."""

_MOST_WRITERS = 4
_DECISIONS = (
    CompletionChecked,
    Feedback,
    GuidanceDelivered,
    GuidanceStopped,
    GuidanceSuppressed,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
    RunClosed,
    RunOpened,
    UserMessage,
)


class SessionJournal:
    """Writes all runs of one session to one file: a recorder of each of them.

    The file is open while a run is; a run that goes on later is added to it.

    Args:
        stem: name of the file, without its suffix.
        opened: what the journal is about.
        folder: where it lies; `journal_folder` if None.
        settings: how journals are kept.
        redact: names and beginnings of further secrets.
        largest: bytes after which only decisions are written.

    Attributes:
        paused: nothing is written while it is set, e.g. because it was written before.
    """

    name = "journal"

    def __init__(
        self,
        stem: str,
        opened: JournalOpened,
        *,
        folder: Path | None = None,
        settings: JournalSettings | None = None,
        redact: Iterable[str] = (),
        largest: int = LARGEST_BYTES,
    ) -> None:
        self.paused = False
        self._stem = file_stem(stem)
        self._opened = opened
        self._folder = folder or journal_folder()
        self._settings = settings or JournalSettings()
        self._redaction = Redaction(redact)
        self._largest = min(largest, int(self._settings.max_megabytes * 500_000))
        self._lock = RLock()
        self._writer: TraceWriter | None = None
        self._runs = 0
        self._is_full = False
        self._last: object = None

    @property
    def exists(self) -> bool:
        """Whether the session has a journal already."""
        return (self._folder / f"{self._stem}{SUFFIX}").exists()

    def open(self, context: RecorderContext) -> _RunRecording:
        """Start to record a run.

        Raises:
            OSError, TraceError: the file can't be made or written.
        """
        with self._lock:
            if not self.paused:
                writer = self._begun()
                writer.clock = context.session.clock
                begin(writer, context)
            self._runs += 1
        return _RunRecording(self)

    def record(self, event: object) -> None:
        """Append one event; a record that reaches every run of the session is written once."""
        with self._lock:
            if self.paused or (event is self._last and not isinstance(event, Event)):
                return
            self._last = event
            writer = self._begun()
            if not self._is_full and writer.store.path.stat().st_size > self._largest:
                self._is_full = True
                writer.record(JournalFull(megabytes=self._largest / 1e6))
            if not self._is_full or isinstance(event, _DECISIONS):
                writer.record(event)

    def run_ended(self) -> None:
        """Close the file if no run is open any more."""
        with self._lock:
            self._runs -= 1
            if self._runs <= 0:
                self.close()

    def close(self) -> None:
        """Close the file; it is opened again where a run goes on."""
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def _begun(self) -> TraceWriter:
        if self._writer is None:
            make_folder(self._folder)
            remove_old_journals(self._folder, self._settings)
            store = self._store()
            self._writer = TraceWriter(store, redact=self._bounded)
            if not store.next_seq:
                self._writer.record(attrs.evolve(self._opened, process=os.getpid()))
        return self._writer

    def _store(self) -> JsonlStore:
        """Return the file; another one where a process that went on before still holds it."""
        for number in range(_MOST_WRITERS):
            again = f"~{number}" if number else ""
            try:
                path = self._folder / f"{self._stem}{again}{SUFFIX}"
                return JsonlStore(path, durability="none")
            except TraceBusy:
                if number + 1 == _MOST_WRITERS:
                    raise
        raise AssertionError("unreachable")

    def _bounded(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = bounded(dict(payload), self._redaction)
        return found


class _RunRecording:
    """One run in the journal of its session."""

    def __init__(self, journal: SessionJournal) -> None:
        self._journal: SessionJournal | None = journal
        self.record: Callable[[object], None] = journal.record

    def close(self) -> None:
        """The run has ended; closing twice is harmless."""
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.run_ended()


def new_stem(host: str, at: datetime) -> str:
    """Return the name of a new journal's file.

    Args:
        host: name of the runtime.
        at: when the session begins.
    """
    return f"{host}-{at:%Y%m%dT%H%M%S}-{new_event_id()[-8:]}"


class Journal:
    """The recorder ``journal``: one file a session in the user's own folder.

    ``trimtab status`` and ``trimtab watch`` show what stands in it. Well-known forms of secrets
    are taken out of all that is written, and texts are cut.

    Args:
        folder: where journals lie; ``journals`` in the user's state folder if None.
        keep_days: days after the last event, at which a journal is removed.
        max_megabytes: size of all journals of the folder; the oldest are removed first.
        redact: names and beginnings of further secrets, as for `JsonlTrace`.

    Raises:
        ValueError: an option is out of bounds.
    """

    name = "journal"

    def __init__(
        self,
        folder: str | None = None,
        *,
        keep_days: float = 30.0,
        max_megabytes: float = 100.0,
        redact: Iterable[str] = (),
    ) -> None:
        self._folder = Path(folder) if folder else None
        self._settings = JournalSettings(
            keep_days=check_size(keep_days, "keep_days"),
            max_megabytes=check_size(max_megabytes, "max_megabytes"),
        )
        self._redact = read_redact([redact] if isinstance(redact, str) else list(redact))
        self._lock = RLock()
        self._sessions: WeakKeyDictionary[Any, SessionJournal] = WeakKeyDictionary()

    def open(self, context: RecorderContext) -> _RunRecording:
        """Start to record a run in the journal of its session."""
        with self._lock:
            session = context.session
            journal = self._sessions.get(session)
            if journal is None:
                host = context.host.name
                journal = self._sessions[session] = SessionJournal(
                    new_stem(host, session.clock.now()),
                    JournalOpened(host=host, project=str(Path.cwd())),
                    folder=self._folder,
                    settings=self._settings,
                    redact=self._redact,
                )
        return journal.open(context)
