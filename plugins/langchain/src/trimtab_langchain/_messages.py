"""Reading what LangChain's messages say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from trimtab import Outcome, ToolCall, Usage
from trimtab.hosting import Answer

# LangGraph answers so when the arguments of a call don't fit its tool; no flag says it.
_ARGUMENTS = "Error invoking tool "


def newly_said(messages: Sequence[AnyMessage]) -> list[str]:
    """Return the messages of the user at the end of a conversation."""
    said: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, HumanMessage):
            break
        said.insert(0, str(message.text))
    return said


def answers(messages: Sequence[BaseMessage], started: Iterable[str]) -> list[Answer]:
    """Return what the messages of tools answer.

    Args:
        messages: the conversation.
        started: ids of the calls whose tools have begun to run. What is answered with an error
            and never began was refused: by the user, or by a limit.
    """
    begun = frozenset(started)
    return [
        Answer(message.tool_call_id, content_of(message), _outcome(message, begun))
        for message in messages
        if isinstance(message, ToolMessage)
    ]


def content_of(message: ToolMessage) -> Any:
    """Return what a tool answered: text, or blocks if it is more than that."""
    content = message.content
    return content if isinstance(content, list) else str(message.text)


def _outcome(message: ToolMessage, begun: frozenset[str]) -> Outcome:
    if message.status != "error":
        return Outcome.OK
    if message.tool_call_id not in begun:
        return Outcome.DENIED
    failed = str(message.text)
    return Outcome.INVALID if failed.startswith(_ARGUMENTS) else Outcome.ERROR


def calls_of(message: AIMessage) -> list[ToolCall]:
    """Return the calls that a response asks for, those with broken arguments too."""
    calls = [ToolCall(c["name"], c["args"], c["id"] or "") for c in message.tool_calls]
    return calls + broken_calls(message)


def broken_calls(message: AIMessage) -> list[ToolCall]:
    """Return the calls whose arguments are no JSON; LangChain doesn't run them."""
    return [
        ToolCall(c["name"] or "unknown", c["args"], c["id"] or "")
        for c in message.invalid_tool_calls
    ]


def usage_of(message: AIMessage) -> Usage | None:
    """Return the tokens of a response; None if the service does not say."""
    used = message.usage_metadata
    if not used:
        return None
    details: Any = used.get("input_token_details") or {}
    return Usage(
        input_tokens=used["input_tokens"],
        output_tokens=used["output_tokens"],
        cached_tokens=details.get("cache_read") or 0,
    )


def reasoning_of(message: AIMessage) -> str:
    """Return the visible thinking of a response."""
    if isinstance(message.content, str):
        return ""
    blocks: list[Any] = message.content_blocks
    return "\n".join(
        b["reasoning"] for b in blocks if b["type"] == "reasoning" and "reasoning" in b
    )


def summary_of(messages: Sequence[AnyMessage]) -> HumanMessage | None:
    """Return the summary that took the place of earlier messages, if there is one."""
    for message in messages[:2]:
        marked = message.additional_kwargs.get("lc_source") == "summarization"
        if marked and isinstance(message, HumanMessage):
            return message
    return None


def described_tools(tools: Iterable[Any]) -> dict[str, str]:
    """Return name and description of tools, those of the service itself by name alone."""
    described = {}
    for tool in tools:
        if isinstance(tool, dict):
            function = tool.get("function") or tool
            name = function.get("name") or tool.get("type")
            description = function.get("description")
        else:
            name, description = tool.name, tool.description
        if isinstance(name, str):
            described[name] = description if isinstance(description, str) else ""
    return described
