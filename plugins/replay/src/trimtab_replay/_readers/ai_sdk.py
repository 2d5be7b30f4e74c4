"""The AI SDK of Vercel: messages of its models, and of its user interfaces, versions 4 to 6."""

from __future__ import annotations

from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.anthropic import time_of
from trimtab_replay._readers.messages import MessageReader
from trimtab_replay._recording import StopRequest
from trimtab_replay._values import as_dict, dicts, flattened, joined, named, said

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
        """Look for parts whose types are the SDK's."""
        kinds = (named(part.get("type")) for part in _parts(message))
        own = any(kind in _OWN or _is_tool(kind) for kind in kinds)
        return named(message.get("role")) in _ROLES and (own or "toolInvocations" in message)

    def is_message(self, value: Any) -> bool:
        """Whether it has a role, and content or parts."""
        message = as_dict(value)
        return named(message.get("role")) in _ROLES and ("content" in message or "parts" in message)

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`."""
        role = named(message.get("role"))
        if role == "assistant":
            _respond(assembler, message)
        elif role == "tool":
            _answer_all(assembler, message)
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


def _respond(assembler: Assembler, message: dict[str, Any]) -> None:
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
        stop=StopRequest(),
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
            assembler.call(named(part.get("toolName")), _params(part), call_id)
        elif _is_tool(kind):
            _ui_tool(assembler, kind, part)


def _params(part: dict[str, Any]) -> Any:
    return part.get("input", part.get("args", {}))


def _answer_all(assembler: Assembler, message: dict[str, Any]) -> None:
    for part in _parts(message):
        if named(part.get("type")) in {_RESULT, _ERROR}:
            assembler.answer(named(part.get("toolCallId")), _model_result(part))


def _model_result(part: dict[str, Any]) -> CallResult:
    output = part.get("output", part.get("result", part.get("error")))
    kind = named(as_dict(output).get("type"))
    if "value" in as_dict(output) and kind:
        output = as_dict(output)["value"]
    failed = kind in _FAILED or part.get("isError") is True or part.get("type") == _ERROR
    if kind in _DENIED:
        return CallResult(result=as_dict(part.get("output")).get("reason"), outcome=Outcome.DENIED)
    return CallResult(
        result=flattened(output),
        outcome=Outcome.ERROR if failed else Outcome.OK,
        evidence=Evidence.FLAG if failed or kind else Evidence.UNKNOWN,
    )


def _invocation(assembler: Assembler, told: dict[str, Any]) -> None:
    """Version 4: the call and its result in one record."""
    name, call_id = named(told.get("toolName")), named(told.get("toolCallId"))
    call_id = assembler.call(name, told.get("args", {}), call_id)
    if told.get("state") == "result" or "result" in told:
        result = CallResult(result=told.get("result"), evidence=Evidence.UNKNOWN)
        assembler.answer(call_id, result)


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
