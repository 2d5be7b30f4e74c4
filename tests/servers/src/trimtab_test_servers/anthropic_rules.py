"""What the Messages API refuses, in its words.

The rules are those of the public reference (roles, content, tool use); they are checked in the
order in which the service reports them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trimtab_test_servers.loopback import Refused

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MAX_CACHE_BREAKPOINTS = 4
MIN_THINKING_TOKENS = 1024


def check_headers(headers: Mapping[str, str]) -> None:
    """Authentication and version, which every endpoint wants."""
    if not headers.get("x-api-key") and not headers.get("authorization"):
        raise Refused("x-api-key header is required", status=401)
    if not headers.get("anthropic-version"):
        raise Refused("anthropic-version: header is required")


def check_request(body: Mapping[str, Any], *, counting: bool = False) -> None:
    """Raise `Refused` for a body that the service would not take."""
    _check_fields(body, counting=counting)
    _check_system(body.get("system"))
    _check_tools(body.get("tools") or [])
    _check_thinking(body)
    messages = body["messages"]
    _check_roles(messages)
    for index, message in enumerate(messages):
        _check_content(index, message, last=index == len(messages) - 1)
    _check_tool_use(messages)
    _check_breakpoints(body)


def _check_fields(body: Mapping[str, Any], *, counting: bool) -> None:
    for name in ("model", "messages") if counting else ("model", "max_tokens", "messages"):
        if name not in body:
            raise Refused(f"{name}: Field required")
    if not isinstance(body["messages"], list):
        raise Refused("messages: Input should be a valid list")
    tokens = body.get("max_tokens", 1)
    if not isinstance(tokens, int) or tokens < 1:
        raise Refused("max_tokens: Input should be greater than or equal to 1")


def _check_system(system: Any) -> None:
    if isinstance(system, list) and any(block.get("text") == "" for block in system):
        raise Refused("system: text content blocks must be non-empty")


def _check_tools(tools: list[dict[str, Any]]) -> None:
    for index, tool in enumerate(tools):
        _check_tool(index, tool)
    names = [tool["name"] for tool in tools]
    if len(names) != len(set(names)):
        raise Refused("tools: Tool names must be unique.")


def _check_tool(index: int, tool: Mapping[str, Any]) -> None:
    if not TOOL_NAME.fullmatch(str(tool.get("name", ""))):
        raise Refused(
            f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        )
    if tool.get("type", "custom") != "custom":
        return
    schema = tool.get("input_schema")
    if not isinstance(schema, dict):
        raise Refused(f"tools.{index}.custom.input_schema: Field required")
    if schema.get("type") != "object":
        raise Refused(f"tools.{index}.custom.input_schema.type: Input should be 'object'")


def _check_thinking(body: Mapping[str, Any]) -> None:
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens", 0)
    if budget < MIN_THINKING_TOKENS:
        raise Refused(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        )
    if budget >= body.get("max_tokens", budget + 1):
        raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _check_roles(messages: list[dict[str, Any]]) -> None:
    if not messages:
        raise Refused("messages: at least one message is required")
    for index, message in enumerate(messages):
        # Current models also take `system` inside a conversation; never as its first message.
        if message.get("role") not in {"user", "assistant", "system"}:
            raise Refused(f"messages.{index}.role: Input should be 'user' or 'assistant'")
    if messages[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')


def _check_content(index: int, message: Mapping[str, Any], *, last: bool) -> None:
    content = message.get("content")
    if content is None:
        raise Refused(f"messages.{index}.content: Field required")
    if not content and not (last and message["role"] == "assistant"):
        raise Refused(
            f"messages.{index}: all messages must have non-empty content except for the optional"
            " final assistant message"
        )
    for place, block in enumerate(_blocks(message)):
        _check_block(f"messages.{index}.content.{place}", message["role"], block)
    if last and message["role"] == "assistant" and _ends_in_space(message):
        raise Refused("messages: final assistant content cannot end with trailing whitespace")


def _check_block(where: str, role: str, block: Mapping[str, Any]) -> None:
    kind = block.get("type")
    if kind is None:
        raise Refused(f"{where}.type: Field required")
    if kind == "text" and not block.get("text"):
        raise Refused("messages: text content blocks must be non-empty")
    if kind == "thinking" and not block.get("signature"):
        raise Refused(f"{where}.thinking.signature: Field required")
    if kind == "tool_use" and role != "assistant":
        raise Refused(f"{where}: `tool_use` blocks can only be in `assistant` messages")
    if kind == "tool_use" and not isinstance(block.get("input"), dict):
        raise Refused(f"{where}.tool_use.input: Input should be a valid dictionary")
    if kind == "tool_result" and role != "user":
        raise Refused(f"{where}: `tool_result` blocks can only be in `user` messages")


def _check_tool_use(messages: list[dict[str, Any]]) -> None:
    _check_unique_ids(messages)
    for index, message in enumerate(messages):
        asked = _ids(message, "tool_use", "id")
        if asked:
            after = messages[index + 1] if index + 1 < len(messages) else {}
            _check_answered(index, asked, after)
        before = messages[index - 1] if index else {}
        _check_expected(index, message, _ids(before, "tool_use", "id"))


def _check_unique_ids(messages: list[dict[str, Any]]) -> None:
    ids = [id_ for message in messages for id_ in _ids(message, "tool_use", "id")]
    if len(ids) != len(set(ids)):
        raise Refused("messages: `tool_use` ids must be unique")


def _check_answered(index: int, asked: list[str], after: Mapping[str, Any]) -> None:
    answered = set(_leading_results(after))
    missing = [id_ for id_ in asked if id_ not in answered]
    if missing:
        raise Refused(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately"
            f" after: {', '.join(missing)}. Each `tool_use` block must have a corresponding"
            " `tool_result` block in the next message."
        )


def _check_expected(index: int, message: Mapping[str, Any], asked: list[str]) -> None:
    results = _ids(message, "tool_result", "tool_use_id")
    for id_ in results:
        if id_ not in asked:
            raise Refused(
                f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id_}."
                " Each `tool_result` block must have a corresponding `tool_use` block in the"
                " previous message."
            )
        if results.count(id_) > 1:
            raise Refused(
                f"messages.{index}: each tool_use must have a single result. Found multiple"
                f" `tool_result` blocks with id: {id_}"
            )


def _check_breakpoints(body: Mapping[str, Any]) -> None:
    found = sum(1 for block in _cacheable(body) if block.get("cache_control"))
    if found > MAX_CACHE_BREAKPOINTS:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {found}.")


def _cacheable(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    system = body.get("system")
    yield from system if isinstance(system, list) else []
    yield from body.get("tools") or []
    for message in body["messages"]:
        yield from _blocks(message)


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def _ids(message: Mapping[str, Any], kind: str, key: str) -> list[str]:
    return [str(block.get(key)) for block in _blocks(message) if block.get("type") == kind]


def _leading_results(message: Mapping[str, Any]) -> Iterator[str]:
    """Results that stand before any other block, as the service wants them."""
    for block in _blocks(message):
        if block.get("type") != "tool_result":
            return
        yield str(block.get("tool_use_id"))


def _ends_in_space(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    text = content if isinstance(content, str) else (content[-1].get("text", "") if content else "")
    return bool(text) and text != text.rstrip()
