"""Gemini: contents of the API, chats of the Gemini CLI, and the events that it prints."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import MessageReader, RowReader, used
from trimtab_replay._recording import Item, RunEnd
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    as_dict,
    as_list,
    as_text,
    as_time,
    dicts,
    flattened,
    joined,
    named,
    said,
)

_CHAT_KINDS = {"user", "gemini", "info", "error", "warning"}
_DENIED = "[Operation Cancelled]"
_STATUS = {"success": Outcome.OK, "error": Outcome.ERROR, "cancelled": Outcome.DENIED}


class Gemini(MessageReader):
    """Reads Gemini contents and Gemini CLI chats."""

    name: ClassVar[str] = "gemini"
    profile: ClassVar[str] = "gemini-cli"
    what: ClassVar[str] = "messages or contents"

    def sniff(self, source: Transcript) -> float:
        return float(_is_chat(source.sample) or bool(_contents(source.sample)))

    def knows(self, message: dict[str, Any]) -> bool:
        is_told = "content" in message and as_text(message.get("type")) in _CHAT_KINDS
        return is_told or _is_content(message)

    def messages(self, document: Any) -> list[Any] | None:
        if _is_chat(document):
            return as_list(document.get("messages"))
        return _contents(document) or None

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        return {"name": named(document.get("sessionId"))}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        return (_feed_content if "role" in message else _feed_message)(assembler, message)


def _is_chat(value: Any) -> bool:
    head = as_dict(value)
    kinds = (as_text(message.get("type")) for message in dicts(head.get("messages")))
    return "sessionId" in head and any(kind in {"user", "gemini"} for kind in kinds)


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
    return kind in _CHAT_KINDS


def _chat_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else said(content)


def _chat_response(assembler: Assembler, message: dict[str, Any]) -> None:
    thoughts = dicts(message.get("thoughts"))
    assembler.respond(
        text=_chat_text(message),
        reasoning=joined(thought.get("description") for thought in thoughts),
        usage=used(message.get("tokens"), ["input"], "output"),
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


_DENIED_IN_STREAM = {"permission_denied", "policy_violation"}
_INVALID = {"invalid_tool_params", "tool_not_registered"}


@attrs.define
class GeminiStream(RowReader):
    """Reads the output of the Gemini CLI in headless mode."""

    name: ClassVar[str] = "gemini-stream"
    profile: ClassVar[str] = "gemini-cli"
    unknown: ClassVar[str] = "no event of a Gemini CLI stream"

    pieces: list[str] = attrs.field(factory=list)
    at: datetime | None = None

    def is_own(self, row: dict[str, Any]) -> bool:
        kind = named(row.get("type"))
        is_head = kind == "init" and "session_id" in row and "model" in row
        return is_head or (kind in {"tool_use", "tool_result"} and "tool_id" in row)

    def feed(self, assembler: Assembler, row: dict[str, Any]) -> bool:
        kind, at = named(row.get("type")), as_time(row.get("timestamp"))
        if kind == "message" and row.get("role") == "assistant":
            self.pieces.append(named(row.get("content")))
            self.at = self.at or at
        elif kind == "tool_use":
            # Events of one response follow one another; its results come after all of them.
            if self.pieces or not assembler.is_waiting:
                self._respond(assembler, at)
            params, call_id = row.get("parameters", {}), named(row.get("tool_id"))
            assembler.call(named(row.get("tool_name")), params, call_id)
        elif kind == "tool_result":
            assembler.answer(named(row.get("tool_id")), _result(row, at))
        elif kind == "message":
            self._respond(assembler)
            assembler.user(named(row.get("content")), at)
        elif kind == "result":
            self._respond(assembler)
            if row.get("status") == "error":
                assembler.add(RunEnd(reason="error"))
        return kind in {"tool_use", "tool_result", "message", "result", "init", "error"}

    def flush(self, assembler: Assembler) -> Iterable[Item]:
        self._respond(assembler)
        return ()

    def _respond(self, assembler: Assembler, at: datetime | None = None) -> None:
        """Open a turn with the text since the last one; only for a call, if there is no text."""
        text, self.pieces = "".join(self.pieces), []
        at, self.at = self.at or at, None
        if text or at is not None:
            assembler.respond(text=text, at=at, presumed=True)


def _result(event: dict[str, Any], at: Any) -> CallResult:
    error = as_dict(event.get("error"))
    kind = named(error.get("type")).lower()
    outcome = Outcome.OK
    if event.get("status") == "error":
        outcome = Outcome.ERROR
        outcome = Outcome.DENIED if kind in _DENIED_IN_STREAM else outcome
        outcome = Outcome.INVALID if kind in _INVALID else outcome
    return CallResult(result=event.get("output") or error.get("message"), outcome=outcome, at=at)
