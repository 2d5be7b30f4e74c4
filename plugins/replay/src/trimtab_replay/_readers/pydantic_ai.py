"""Pydantic AI: the JSON of a run's messages."""

from __future__ import annotations

from typing import Any, ClassVar

from trimtab import Outcome
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import MessageReader
from trimtab_replay._readers.openai_chat import usage
from trimtab_replay._recording import StopRequest
from trimtab_replay._values import arguments, as_dict, as_time, dicts, joined, named, said

_KINDS = {"request", "response"}
_CALLS = {"tool-call", "builtin-tool-call", "native-tool-call"}
_RESULTS = {"tool-return", "builtin-tool-return", "native-tool-return"}
_OUTCOMES = {"denied": Outcome.DENIED, "failed": Outcome.ERROR, "retried": Outcome.ERROR}
_INVALID = {"validation_error", "unknown_tool"}


class PydanticAI(MessageReader):
    """Reads message histories of Pydantic AI."""

    name: ClassVar[str] = "pydantic-ai"
    certainty: ClassVar[float] = 1.0
    keys: ClassVar[tuple[str, ...]] = ("messages", "all_messages", "message_history")

    def is_own(self, message: dict[str, Any]) -> bool:
        """Look for requests and responses made of parts."""
        return self.is_message(message)

    def is_message(self, value: Any) -> bool:
        """Whether it has a kind, and parts with kinds of their own."""
        message = as_dict(value)
        parts = dicts(message.get("parts"))
        return named(message.get("kind")) in _KINDS and any("part_kind" in part for part in parts)

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`."""
        kind, parts = named(message.get("kind")), dicts(message.get("parts"))
        if kind == "response":
            _respond(assembler, message, parts)
        elif kind == "request":
            _listen(assembler, parts)
        return kind in _KINDS


def _respond(assembler: Assembler, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    assembler.respond(
        text=_contents(parts, "text"),
        reasoning=_contents(parts, "thinking"),
        usage=usage(as_dict(message.get("usage"))),
        at=as_time(message.get("timestamp")),
        stop=StopRequest(),
        presumed=True,
    )
    for part in parts:
        name, call_id = named(part.get("tool_name")), named(part.get("tool_call_id"))
        if named(part.get("part_kind")) in _CALLS:
            assembler.call(name, arguments(part.get("args")), call_id)
        elif named(part.get("part_kind")) in _RESULTS:
            assembler.answer(call_id, _result(part))


def _contents(parts: list[dict[str, Any]], kind: str) -> str:
    return joined(part.get("content") for part in parts if part.get("part_kind") == kind)


def _listen(assembler: Assembler, parts: list[dict[str, Any]]) -> None:
    for part in parts:
        kind, call_id = named(part.get("part_kind")), named(part.get("tool_call_id"))
        if kind in _RESULTS:
            assembler.answer(call_id, _result(part))
        elif kind == "retry-prompt" and assembler.waits(call_id):
            assembler.answer(call_id, _retry(part))
        elif kind in {"user-prompt", "retry-prompt"}:
            text = _prompt(part.get("content"))
            at = as_time(part.get("timestamp"))
            assembler.user(text, at, notification=kind == "retry-prompt")


def _prompt(content: Any) -> str:
    if isinstance(content, list):
        return joined(each if isinstance(each, str) else said([each]) for each in content)
    return named(content)


def _result(part: dict[str, Any]) -> CallResult:
    outcome = _OUTCOMES.get(named(part.get("outcome")), Outcome.OK)
    if named(as_dict(part.get("retry")).get("cause")) in _INVALID:
        outcome = Outcome.INVALID
    return CallResult(
        result=part.get("content"), outcome=outcome, at=as_time(part.get("timestamp"))
    )


def _retry(part: dict[str, Any]) -> CallResult:
    """Until version 1 a call that failed was answered by a prompt to try again."""
    content = part.get("content")
    is_validation = isinstance(content, list)
    return CallResult(
        result=content,
        outcome=Outcome.INVALID if is_validation else Outcome.ERROR,
        at=as_time(part.get("timestamp")),
    )
