"""Sessions of goose and OpenCode: exports, files, and rows in SQLite, opened read-only.

Steps within a message are responses; a tool part holds its call, its answer and both times.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import attrs

from trimtab import Outcome, Usage
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.anthropic import time_of
from trimtab_replay._readers.messages import MessageReader, Reader, assembled
from trimtab_replay._recording import Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_int,
    as_list,
    as_text,
    as_time,
    dicts,
    flattened,
    joined,
    named,
    parse,
    said,
    seconds_between,
)
from trimtab_replay.outcomes import outcome_of

_NO_MESSAGE = "message {} is not an object"
_MOST_FILES = 50_000
_REFUSED = ("The user rejected permission", "The user has specified a rule")
_STOPPED = ("Tool execution aborted", "Tool execution was interrupted")


class OpenCode(Reader):
    """Reads OpenCode's exports and part tables."""

    name: ClassVar[str] = "opencode"
    profile: ClassVar[str] = "opencode"

    def sniff(self, source: Transcript) -> float:
        value = source.sample
        return float(
            _is_export(value) or _is_row(next(iter(as_list(value)), None)) or _is_stored(value)
        )

    def read(self, source: Transcript) -> Iterator[Recording]:
        for row in source.documents():
            sessions: dict[str, Iterable[Any]] = {}
            if _is_export(row.value):
                session = as_dict(row.value.get("info"))
                sessions[named(session.get("id"))] = row.value["messages"]
            elif _is_stored(row.value):
                sessions[row.value["id"]] = _stored(source, row.value["id"])
            elif isinstance(row.value, list):
                sessions.update(_sessions(row.value, source))
            else:
                source.skip("no export of a session and no rows of parts", row.line)
            for name, messages in sessions.items():
                yield self.recording(source, assembled(source, messages, _feed, _NO_MESSAGE), name)


def _is_export(value: Any) -> bool:
    messages = as_list(as_dict(value).get("messages"))
    return any("parts" in as_dict(message) and "info" in as_dict(message) for message in messages)


def _is_stored(value: Any) -> bool:
    """Whether it is the file of a session, whose messages and parts lie in other folders."""
    head = as_dict(value)
    return named(head.get("id")).startswith("ses_") and "projectID" in head


def _stored(source: Transcript, session: str) -> list[dict[str, Any]]:
    """Return the messages in ``storage/message/SESSION`` with those in ``storage/part/MESSAGE``."""
    storage = source.file.absolute().parent.parent.parent
    messages = []
    for info in _values_in(storage / "message" / session, source):
        parts = list(_values_in(storage / "part" / named(info.get("id")), source))
        messages.append({"info": info, "parts": parts})
    return messages


def _values_in(folder: Path, source: Transcript) -> Iterator[dict[str, Any]]:
    """Yield the objects in a folder's files, by name: OpenCode's ids sort by time."""
    for file in sorted(folder.glob("*.json"))[:_MOST_FILES]:
        try:
            if file.stat().st_size <= source.max_line:
                yield as_dict(parse(file.read_bytes()).value)
        except (OSError, ValueError) as error:
            source.skip(f"{file.name} can't be read: {error}")


def _is_row(value: Any) -> bool:
    return {"message_id", "session_id", "data"} <= set(as_dict(value))


def _sessions(rows: list[Any], source: Transcript) -> dict[str, Iterable[Any]]:
    """Return the messages of each session, in the table's order."""
    sessions: dict[str, dict[str, dict[str, Any]]] = {}
    for number, row in enumerate(rows):
        part = arguments(as_dict(row).get("data"))
        if not _is_row(row) or not isinstance(part, dict):
            source.skip(f"row {number} is not a part")
            continue
        session = sessions.setdefault(as_text(row.get("session_id")), {})
        message = session.setdefault(as_text(row.get("message_id")), {"parts": []})
        message["parts"].append({**part, "time_created": row.get("time_created")})
    return {name: messages.values() for name, messages in sessions.items()}


def _feed(assembler: Assembler, message: dict[str, Any]) -> bool:
    info, parts = as_dict(message.get("info")), dicts(message.get("parts"))
    if _role(info, parts) == "user":
        text = joined(part.get("text") for part in parts if not _hidden(part))
        assembler.user(text, _at(info, parts))
    else:
        _Message(assembler, info).read(parts)
    return True


