"""What ``cursor-agent -p --output-format stream-json`` prints: JSON lines, one event a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import arguments, as_dict, as_text, as_time, named, said

_SUFFIX = "ToolCall"
_SPEAKING = "speaking"
_FAILED = ("failure", "error", "fileNotFound", "permissionDenied", "timeout", "spawnError")
_DENIED = ("rejected", "denied")
_PASSED_OVER = {"system", "interaction_query", "connection", "retry"}


class Cursor:
    """Reads the output of Cursor's command line agent."""

    name: ClassVar[str] = "cursor"

    def sniff(self, source: Transcript) -> float:
        """Look for events of tool calls, which hold the call under the tool's name."""
        return float(any(_is_ours(row) for row in source.first_rows))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording."""
        first = source.first_rows[0] if source.first_rows else {}
        yield Recording(
            id=named(first.get("session_id")) or source.stem,
            path=source.path,
            reader=self.name,
            entries=_entries(source),
            profile="cursor",
            parallel_calls=True,
        )


def _is_ours(row: dict[str, Any]) -> bool:
    return row.get("type") == "tool_call" and isinstance(row.get("tool_call"), dict)


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
    assembler.respond(key=_SPEAKING, text=text, at=at, stop=StopRequest(), presumed=True)
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
    for key in _DENIED:
        if told.get(key) is not None:
            reason = as_dict(told[key]).get("reason", told[key])
            return CallResult(result=reason, outcome=Outcome.DENIED, at=at)
    for key in _FAILED:
        if told.get(key) is not None:
            return CallResult(result=_shown(told[key]), outcome=Outcome.ERROR, at=at)
    success = told.get("success", result)
    code = as_dict(success).get("exitCode")
    failed = (isinstance(code, int) and code != 0) or event.get("subtype") == "failed"
    failed = failed or as_dict(success).get("isError") is True
    outcome = Outcome.ERROR if failed else Outcome.OK
    return CallResult(result=_shown(success), outcome=outcome, at=at)


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
