"""JSON lines of agents in terminals: GitHub Copilot CLI, ``cursor-agent``, pi."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

import attrs

from trimtab import Outcome, Usage
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import RowReader, flagged
from trimtab_replay._recording import RecordedItem, Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_float,
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


class Copilot(RowReader):
    """Reads event files of the Copilot CLI."""

    name: ClassVar[str] = "copilot"
    profile: ClassVar[str] = "copilot"

    def is_own(self, row: dict[str, Any]) -> bool:
        return named(row.get("type")) in _MARKS and "data" in row

    def read(self, source: Transcript) -> Iterator[Recording]:
        starts = (as_dict(row.get("data")) for row in source.first_rows)
        ids = (named(start.get("sessionId")) for start in starts)
        yield self.recording(source, _Events(source).entries(), next(filter(None, ids), ""))


@attrs.define
class _Events:
    source: Transcript
    assembler: Assembler = attrs.field(factory=Assembler)
    started: dict[str, datetime | None] = attrs.field(factory=dict)

    def entries(self) -> Iterator[RecordedItem]:
        for row in self.source.rows():
            event = as_dict(row.value)
            data, kind = event.get("data"), event.get("type")
            if isinstance(data, dict) and isinstance(kind, str):
                self._take(kind, data, as_time(event.get("timestamp")))
            else:
                self.source.skip("no event: type or data is missing", row.line)
            yield from self.assembler.take()
        yield from self.assembler.finish()

    def _take(self, kind: str, data: dict[str, Any], at: datetime | None) -> None:
        match kind:
            case "user.message" | "system.notification":
                is_notification = kind == "system.notification"
                self.assembler.user(as_text(data.get("content")), at, notification=is_notification)
            case "assistant.message":
                self._message(data, at)
            case "tool.execution_start":
                self.started[named(data.get("toolCallId"))] = at
            case "tool.execution_complete":
                self._complete(data, at)
            case "session.compaction_complete":
                self.assembler.compacted(as_text(data.get("summaryContent")), at)
            case "session.error":
                error = as_text(data.get("message")) or "unknown"
                self.assembler.add(StopRequest(api_error=error))
            case _:
                pass

    def _message(self, data: dict[str, Any], at: datetime | None) -> None:
        written = as_int(data.get("outputTokens"))
        self.assembler.respond(
            text=as_text(data.get("content")),
            reasoning=as_text(data.get("reasoningText")),
            usage=Usage(output_tokens=written) if written else None,
            at=at,
            presumed=True,
        )
        for request in dicts(data.get("toolRequests")):
            params = arguments(request.get("arguments"))
            self.assembler.call(
                named(request.get("name")), params, named(request.get("toolCallId"))
            )

    def _complete(self, data: dict[str, Any], at: datetime | None) -> None:
        call_id = named(data.get("toolCallId"))
        started, error = self.started.pop(call_id, None), as_dict(data.get("error"))
        content = flattened(as_dict(data.get("result")).get("content"))
        answer = CallResult(
            result=error.get("message") if error and content is None else content,
            outcome=_outcome(data.get("success"), error),
            at=at,
            started=started,
            duration=seconds_between(started, at),
        )
        self.assembler.answer(call_id, answer)


def _outcome(success: Any, error: dict[str, Any]) -> Outcome:
    if success is True:
        return Outcome.OK
    return Outcome.DENIED if as_text(error.get("code")) in _DENIED else Outcome.ERROR


_SUFFIX = "ToolCall"
_SPEAKING = "speaking"
_FAILED = ("failure", "error", "fileNotFound", "permissionDenied", "timeout", "spawnError")
_CURSOR_DENIED = ("rejected", "denied")
_PASSED_OVER = {"system", "interaction_query", "connection", "retry"}


class Cursor(RowReader):
    """Reads the output of Cursor's command line agent."""

    name: ClassVar[str] = "cursor"
    profile: ClassVar[str] = "cursor"

    def is_own(self, row: dict[str, Any]) -> bool:
        return row.get("type") == "tool_call" and isinstance(row.get("tool_call"), dict)

    def read(self, source: Transcript) -> Iterator[Recording]:
        first = source.first_rows[0] if source.first_rows else {}
        yield self.recording(source, _entries(source), named(first.get("session_id")))