def _role(info: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    if "role" in info:
        return as_text(info["role"])
    answering = {"step-start", "tool", "reasoning", "step-finish"}
    return "assistant" if any(as_text(p.get("type")) in answering for p in parts) else "user"


def _hidden(part: dict[str, Any]) -> bool:
    return part.get("type") != "text" or part.get("synthetic") is True


def _at(info: dict[str, Any], parts: list[dict[str, Any]]) -> Any:
    created = as_dict(info.get("time")).get("created")
    return as_time(
        created if created is not None else parts[0].get("time_created") if parts else None
    )


@attrs.define
class _Message:
    assembler: Assembler
    info: dict[str, Any]
    step: int = 0

    def read(self, parts: list[dict[str, Any]]) -> None:
        self.assembler.close_turn()
        for part in parts:
            kind = part.get("type")
            if kind == "step-start":
                self.step += 1
            elif kind == "text":
                self._respond(part, text=as_text(part.get("text")))
            elif kind == "reasoning":
                self._respond(part, reasoning=as_text(part.get("text")))
            elif kind == "step-finish":
                self._respond(part, usage=_usage(as_dict(part.get("tokens"))))
            elif kind == "tool":
                self._call(part)
            elif kind == "compaction":
                self.assembler.compacted()
        self.assembler.close_turn()
        if self.info.get("error"):
            self.assembler.add(StopRequest(api_error=as_text(self.info["error"])[:1000]))

    def _respond(self, part: dict[str, Any], **said: Any) -> None:
        at = as_time(part.get("time_created", as_dict(part.get("time")).get("start")))
        self.assembler.respond(key=str(self.step), at=at, presumed=True, **said)

    def _call(self, part: dict[str, Any]) -> None:
        state = as_dict(part.get("state"))
        self._respond(part)
        params = arguments(state.get("input"))
        call_id = self.assembler.call(named(part.get("tool")), params, named(part.get("callID")))
        if named(state.get("status")) in {"completed", "error"}:
            self.assembler.answer(call_id, _answer(state))


def _answer(state: dict[str, Any]) -> CallResult:
    times = as_dict(state.get("time"))
    started, at = as_time(times.get("start")), as_time(times.get("end"))
    failed = state["status"] == "error"
    result = flattened(state.get("error" if failed else "output"))
    return CallResult(
        result=result,
        outcome=_failure(as_text(result)) if failed else Outcome.OK,
        at=at,
        started=started,
        duration=seconds_between(started, at),
    )


def _failure(text: str) -> Outcome:
    if text.startswith(_REFUSED):
        return Outcome.DENIED
    return Outcome.INTERRUPTED if text.startswith(_STOPPED) else Outcome.ERROR


def _usage(tokens: dict[str, Any]) -> Usage | None:
    cache = as_dict(tokens.get("cache"))
    read = as_int(tokens.get("input")) + as_int(cache.get("read")) + as_int(cache.get("write"))
    written = as_int(tokens.get("output")) + as_int(tokens.get("reasoning"))
    return Usage(read, written) if read or written else None


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
        kinds = (block.get("type") for block in dicts(message.get("content")))
        return "role" in message and any(kind in (_CALL, _RESULT) for kind in kinds)

    def knows(self, message: dict[str, Any]) -> bool:
        return named(message.get("role")) in _ROLES and isinstance(message.get("content"), list)

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        role, blocks = named(message.get("role")), dicts(message.get("content"))
        at = as_time(message.get("created")) or time_of(message)
        if role == "assistant":
            assembler.respond(
                key=named(message.get("id")) or None,
                text=said(blocks),
                reasoning=joined(block.get("thinking") for block in blocks),
                at=at,
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


class OpenCodeDatabase(Reader):
    """Reads the database of OpenCode."""

    name: ClassVar[str] = "opencode-db"
    profile: ClassVar[str] = "opencode"

    def sniff(self, source: Transcript) -> float:
        return float(_tables(source) >= _OPENCODE)

    def read(self, source: Transcript) -> Iterator[Recording]:
        return _until_damaged(source, self._sessions(source))

    def _sessions(self, source: Transcript) -> Iterator[Recording]:
        with closing(_connected(source)) as database:
            query = "SELECT DISTINCT session_id FROM message ORDER BY time_created DESC"
            for (session,) in database.execute(query).fetchall():
                messages = _messages(database, session)
                entries = assembled(source, messages, _feed, _NO_MESSAGE)
                yield self.recording(source, entries, as_text(session))


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
        return float(_tables(source) >= _GOOSE)

    def read(self, source: Transcript) -> Iterator[Recording]:
        return _until_damaged(source, self._sessions(source))

    def _sessions(self, source: Transcript) -> Iterator[Recording]:
        with closing(_connected(source)) as database:
            query = "SELECT session_id FROM messages GROUP BY session_id ORDER BY max(id) DESC"
            for (session,) in database.execute(query).fetchall():
                messages = _rows(database, session)
                entries = assembled(source, messages, self.feed, self.unknown)
                yield self.recording(source, _until_damaged(source, entries), as_text(session))


def _rows(database: sqlite3.Connection, session: Any) -> Iterator[dict[str, Any]]:
    query = (
        "SELECT role, content_json, created_timestamp FROM messages "
        "WHERE session_id = ? ORDER BY id"
    )
    for role, content, created in database.execute(query, (session,)):
        yield {"role": role, "content": arguments(content), "created": created}
