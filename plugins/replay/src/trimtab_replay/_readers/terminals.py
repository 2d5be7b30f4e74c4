"""JSON lines of agents in terminals: GitHub Copilot CLI, ``cursor-agent``, pi."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import attrs

from trimtab import Outcome, Usage
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import RowReader, flagged, used
from trimtab_replay._recording import RunEnd, StopRequest
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_int,
    as_text,
    as_time,
    dicts,
    flattened,
    joined,
    named,
    said,
    seconds_between,
)

_DENIED = {"denied", "rejected"}
_MARKS = ("session.start", "assistant.turn_start", "assistant.message", "tool.execution_start")


@attrs.define
class Copilot(RowReader):
    """Reads event files of the Copilot CLI."""

    name: ClassVar[str] = "copilot"
    profile: ClassVar[str] = "copilot"
    unknown: ClassVar[str] = "no event: type or data is missing"

    started: dict[str, datetime | None] = attrs.field(factory=dict)

    def is_own(self, row: dict[str, Any]) -> bool:
        return named(row.get("type")) in _MARKS and "data" in row

    def id_in(self, row: dict[str, Any]) -> Any:
        return as_dict(row.get("data")).get("sessionId")

    def feed(self, assembler: Assembler, row: dict[str, Any]) -> bool:
        data, kind, at = row.get("data"), row.get("type"), as_time(row.get("timestamp"))
        if not isinstance(data, dict) or not isinstance(kind, str):
            return False
        if kind in {"user.message", "system.notification"}:
            notification = kind == "system.notification"
            assembler.user(as_text(data.get("content")), at, notification=notification)
        elif kind == "assistant.message":
            _respond_as_copilot(assembler, data, at)
        elif kind == "tool.execution_start":
            self.started[named(data.get("toolCallId"))] = at
        elif kind == "tool.execution_complete":
            started = self.started.pop(named(data.get("toolCallId")), None)
            assembler.answer(named(data.get("toolCallId")), _completed(data, started, at))
        elif kind == "session.compaction_complete":
            assembler.compacted(as_text(data.get("summaryContent")), at)
        elif kind == "session.error":
            assembler.add(StopRequest(api_error=as_text(data.get("message")) or "unknown"))
        return True


def _respond_as_copilot(assembler: Assembler, data: dict[str, Any], at: datetime | None) -> None:
    written = as_int(data.get("outputTokens"))
    assembler.respond(
        text=as_text(data.get("content")),
        reasoning=as_text(data.get("reasoningText")),
        usage=Usage(output_tokens=written) if written else None,
        at=at,
        presumed=True,
    )
    for request in dicts(data.get("toolRequests")):
        params = arguments(request.get("arguments"))
        assembler.call(named(request.get("name")), params, named(request.get("toolCallId")))


def _completed(data: dict[str, Any], started: datetime | None, at: datetime | None) -> CallResult:
    error = as_dict(data.get("error"))
    content = flattened(as_dict(data.get("result")).get("content"))
    return CallResult(
        result=error.get("message") if error and content is None else content,
        outcome=_outcome(data.get("success"), error),
        at=at,
        started=started,
        duration=seconds_between(started, at),
    )


def _outcome(success: Any, error: dict[str, Any]) -> Outcome:
    if success is True:
        return Outcome.OK
    return Outcome.DENIED if as_text(error.get("code")) in _DENIED else Outcome.ERROR


_SUFFIX = "ToolCall"
_SPEAKING = "speaking"
_FAILED = ("failure", "error", "fileNotFound", "permissionDenied", "timeout", "spawnError")
_CURSOR_DENIED = ("rejected", "denied")
_PASSED_OVER = {"system", "interaction_query", "connection", "retry", "thinking"}
_CURSOR_EVENTS = {"assistant", "tool_call", "user", "result", *_PASSED_OVER}


@attrs.define
class Cursor(RowReader):
    """Reads the output of Cursor's command line agent."""

    name: ClassVar[str] = "cursor"
    profile: ClassVar[str] = "cursor"
    unknown: ClassVar[str] = "no event of a Cursor stream"

    said: str = ""

    def is_own(self, row: dict[str, Any]) -> bool:
        return row.get("type") == "tool_call" and isinstance(row.get("tool_call"), dict)

    def feed(self, assembler: Assembler, row: dict[str, Any]) -> bool:
        kind, at = named(row.get("type")), as_time(row.get("timestamp_ms"))
        text = said(as_dict(row.get("message")).get("content"))
        if kind == "assistant":
            self._say(assembler, row, text, at)
        elif kind == "tool_call":
            self.said = ""
            _call(assembler, row, at)
        elif kind == "user":
            assembler.user(text, at)
        elif kind == "result" and row.get("is_error") is True:
            assembler.add(RunEnd(reason=named(row.get("subtype")) or "error"))
        elif kind == "result":
            assembler.close_turn()
        return kind in _CURSOR_EVENTS

    def _say(
        self, assembler: Assembler, event: dict[str, Any], text: str, at: datetime | None
    ) -> None:
        """Read text. Partial output comes in pieces and then as a whole, which is read once."""
        if self.said and text == self.said:
            return
        if "timestamp_ms" in event and "model_call_id" not in event:
            self.said += text
            return
        assembler.respond(key=_SPEAKING, text=text, at=at, presumed=True)
        self.said = text


