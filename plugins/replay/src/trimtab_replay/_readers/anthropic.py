"""Messages of Anthropic's API, and of Amazon Bedrock's Converse API: blocks within messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import MessageReader
from trimtab_replay._readers.openai_chat import usage
from trimtab_replay._recording import StopRequest
from trimtab_replay._values import (
    as_dict,
    as_time,
    dicts,
    flattened,
    joined,
    named,
    said,
)

_ROLES = {"user", "assistant", "system"}
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
_FINAL = {"end_turn", "stop_sequence"}


class Anthropic(MessageReader):
    """Reads messages in the shape of Anthropic's API, requests and responses alike."""

    name: ClassVar[str] = "anthropic"

    def is_own(self, message: dict[str, Any]) -> bool:
        """Look for blocks with calls or results."""
        kinds = (named(block.get("type")) for block in dicts(message.get("content")))
        return "role" in message and any(kind in _CALLS or _is_result(kind) for kind in kinds)

    def is_message(self, value: Any) -> bool:
        """Whether it has a role and content."""
        message = as_dict(value)
        return named(message.get("role")) in _ROLES and "content" in message

    def tools(self, document: Any) -> frozenset[str] | None:
        """Return the names in a request's ``tools``."""
        listed = as_dict(document).get("tools")
        if not isinstance(listed, list):
            return None
        return frozenset(filter(None, (named(tool.get("name")) for tool in dicts(listed))))

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`."""
        role = named(message.get("role"))
        if role == "assistant":
            self.respond(assembler, message)
        elif role == "user":
            self.listen(assembler, message)
        return role in _ROLES

    def respond(self, assembler: Assembler, message: dict[str, Any]) -> None:
        """Read an assistant's message; it holds the results of the service's own tools."""
        blocks = dicts(message.get("content"))
        reason = named(message.get("stop_reason"))
        assembler.respond(
            key=named(message.get("id")) or None,
            text=said(message.get("content")),
            reasoning=joined(block.get("thinking") for block in blocks),
            usage=usage(as_dict(message.get("usage"))),
            at=time_of(message),
            stop=self.stop_of(message),
            presumed=not reason,
        )
        for block in blocks:
            if named(block.get("type")) in _CALLS:
                call_id = named(block.get("id"))
                assembler.call(named(block.get("name")), block.get("input", {}), call_id)
            elif _is_result(named(block.get("type"))):
                assembler.answer(named(block.get("tool_use_id")), result_of(block, message))

    def stop_of(self, message: dict[str, Any]) -> StopRequest | None:
        """Return what a response without calls is."""
        reason = named(message.get("stop_reason"))
        return StopRequest() if reason in _FINAL or not reason else None

    def listen(self, assembler: Assembler, message: dict[str, Any]) -> None:
        """Read a user's message: results first, then text."""
        for block in dicts(message.get("content")):
            if _is_result(named(block.get("type"))):
                assembler.answer(named(block.get("tool_use_id")), result_of(block, message))
        text = said(message.get("content"))
        if text:
            assembler.user(text, time_of(message))


def _is_result(kind: str) -> bool:
    return kind == "tool_result" or kind.endswith("_tool_result")


def time_of(message: dict[str, Any]) -> Any:
    """Return when a message was written; several programs add one of these keys."""
    times = (as_time(message.get(key)) for key in ("timestamp", "created_at", "ts"))
    return next((time for time in times if time is not None), None)


def result_of(block: dict[str, Any], message: dict[str, Any]) -> CallResult:
    """Read a ``tool_result`` block."""
    content = block.get("content")
    failed = block.get("is_error") is True or named(as_dict(content).get("type")).endswith("_error")
    return CallResult(
        result=flattened(content),
        outcome=Outcome.ERROR if failed else Outcome.OK,
        at=time_of(message),
    )


class Bedrock(MessageReader):
    """Reads messages in the shape of Amazon Bedrock's Converse API."""

    name: ClassVar[str] = "bedrock"

    def is_own(self, message: dict[str, Any]) -> bool:
        """Look for blocks with calls or results."""
        blocks = dicts(message.get("content"))
        return "role" in message and any("toolUse" in b or "toolResult" in b for b in blocks)

    def is_message(self, value: Any) -> bool:
        """Whether it has a role and blocks."""
        message = as_dict(value)
        return named(message.get("role")) in _ROLES and isinstance(message.get("content"), list)

    def tools(self, document: Any) -> frozenset[str] | None:
        """Return the names in a request's ``toolConfig``."""
        listed = as_dict(as_dict(document).get("toolConfig")).get("tools")
        if not isinstance(listed, list):
            return None
        specs = (as_dict(tool.get("toolSpec")) for tool in dicts(listed))
        return frozenset(filter(None, (named(spec.get("name")) for spec in specs)))

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`."""
        role, blocks = named(message.get("role")), dicts(message.get("content"))
        if role == "assistant":
            self._respond(assembler, message, blocks)
        elif role == "user":
            for block in _values(blocks, "toolResult"):
                assembler.answer(named(block.get("toolUseId")), _converse_result(block))
            text = said(blocks)
            if text:
                assembler.user(text, time_of(message))
        return role in _ROLES

    def _respond(
        self, assembler: Assembler, message: dict[str, Any], blocks: list[dict[str, Any]]
    ) -> None:
        thoughts = (as_dict(b.get("reasoningText")) for b in _values(blocks, "reasoningContent"))
        assembler.respond(
            text=said(blocks),
            reasoning=joined(thought.get("text") for thought in thoughts),
            at=time_of(message),
            stop=StopRequest(),
            presumed=True,
        )
        for block in _values(blocks, "toolUse"):
            call_id = named(block.get("toolUseId"))
            assembler.call(named(block.get("name")), block.get("input", {}), call_id)


def _values(blocks: list[dict[str, Any]], key: str) -> Iterator[dict[str, Any]]:
    return (as_dict(block[key]) for block in blocks if key in block)


def _converse_result(block: dict[str, Any]) -> CallResult:
    content = block.get("content")
    parts = dicts(content)
    if len(parts) == 1 and "json" in parts[0]:
        content = parts[0]["json"]
    status = named(block.get("status"))
    return CallResult(
        result=flattened(content),
        outcome=Outcome.ERROR if status == "error" else Outcome.OK,
        evidence=Evidence.FLAG if status else Evidence.UNKNOWN,
    )
