"""What Chat Completions refuses: above all, anything between tool calls and their results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab_test_servers.loopback import Refused
from trimtab_test_servers.openai_rules import (
    bad_value,
    check_common,
    check_format,
    check_function,
    check_speaks_of_json,
    empty_array,
    missing,
)

ROLES = ("system", "assistant", "user", "function", "tool", "developer")

Message = Mapping[str, Any]


def check_chat(body: Mapping[str, Any]) -> None:
    """Raise `Refused` for a body that the service would not take."""
    check_common(body)
    if "messages" not in body:
        raise missing("messages")
    if not body["messages"]:
        raise empty_array("messages")
    if body.get("stream_options") and not body.get("stream"):
        raise Refused(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            param="stream_options",
        )
    for index, tool in enumerate(body.get("tools") or []):
        check_function(tool.get("function") or {}, f"tools[{index}].function")
    _check_response_format(body)
    _check_messages(body["messages"])


def _check_response_format(body: Mapping[str, Any]) -> None:
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        if "json_schema" not in form:
            raise missing("response_format.json_schema")
        check_format(form["json_schema"], "response_format.json_schema")
    if form.get("type") == "json_object":
        check_speaks_of_json(body["messages"], "messages")


def _check_messages(messages: list[Message]) -> None:
    for index, message in enumerate(messages):
        _check_message(index, message)
    index = 0
    while index < len(messages):
        index = _check_group(messages, index)


def _check_message(index: int, message: Message) -> None:
    role = message.get("role")
    if role not in ROLES:
        raise bad_value(role, ROLES, f"messages[{index}].role")
    if message.get("tool_calls") == []:
        raise empty_array(f"messages[{index}].tool_calls")
    if message.get("content") is None and not message.get("tool_calls"):
        raise Refused(
            "Invalid value for 'content': expected a string, got null.",
            param=f"messages.[{index}].content",
        )
    for place, call in enumerate(message.get("tool_calls") or []):
        _check_call(f"messages[{index}].tool_calls[{place}]", call)
    if role == "tool" and not message.get("tool_call_id"):
        raise Refused(
            "Missing parameter 'tool_call_id': messages with role 'tool' must have a"
            " 'tool_call_id'.",
            param=f"messages.[{index}].tool_call_id",
        )


def _check_call(where: str, call: Message) -> None:
    if not call.get("id"):
        raise missing(f"{where}.id")
    function = call.get("function") or {}
    if not function.get("name"):
        raise missing(f"{where}.function.name")
    if not isinstance(function.get("arguments"), str):
        raise Refused(
            f"Invalid type for '{where}.function.arguments': expected a string.",
            param=f"{where}.function.arguments",
            code="invalid_type",
        )


def _check_group(messages: list[Message], index: int) -> int:
    """Check the message at ``index`` with its results; the index after them."""
    message = messages[index]
    if message["role"] == "tool":
        raise Refused(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding"
            " message with 'tool_calls'.",
            param=f"messages.[{index}].role",
        )
    asked = [str(call["id"]) for call in message.get("tool_calls") or []]
    answered: set[str] = set()
    index += 1
    while asked and index < len(messages) and messages[index]["role"] == "tool":
        answered.add(_check_result(index, messages[index], asked, answered))
        index += 1
    _check_complete(index, [id_ for id_ in asked if id_ not in answered])
    return index


def _check_result(index: int, message: Message, asked: list[str], answered: set[str]) -> str:
    id_ = str(message["tool_call_id"])
    if id_ not in asked:
        raise Refused(
            f"Invalid parameter: 'tool_call_id' of '{id_}' not found in 'tool_calls' of previous"
            " message.",
            param=f"messages.[{index}].tool_call_id",
        )
    if id_ in answered:
        raise Refused(
            f"Duplicate value for 'tool_call_id' of '{id_}' in message[{index}]",
            param=f"messages.[{index}].tool_call_id",
        )
    return id_


def _check_complete(index: int, open_ids: list[str]) -> None:
    if open_ids:
        raise Refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to"
            " each 'tool_call_id'. The following tool_call_ids did not have response messages:"
            f" {', '.join(open_ids)}",
            param=f"messages.[{index}].role",
        )