def _entries(source: Transcript) -> Iterator[RecordedItem]:
    assembler = Assembler()
    said_last = ""
    for row in source.rows():
        event = as_dict(row.value)
        kind = named(event.get("type"))
        if kind == "assistant":
            said_last = _say(assembler, event, said_last)
        elif kind == "tool_call":
            said_last = ""
            _call(assembler, event)
        elif kind == "user":
            text = said(as_dict(event.get("message")).get("content"))
            assembler.user(text, as_time(event.get("timestamp_ms")))
        elif kind == "result":
            _end(assembler, event)
        elif kind == "thinking":
            pass
        elif kind not in _PASSED_OVER:
            source.skip("no event of a Cursor stream", row.line)
        yield from assembler.take()
    yield from assembler.finish()


def _say(assembler: Assembler, event: dict[str, Any], before: str) -> str:
    """Read text. Partial output comes in pieces and then as a whole, which is read once."""
    text = said(as_dict(event.get("message")).get("content"))
    if before and text == before:
        return before
    is_piece = "timestamp_ms" in event and "model_call_id" not in event
    if is_piece:
        return before + text
    at = as_time(event.get("timestamp_ms"))
    assembler.respond(key=_SPEAKING, text=text, at=at, presumed=True)
    return text


def _call(assembler: Assembler, event: dict[str, Any]) -> None:
    name, body = _body(as_dict(event.get("tool_call")))
    call_id, at = named(event.get("call_id")), as_time(event.get("timestamp_ms"))
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


def _end(assembler: Assembler, event: dict[str, Any]) -> None:
    if event.get("is_error") is True:
        assembler.add(RunEnd(reason=named(event.get("subtype")) or "error"))
    else:
        assembler.close_turn()


_ROLES = {"user", "assistant", "toolResult", "bashExecution"}


class Pi(RowReader):
    """Reads pi's sessions."""

    name: ClassVar[str] = "pi"
    certainty: ClassVar[float] = 0.9
    profile: ClassVar[str] = "pi"

    def is_own(self, row: dict[str, Any]) -> bool:
        if row.get("type") == "session":
            return "cwd" in row
        role = as_text(as_dict(row.get("message")).get("role"))
        return row.get("type") == "message" and role in _ROLES

    def read(self, source: Transcript) -> Iterator[Recording]:
        ids = (row.get("id") for row in source.first_rows if row.get("type") == "session")
        yield self.recording(source, _pi_entries(source), named(next(ids, None)))


def _pi_entries(source: Transcript) -> Iterator[RecordedItem]:
    assembler = Assembler()
    for row in source.rows():
        value = as_dict(row.value)
        at = as_time(value.get("timestamp"))
        if not isinstance(value.get("type"), str):
            source.skip("no row of a pi session: no type", row.line)
        elif value["type"] == "compaction":
            assembler.compacted(as_text(value.get("summary")), at)
        elif value["type"] == "message" and not _read(assembler, as_dict(value.get("message")), at):
            source.skip("message of an unknown role", row.line)
        yield from assembler.take()
    yield from assembler.finish()


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
    assembler.respond(
        text=said(message.get("content")),
        reasoning=joined(block.get("thinking") for block in blocks),
        usage=_usage(as_dict(message.get("usage"))),
        at=at,
        stop=StopRequest() if reason == "stop" else None,
    )
    for block in blocks:
        if block.get("type") == "toolCall":
            params = block.get("arguments", {})
            assembler.call(named(block.get("name")), params, named(block.get("id")))
    if reason == "error":
        assembler.add(StopRequest(api_error=as_text(message.get("errorMessage")) or "unknown"))


def _usage(usage: dict[str, Any]) -> Usage | None:
    if not usage:
        return None
    read = sum(as_int(usage.get(key)) for key in ("input", "cacheRead", "cacheWrite"))
    cost = as_float(as_dict(usage.get("cost")).get("total")) or 0.0
    return Usage(read, as_int(usage.get("output")), max(cost, 0.0))