def _call(assembler: Assembler, event: dict[str, Any], at: datetime | None) -> None:
    name, body = _body(as_dict(event.get("tool_call")))
    call_id = named(event.get("call_id"))
    if not assembler.waits(call_id):
        key = named(event.get("model_call_id")) or None
        if assembler.key == _SPEAKING:
            assembler.rekey(key)
        elif key is not None or not assembler.is_waiting:
            assembler.respond(key=key, at=at)
        call_id = assembler.call(name, _params(body), call_id)
    if event.get("subtype") != "started":
        assembler.answer(call_id, _result(body.get("result"), event, at))


def _body(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the tool's name and what stands under it, in any of three forms."""
    case = as_dict(call.get("tool"))
    if "case" in case:
        return named(case.get("case")).removesuffix(_SUFFIX), as_dict(case.get("value"))
    for key, value in call.items():
        if key.endswith(_SUFFIX):
            return key.removesuffix(_SUFFIX), as_dict(value)
    function = as_dict(call.get("function"))
    return named(function.get("name")), {**call, **function}


def _params(body: dict[str, Any]) -> Any:
    params = body.get("args", body.get("arguments", {}))
    if isinstance(params, dict) and "toolName" in params and "args" in params:
        return {"tool": params["toolName"], **as_dict(params["args"])}
    return arguments(params)


def _result(result: Any, event: dict[str, Any], at: Any) -> CallResult:
    told = as_dict(result)
    for key in _CURSOR_DENIED:
        if told.get(key) is not None:
            reason = as_dict(told[key]).get("reason", told[key])
            return CallResult(result=reason, outcome=Outcome.DENIED, at=at)
    for key in _FAILED:
        if told.get(key) is not None:
            return flagged(_shown(told[key]), True, at)
    success = told.get("success", result)
    code = as_dict(success).get("exitCode")
    failed = (isinstance(code, int) and code != 0) or event.get("subtype") == "failed"
    failed = failed or as_dict(success).get("isError") is True
    return flagged(_shown(success), failed, at)


def _shown(value: Any) -> Any:
    """Return what a shell printed as text; anything else as it is."""
    told = as_dict(value)
    if "stdout" not in told and "stderr" not in told:
        return told.get("errorMessage", told.get("error", value)) if told else value
    return "\n".join(filter(None, [as_text(told.get("stdout")), as_text(told.get("stderr"))]))


_ROLES = {"user", "assistant", "toolResult", "bashExecution"}


class Pi(RowReader):
    """Reads pi's sessions."""

    name: ClassVar[str] = "pi"
    unknown: ClassVar[str] = "no row of a pi session, or a message of an unknown role"
    certainty: ClassVar[float] = 0.9
    profile: ClassVar[str] = "pi"

    def is_own(self, row: dict[str, Any]) -> bool:
        if row.get("type") == "session":
            return "cwd" in row
        role = as_text(as_dict(row.get("message")).get("role"))
        return row.get("type") == "message" and role in _ROLES

    def id_in(self, row: dict[str, Any]) -> Any:
        return row.get("id") if row.get("type") == "session" else None

    def feed(self, assembler: Assembler, row: dict[str, Any]) -> bool:
        kind, at = row.get("type"), as_time(row.get("timestamp"))
        if kind == "compaction":
            assembler.compacted(as_text(row.get("summary")), at)
        elif kind == "message":
            return _read(assembler, as_dict(row.get("message")), at)
        return isinstance(kind, str)


def _read(assembler: Assembler, message: dict[str, Any], at: datetime | None) -> bool:
    role = named(message.get("role"))
    if role == "assistant":
        _respond(assembler, message, at)
    elif role == "toolResult":
        answer = flagged(flattened(message.get("content")), message.get("isError") is True, at)
        assembler.answer(named(message.get("toolCallId")), answer)
    elif role == "user":
        assembler.user(said(message.get("content")), at)
    elif role == "bashExecution":
        command = as_text(message.get("command"))
        assembler.user(f"the user ran: {command}", at, notification=True)
    else:
        return role in {"custom", "branchSummary", "compactionSummary", "hookMessage"}
    return True


def _respond(assembler: Assembler, message: dict[str, Any], at: datetime | None) -> None:
    blocks, reason = dicts(message.get("content")), message.get("stopReason")
    told = as_dict(message.get("usage"))
    cost = as_dict(told.get("cost")).get("total")
    assembler.respond(
        text=said(message.get("content")),
        reasoning=joined(block.get("thinking") for block in blocks),
        usage=used(told, ("input", "cacheRead", "cacheWrite"), "output", cost),
        at=at,
        stop=StopRequest() if reason == "stop" else None,
    )
    for block in blocks:
        if block.get("type") == "toolCall":
            params = block.get("arguments", {})
            assembler.call(named(block.get("name")), params, named(block.get("id")))
    if reason == "error":
        assembler.add(StopRequest(api_error=as_text(message.get("errorMessage")) or "unknown"))
