"""Messages of LangChain, and of Vercel's AI SDK in versions 4 to 6."""

from __future__ import annotations

from typing import Any, ClassVar

from trimtab import Outcome
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.anthropic import time_of
from trimtab_replay._readers.messages import MessageReader, flagged
from trimtab_replay._readers.openai import requested, usage
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_list,
    as_text,
    dicts,
    flattened,
    joined,
    named,
    said,
)

_CLASSES = {
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "HumanMessage": "human",
    "SystemMessage": "system",
    "ToolMessage": "tool",
}
_KINDS = set(_CLASSES.values()) | {"remove", "function"} | set(_CLASSES)
Told = tuple[str, dict[str, Any]]


class LangChain(MessageReader):
    """Reads dumps of LangChain messages."""

    name: ClassVar[str] = "langchain"
    profile: ClassVar[str] = "langchain"
    certainty: ClassVar[float] = 0.6
    sniffed: ClassVar[int] = 20
    unknown: ClassVar[str] = "message {} of type {!r}"

    def knows(self, message: dict[str, Any]) -> bool:
        kind, fields = _told(message)
        return kind in _KINDS and "content" in fields

    def messages(self, document: Any) -> list[Any] | None:
        return super().messages(document) or super().messages(as_dict(document).get("values"))

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        settings = as_dict(as_dict(document.get("config")).get("configurable"))
        ids = (document.get("thread_id"), settings.get("thread_id"), document.get("id"))
        return {"name": next(filter(None, map(named, ids)), "")}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        kind, fields = _told(message)
        if kind == "ai":
            _respond(assembler, fields)
        elif kind in {"tool", "function"}:
            call_id = named(fields.get("tool_call_id"))
            call_id = call_id or assembler.oldest(named(fields.get("name")))
            assembler.answer(call_id, _answer(fields))
        elif kind == "human":
            assembler.user(said(fields.get("content")))
        return kind in _KINDS


def _told(message: dict[str, Any]) -> Told:
    """Return a message's kind and fields, whatever the dump."""
    if message.get("type") == "constructor":
        path = as_list(message.get("id"))
        return _CLASSES.get(as_text(path[-1]) if path else "", ""), as_dict(message.get("kwargs"))
    kind = as_text(message.get("type"))
    return _CLASSES.get(kind, kind), as_dict(message.get("data")) or message


def _respond(assembler: Assembler, fields: dict[str, Any]) -> None:
    assembler.respond(
        text=said(fields.get("content")),
        usage=usage(as_dict(fields.get("usage_metadata"))),
        presumed=True,
    )
    calls = dicts(fields.get("tool_calls"))
    for call in calls:
        params = arguments(call.get("args"))
        assembler.call(named(call.get("name")), params, named(call.get("id")))
    for call in dicts(fields.get("invalid_tool_calls")):
        invalid = CallResult(result=call.get("error"), outcome=Outcome.INVALID)
        call_id = assembler.call(named(call.get("name")), call.get("args"), named(call.get("id")))
        assembler.answer(call_id, invalid)
    if not calls:
        for tool, params, call_id in requested(as_dict(fields.get("additional_kwargs"))):
            assembler.call(tool, params, call_id)


def _answer(fields: dict[str, Any]) -> CallResult:
    failed = True if fields.get("status") == "error" else None
    return flagged(flattened(fields.get("content")), failed)


_ROLES = {"system", "user", "assistant", "tool", "data"}
_CALL, _RESULT, _ERROR = "tool-call", "tool-result", "tool-error"
_OWN = {_CALL, _RESULT, _ERROR, "tool-invocation", "dynamic-tool", "step-start"}
_FAILED = {"error-text", "error-json"}
_DENIED = {"execution-denied"}
_UNANSWERED = {"call", "partial-call", "input-streaming", "input-available", "approval-requested"}


