"""OpenCode: a session's export ``{info, messages}``, its files, or rows of its ``part`` table.

Steps within a message are responses; a tool part holds its call, its answer and both times.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import attrs

from trimtab import Outcome, Usage
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording, StopRequest
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
    seconds_between,
)

_MOST_FILES = 50_000
_REFUSED = ("The user rejected permission", "The user has specified a rule")
_STOPPED = ("Tool execution aborted", "Tool execution was interrupted")


class OpenCode:
    """Reads OpenCode's exports and part tables."""

    name: ClassVar[str] = "opencode"

    def sniff(self, source: Transcript) -> float:
        """Look for messages with parts, or for rows of parts."""
        value = source.sample
        return float(_is_export(value) or _is_row(_first(value)) or _is_stored(value))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a session."""
        for row in source.documents():
            if _is_export(row.value):
                session = as_dict(row.value.get("info"))
                name = named(session.get("id")) or source.stem
                yield self._recording(source, name, dicts(row.value.get("messages")))
            elif _is_stored(row.value):
                yield self._recording(source, row.value["id"], _stored(source, row.value["id"]))
            elif isinstance(row.value, list):
                for name, messages in _sessions(row.value, source).items():
                    yield self._recording(source, name, list(messages.values()))
            else:
                source.skip("no export of a session and no rows of parts", row.line)

    def _recording(
        self, source: Transcript, name: str, messages: list[dict[str, Any]]
    ) -> Recording:
        return Recording(
            id=name,
            path=source.path,
            reader=self.name,
            entries=entries_of(messages),
            profile="opencode",
            parallel_calls=True,
        )


def _first(value: Any) -> Any:
    return next(iter(as_list(value)), None)


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


def _sessions(rows: list[Any], source: Transcript) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the messages of each session by id, in the table's order."""
    sessions: dict[str, dict[str, dict[str, Any]]] = {}
    for number, row in enumerate(rows):
        part = arguments(as_dict(row).get("data"))
        if not _is_row(row) or not isinstance(part, dict):
            source.skip(f"row {number} is not a part")
            continue
        session = sessions.setdefault(as_text(row.get("session_id")), {})
        message = session.setdefault(as_text(row.get("message_id")), {"parts": []})
        message["parts"].append({**part, "time_created": row.get("time_created")})
    return sessions


def entries_of(messages: list[dict[str, Any]]) -> Iterator[RecordedItem]:
    """Yield what happened in messages with ``info`` and ``parts``, as an export has them."""
    assembler = Assembler()
    for message in messages:
        info, parts = as_dict(message.get("info")), dicts(message.get("parts"))
        if _role(info, parts) == "user":
            text = joined(part.get("text") for part in parts if not _hidden(part))
            assembler.user(text, _at(info, parts))
        else:
            _Message(assembler, info).read(parts)
        yield from assembler.take()
    yield from assembler.finish()


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
        self.assembler.respond(key=str(self.step), at=at, stop=StopRequest(), presumed=True, **said)

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
