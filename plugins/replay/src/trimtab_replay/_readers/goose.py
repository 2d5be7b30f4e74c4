"""Sessions of goose: JSON lines, a head and then messages, or an export with both."""

from __future__ import annotations

from typing import Any, ClassVar

from trimtab import Outcome
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.anthropic import time_of
from trimtab_replay._readers.messages import MessageReader
from trimtab_replay._recording import StopRequest
from trimtab_replay._values import as_dict, as_time, dicts, flattened, joined, named, said
from trimtab_replay.outcomes import outcome_of

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
        """Look for blocks with requests or responses of tools."""
        kinds = (block.get("type") for block in dicts(message.get("content")))
        return "role" in message and any(kind in (_CALL, _RESULT) for kind in kinds)

    def is_message(self, value: Any) -> bool:
        """Whether it has a role and blocks."""
        message = as_dict(value)
        return named(message.get("role")) in _ROLES and isinstance(message.get("content"), list)

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`."""
        role, blocks = named(message.get("role")), dicts(message.get("content"))
        at = as_time(message.get("created")) or time_of(message)
        if role == "assistant":
            assembler.respond(
                key=named(message.get("id")) or None,
                text=said(blocks),
                reasoning=joined(block.get("thinking") for block in blocks),
                at=at,
                stop=StopRequest(),
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