class AISDK(MessageReader):
    """Reads model messages and user interface messages of the AI SDK."""

    name: ClassVar[str] = "ai-sdk"

    def is_own(self, message: dict[str, Any]) -> bool:
        kinds = (named(part.get("type")) for part in _parts(message))
        own = any(kind in _OWN or _is_tool(kind) for kind in kinds)
        return named(message.get("role")) in _ROLES and (own or "toolInvocations" in message)

    def knows(self, message: dict[str, Any]) -> bool:
        return named(message.get("role")) in _ROLES and ("content" in message or "parts" in message)

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        role = named(message.get("role"))
        if role == "assistant":
            _ai_sdk_respond(assembler, message)
        elif role == "tool":
            for part in _parts(message):
                if named(part.get("type")) in {_RESULT, _ERROR}:
                    assembler.answer(named(part.get("toolCallId")), _model_result(part))
        elif role == "user":
            assembler.user(_text(message), time_of(message))
        return role in _ROLES


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    return dicts(message.get("parts")) or dicts(message.get("content"))


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    return said(_parts(message)) or (content if isinstance(content, str) else "")


def _is_tool(kind: str) -> bool:
    return kind.startswith("tool-") or kind == "dynamic-tool"


def _ai_sdk_respond(assembler: Assembler, message: dict[str, Any]) -> None:
    """Read a response; a message of the user interface holds several, one per step."""
    steps: list[list[dict[str, Any]]] = [[]]
    for part in _parts(message):
        if part.get("type") == "step-start":
            steps.append([])
        else:
            steps[-1].append(part)
    if not any(steps):
        steps = [[{"type": "text", "text": _text(message)}]]
    legacy = dicts(message.get("toolInvocations"))
    steps[-1] += [{"type": "tool-invocation", "toolInvocation": each} for each in legacy]
    for parts in filter(None, steps):
        _respond_once(assembler, parts, message)


def _respond_once(
    assembler: Assembler, parts: list[dict[str, Any]], message: dict[str, Any]
) -> None:
    thoughts = [part for part in parts if part.get("type") == "reasoning"]
    assembler.respond(
        text=said([part for part in parts if part.get("type") == "text"]),
        reasoning=joined(part.get("text", part.get("reasoning")) for part in thoughts),
        at=time_of(message),
        presumed=True,
    )
    for part in parts:
        kind = named(part.get("type"))
        if kind in {_RESULT, _ERROR}:
            assembler.answer(named(part.get("toolCallId")), _model_result(part))
        elif kind == "tool-invocation":
            _invocation(assembler, as_dict(part.get("toolInvocation")))
        elif kind == _CALL:
            call_id = named(part.get("toolCallId"))
            assembler.call(
                named(part.get("toolName")), part.get("input", part.get("args", {})), call_id
            )
        elif _is_tool(kind):
            _ui_tool(assembler, kind, part)


def _model_result(part: dict[str, Any]) -> CallResult:
    output = part.get("output", part.get("result", part.get("error")))
    kind = named(as_dict(output).get("type"))
    if "value" in as_dict(output) and kind:
        output = as_dict(output)["value"]
    failed = kind in _FAILED or part.get("isError") is True or part.get("type") == _ERROR
    if kind in _DENIED:
        return CallResult(result=as_dict(part.get("output")).get("reason"), outcome=Outcome.DENIED)
    return flagged(flattened(output), failed if failed or kind else None)


def _invocation(assembler: Assembler, told: dict[str, Any]) -> None:
    """Version 4: the call and its result in one record."""
    name, call_id = named(told.get("toolName")), named(told.get("toolCallId"))
    call_id = assembler.call(name, told.get("args", {}), call_id)
    if told.get("state") == "result" or "result" in told:
        assembler.answer(call_id, flagged(told.get("result")))


def _ui_tool(assembler: Assembler, kind: str, part: dict[str, Any]) -> None:
    """Versions 5 and 6: the call and its state in one part named after the tool."""
    name = named(part.get("toolName")) or kind.removeprefix("tool-")
    params = part.get("input", part.get("rawInput", {}))
    call_id = assembler.call(name, params, named(part.get("toolCallId")))
    state = named(part.get("state"))
    if state == "output-error":
        invalid = "input" not in part and "rawInput" in part
        outcome = Outcome.INVALID if invalid else Outcome.ERROR
        assembler.answer(call_id, CallResult(result=part.get("errorText"), outcome=outcome))
    elif state == "output-denied":
        reason = as_dict(part.get("approval")).get("reason")
        assembler.answer(call_id, CallResult(result=reason, outcome=Outcome.DENIED))
    elif state not in _UNANSWERED:
        assembler.answer(call_id, CallResult(result=flattened(part.get("output"))))
