"""Snapshots of sessions, from which a message that is delivered again goes on."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from trimtab import Heartbeat, Session

LOG = logging.getLogger("trimtab_worker")
BUSY = 5.0


class SnapshotStore(Protocol):
    """Where snapshots of sessions are kept, by message; shared by all workers of a mailbox."""

    def load(self, message_id: str) -> str | None:
        """Return the last snapshot of a message, None if there is none.

        Args:
            message_id: of the message.
        """
        ...

    def save(self, message_id: str, number: int, text: str) -> bool:
        """Keep a snapshot; False, and nothing is kept, if a later attempt has kept one.

        Args:
            message_id: of the message.
            number: of the attempt.
            text: as `Session.snapshot` returns it.
        """
        ...

    def drop(self, message_id: str) -> None:
        """Forget a message that is done.

        Args:
            message_id: of the message.
        """
        ...


class SqliteSnapshots:
    """Snapshots in one SQLite file, for the workers of one machine.

    Args:
        path: of the file; made where it does not exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        with self._connection() as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute(
                "create table if not exists snapshots(message_id text primary key, "
                "number integer not null, snapshot text not null)"
            )

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._path, timeout=BUSY, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()

    def load(self, message_id: str) -> str | None:
        """As `SnapshotStore.load`.

        Args:
            message_id: of the message.
        """
        with self._connection() as connection:
            row = connection.execute(
                "select snapshot from snapshots where message_id = ?", (message_id,)
            ).fetchone()
        return None if row is None else str(row[0])

    def save(self, message_id: str, number: int, text: str) -> bool:
        """As `SnapshotStore.save`.

        Args:
            message_id, number, text: as there.
        """
        with self._connection() as connection:
            saved = connection.execute(
                "insert into snapshots values(?, ?, ?) on conflict(message_id) do update "
                "set number = excluded.number, snapshot = excluded.snapshot "
                "where excluded.number >= number",
                (message_id, number, text),
            )
            return saved.rowcount > 0

    def drop(self, message_id: str) -> None:
        """As `SnapshotStore.drop`.

        Args:
            message_id: of the message.
        """
        with self._connection() as connection:
            connection.execute("delete from snapshots where message_id = ?", (message_id,))


class Saver:
    """Saves snapshots of one session while work goes on, on a thread of its own.

    Args:
        store: where to.
        message_id, number: of the attempt.
        heartbeat: nothing is saved without a beat since the last snapshot.
        interval: seconds between two snapshots.
    """

    def __init__(
        self,
        store: SnapshotStore,
        message_id: str,
        number: int,
        heartbeat: Heartbeat,
        interval: float,
    ) -> None:
        self._store = store
        self._message_id = message_id
        self._number = number
        self._heartbeat = heartbeat
        self._interval = interval
        self._session: Session | None = None
        self._saved = -1
        self._ended = threading.Event()
        self._lock = threading.Lock()

    def start(self, session: Session) -> None:
        """Begin to save."""
        self._session = session
        threading.Thread(target=self._run, name="trimtab-snapshots", daemon=True).start()

    def stop(self, *, save: bool) -> None:
        """Save no more."""
        self._ended.set()
        if save:
            self._save()

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            self._save()

    def _save(self) -> None:
        with self._lock:
            beats = self._heartbeat.beats
            if self._session is None or beats == self._saved:
                return
            try:
                kept = self._store.save(self._message_id, self._number, self._session.snapshot())
            except Exception as error:  # noqa: BLE001 - work goes on without a snapshot
                LOG.warning("no snapshot of message %s: %s", self._message_id, error)
                return
            self._saved = beats
            if not kept:
                LOG.warning("a later attempt at message %s has a snapshot", self._message_id)
                self._ended.set()
