"""Sessions of goose, and those that goose and OpenCode keep in SQLite, opened read-only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any, ClassVar, TypeVar

from trimtab import Outcome
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.anthropic import time_of
from trimtab_replay._readers.messages import MessageReader
from trimtab_replay._readers.opencode import entries_of
from trimtab_replay._recording import RecordedItem, Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_text,
    as_time,
    dicts,
    flattened,
    joined,
    named,
    said,
)
from trimtab_replay.outcomes import outcome_of

_CALL, _RESULT = "toolRequest", "toolResponse"
_MALFORMED = "malformed call"
_ROLES = {"user", "assistant"}


class Goose(MessageReader):
    """Reads sessions of goose."""

    name: ClassVar[str] = "goose"
    certainty: ClassVar[float] = 1.0
    keys: ClassVar[tuple[str, ...]] = ("conversation", "messages")
    profile: ClassVar[str] = "goose"

    def is_own(self, message: dict[str, Any]) -> bool:
        """Look for blocks with requests or responses of tools."""
        kinds = (block.get("type") for block in dicts(message.get("content")))
        return "role" in message and any(kind in (_CALL, _RESULT) for kind in kinds)

    def is_message(self, value: Any) -> bool:
        """Whether it has a role and blocks."""
        message = as_dict(value)
        return named(message.get("role")) in _ROLES and isinstance(message.get("content"), list)

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`."""
        role, blocks = named(message.get("role")), dicts(message.get("content"))
        at = as_time(message.get("created")) or time_of(message)
        if role == "assistant":
            assembler.respond(
                key=named(message.get("id")) or None,
                text=said(blocks),
                reasoning=joined(block.get("thinking") for block in blocks),
                at=at,
                stop=StopRequest(),
                presumed=True,
            )
            for block in blocks:
                _call(assembler, block)
        elif role == "user":
            for block in blocks:
                if block.get("type") == _RESULT:
                    assembler.answer(named(block.get("id")), _result(block, at))
            text = said(blocks)
            if text:
                assembler.user(text, at)
        return role in _ROLES


def _call(assembler: Assembler, block: dict[str, Any]) -> None:
    if block.get("type") != _CALL:
        return
    told = as_dict(block.get("toolCall"))
    call = as_dict(told.get("value"))
    call_id = named(block.get("id"))
    call_id = assembler.call(
        named(call.get("name")) or _MALFORMED, call.get("arguments", {}), call_id
    )
    if told.get("status") == "error":
        result = CallResult(result=told.get("error"), outcome=Outcome.INVALID)
        assembler.answer(call_id, result)


def _result(block: dict[str, Any], at: Any) -> CallResult:
    told = as_dict(block.get("toolResult"))
    value = told.get("value")
    content = as_dict(value).get("content", value)
    failed = told.get("status") == "error" or as_dict(value).get("isError") is True
    result = told.get("error") if told.get("status") == "error" else flattened(content)
    read = outcome_of("goose", result if isinstance(result, str) else "", is_error=failed)
    return CallResult(result=result, outcome=read.outcome, at=at)


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
