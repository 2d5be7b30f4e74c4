"""Sessions that agents keep in SQLite: OpenCode's and goose's. Opened read-only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any, ClassVar, TypeVar

from trimtab_replay._assembler import Assembler
from trimtab_replay._readers.goose import Goose
from trimtab_replay._readers.opencode import entries_of
from trimtab_replay._recording import RecordedItem, Recording
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import arguments, as_dict, as_text

T = TypeVar("T")
_MAGIC = b"SQLite format 3\0"
_OPENCODE = {"session", "message", "part"}
_GOOSE = {"sessions", "messages"}


def _connected(source: Transcript) -> sqlite3.Connection:
    return sqlite3.connect(f"{source.file.absolute().as_uri()}?mode=ro", uri=True)


def _tables(source: Transcript) -> set[str]:
    """Return the names of a database's tables; an empty set if the file is not a database."""
    if not source.head.startswith(_MAGIC):
        return set()
    try:
        with closing(_connected(source)) as database:
            rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {as_text(name) for (name,) in rows}
    except sqlite3.Error:
        return set()


def _until_damaged(source: Transcript, items: Iterator[T]) -> Iterator[T]:
    """Yield `items` up to the first error of the database, which is noted."""
    try:
        yield from items
    except sqlite3.Error as error:
        source.skip(f"not a database that can be read: {error}")


class OpenCodeDatabase:
    """Reads the database of OpenCode."""

    name: ClassVar[str] = "opencode-db"

    def sniff(self, source: Transcript) -> float:
        """Look for its tables."""
        return float(_tables(source) >= _OPENCODE)

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a session, the newest first."""
        return _until_damaged(source, self._sessions(source))

    def _sessions(self, source: Transcript) -> Iterator[Recording]:
        with closing(_connected(source)) as database:
            query = "SELECT DISTINCT session_id FROM message ORDER BY time_created DESC"
            for (session,) in database.execute(query).fetchall():
                yield Recording(
                    id=as_text(session),
                    path=source.path,
                    reader=self.name,
                    entries=entries_of(_messages(database, session)),
                    profile="opencode",
                    parallel_calls=True,
                )


def _messages(database: sqlite3.Connection, session: Any) -> list[dict[str, Any]]:
    """Return a session's messages with their parts, in the shape of an export."""
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    messages: dict[Any, dict[str, Any]] = {
        key: {"info": as_dict(arguments(data)), "parts": []}
        for key, data in database.execute(query, (session,))
    }
    query = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY time_created, id"
    for key, data in database.execute(query, (session,)):
        if key in messages:
            messages[key]["parts"].append(as_dict(arguments(data)))
    return list(messages.values())


class GooseDatabase(Goose):
    """Reads the database of goose."""

    name: ClassVar[str] = "goose-db"

    def sniff(self, source: Transcript) -> float:
        """Look for its tables."""
        return float(_tables(source) >= _GOOSE)

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a session, the newest first."""
        return _until_damaged(source, self._sessions(source))

    def _sessions(self, source: Transcript) -> Iterator[Recording]:
        with closing(_connected(source)) as database:
            query = "SELECT session_id FROM messages GROUP BY session_id ORDER BY max(id) DESC"
            for (session,) in database.execute(query).fetchall():
                entries = _until_damaged(source, self._rows(source, database, session))
                yield self._recording(source, {}, as_text(session), entries)

    def _rows(
        self, source: Transcript, database: sqlite3.Connection, session: Any
    ) -> Iterator[RecordedItem]:
        assembler = Assembler()
        query = (
            "SELECT id, role, content_json, created_timestamp FROM messages "
            "WHERE session_id = ? ORDER BY id"
        )
        for key, role, content, created in database.execute(query, (session,)):
            message = {"role": role, "content": arguments(content), "created": created}
            if not self.is_message(message) or not self.feed(assembler, message):
                source.skip(f"message {key} has no known role or content")
            yield from assembler.take()
        yield from assembler.finish()
