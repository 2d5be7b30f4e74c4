"""Gemini: contents of the API, chats of the Gemini CLI, and the events that it prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs

from trimtab import Outcome, Usage
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import Reader, RowReader, assembled
from trimtab_replay._recording import RecordedItem, Recording, RunEnd
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    as_dict,
    as_int,
    as_list,
    as_text,
    as_time,
    dicts,
    flattened,
    joined,
    named,
    said,
)

_DENIED = "[Operation Cancelled]"
_STATUS = {"success": Outcome.OK, "error": Outcome.ERROR, "cancelled": Outcome.DENIED}


class Gemini(Reader):
    """Reads Gemini contents and Gemini CLI chats."""

    name: ClassVar[str] = "gemini"
    profile: ClassVar[str] = "gemini-cli"

    def sniff(self, source: Transcript) -> float:
        return float(_is_ours(source.sample))

    def read(self, source: Transcript) -> Iterator[Recording]:
        for row in source.documents_with("messages or contents", _is_ours):
            head = as_dict(row.value)
            if _is_chat(row.value):
                messages, unknown = as_list(head.get("messages")), "message {} has no known type"
                entries = assembled(source, messages, _feed_message, unknown)
            else:
                unknown = "content {} has no known role"
                entries = assembled(source, _contents(row.value), _feed_content, unknown)
            yield self.recording(source, entries, named(head.get("sessionId")), line=row.line)


def _is_ours(value: Any) -> bool:
    return _is_chat(value) or bool(_contents(value))


def _is_chat(value: Any) -> bool:
    head = as_dict(value)
    return "sessionId" in head and any(
        as_text(message.get("type")) in {"user", "gemini"}
        for message in dicts(head.get("messages"))
    )


def _contents(value: Any) -> list[Any]:
    head = as_dict(value)
    for contents in (value, head.get("history"), head.get("contents"), head.get("messages")):
        if any(map(_is_content, dicts(contents))):
            return as_list(contents)
    return []


def _is_content(content: dict[str, Any]) -> bool:
    """Whether it is a content of the API, whose parts have no type."""
    parts = content.get("parts")
    return "role" in content and parts is not None and not any("type" in p for p in dicts(parts))


def _feed_content(assembler: Assembler, content: dict[str, Any]) -> bool:
    role, parts = named(content.get("role")), dicts(content.get("parts"))
    if role == "model":
        _respond(assembler, parts)
    elif role in {"user", "function"}:
        _listen(assembler, parts)
    return role in {"model", "user", "function", "system"}


def _respond(assembler: Assembler, parts: list[dict[str, Any]]) -> None:
    assembler.respond(
        text=said([part for part in parts if not part.get("thought")]),
        reasoning=said([part for part in parts if part.get("thought")]),
        presumed=True,
    )
    for part in parts:
        if "functionCall" in part:
            call = as_dict(part["functionCall"])
            assembler.call(named(call.get("name")), call.get("args", {}), named(call.get("id")))


def _listen(assembler: Assembler, parts: list[dict[str, Any]]) -> None:
    for part in parts:
        if "functionResponse" in part:
            answer = as_dict(part["functionResponse"])
            call_id = named(answer.get("id"))
            if not assembler.waits(call_id):
                call_id = assembler.oldest(named(answer.get("name")))
            assembler.answer(call_id, _answer(answer.get("response")))
    text = said(parts)
    if text:
        assembler.user(text)


def _answer(response: Any) -> CallResult:
    error = as_dict(response).get("error")
    if error is None:
        result = as_dict(response).get("output", response)
        return CallResult(result=result, evidence=Evidence.DERIVED)
    outcome = Outcome.DENIED if as_text(error).startswith(_DENIED) else Outcome.ERROR
    return CallResult(result=error, outcome=outcome, evidence=Evidence.DERIVED)


def _feed_message(assembler: Assembler, message: dict[str, Any]) -> bool:
    kind = named(message.get("type"))
    if kind == "user":
        assembler.user(_chat_text(message), as_time(message.get("timestamp")))
    elif kind == "gemini":
        _chat_response(assembler, message)
    return kind in {"user", "gemini", "info", "error", "warning"}


def _chat_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else said(content)


def _chat_response(assembler: Assembler, message: dict[str, Any]) -> None:
    thoughts = dicts(message.get("thoughts"))
    assembler.respond(
        text=_chat_text(message),
        reasoning=joined(thought.get("description") for thought in thoughts),
        usage=_usage(as_dict(message.get("tokens"))),
        at=as_time(message.get("timestamp")),
        presumed=True,
    )
    for call in dicts(message.get("toolCalls")):
        name, params = named(call.get("name")), call.get("args", {})
        assembler.answer(assembler.call(name, params, named(call.get("id"))), _chat_answer(call))


def _chat_answer(call: dict[str, Any]) -> CallResult:
    result = call.get("result")
    for part in dicts(result):
        response = as_dict(as_dict(part.get("functionResponse")).get("response"))
        result = response.get("output", response.get("error", result))
    status = as_text(call.get("status"))
    return CallResult(
        result=flattened(result),
        outcome=_STATUS.get(status, Outcome.OK),
        evidence=Evidence.FLAG if status in _STATUS else Evidence.UNKNOWN,
        at=as_time(call.get("timestamp")),
    )


def _usage(tokens: dict[str, Any]) -> Usage | None:
    if not tokens:
        return None
    return Usage(as_int(tokens.get("input")), as_int(tokens.get("output")))


_DENIED_IN_STREAM = {"permission_denied", "policy_violation"}
_INVALID = {"invalid_tool_params", "tool_not_registered"}


class GeminiStream(RowReader):
    """Reads the output of the Gemini CLI in headless mode."""

    name: ClassVar[str] = "gemini-stream"
    profile: ClassVar[str] = "gemini-cli"

    def is_own(self, row: dict[str, Any]) -> bool:
        kind = named(row.get("type"))
        is_head = kind == "init" and "session_id" in row and "model" in row
        return is_head or (kind in {"tool_use", "tool_result"} and "tool_id" in row)

    def read(self, source: Transcript) -> Iterator[Recording]:
        first = source.first_rows[0] if source.first_rows else {}
        yield self.recording(source, _Stream().entries(source), named(first.get("session_id")))


@attrs.define
class _Stream:
    assembler: Assembler = attrs.field(factory=Assembler)
    pieces: list[str] = attrs.field(factory=list)
    at: Any = None

    def entries(self, source: Transcript) -> Iterator[RecordedItem]:
        for row in source.rows():
            event = as_dict(row.value)
            kind = named(event.get("type"))
            if kind == "message" and event.get("role") == "assistant":
                self.at = self.at or as_time(event.get("timestamp"))
                self.pieces.append(named(event.get("content")))
            elif not self.happen(kind, event):
                source.skip("no event of a Gemini CLI stream", row.line)
            yield from self.assembler.take()
        self.respond()
        yield from self.assembler.finish()

    def happen(self, kind: str, event: dict[str, Any]) -> bool:
        at = as_time(event.get("timestamp"))
        if kind == "tool_use":
            # Events of one response follow one another; its results come after all of them.
            if self.pieces or not self.assembler.is_waiting:
                self.respond(at)
            params, call_id = event.get("parameters", {}), named(event.get("tool_id"))
            self.assembler.call(named(event.get("tool_name")), params, call_id)
        elif kind == "tool_result":
            self.assembler.answer(named(event.get("tool_id")), _result(event, at))
        elif kind == "message":
            self.respond()
            self.assembler.user(named(event.get("content")), at)
        elif kind == "result":
            self.respond()
            if event.get("status") == "error":
                self.assembler.add(RunEnd(reason="error"))
        return kind in {"tool_use", "tool_result", "message", "result", "init", "error"}

    def respond(self, at: Any = None) -> None:
        """Open a turn with the text since the last one; only for a call, if there is no text."""
        text, self.pieces = "".join(self.pieces), []
        at, self.at = self.at or at, None
        if text or at is not None:
            self.assembler.respond(text=text, at=at, presumed=True)


def _result(event: dict[str, Any], at: Any) -> CallResult:
    error = as_dict(event.get("error"))
    kind = named(error.get("type")).lower()
    outcome = Outcome.OK
    if event.get("status") == "error":
        outcome = Outcome.ERROR
        outcome = Outcome.DENIED if kind in _DENIED_IN_STREAM else outcome
        outcome = Outcome.INVALID if kind in _INVALID else outcome
    return CallResult(result=event.get("output") or error.get("message"), outcome=outcome, at=at)
