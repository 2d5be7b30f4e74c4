"""What the Responses API refuses: calls without outputs, outputs without calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trimtab_test_servers.loopback import Refused
from trimtab_test_servers.openai_rules import (
    bad_value,
    check_common,
    check_format,
    check_function,
    check_speaks_of_json,
    missing,
)

ROLES = ("assistant", "system", "developer", "user")
INPUT_PARTS = ("input_text", "input_image", "input_file")
OUTPUT_PARTS = ("output_text", "refusal")

Item = dict[str, Any]


def check_responses(body: Mapping[str, Any]) -> None:
    """Raise `Refused` for fields that the service would not take."""
    check_common(body)
    if "input" not in body:
        raise missing("input")
    for index, tool in enumerate(body.get("tools") or []):
        if tool.get("type") == "function":
            check_function(tool, f"tools[{index}]")
    form = (body.get("text") or {}).get("format") or {}
    if form.get("type") == "json_schema":
        check_format(form, "text.format")
    if form.get("type") == "json_object":
        check_speaks_of_json([body.get("instructions"), body["input"]], "input")


def items_of(sent: Any) -> list[Item]:
    """The input as items, each checked by itself."""
    items = [{"role": "user", "content": sent}] if isinstance(sent, str) else list(sent)
    for index, item in enumerate(items):
        _check_item(f"input[{index}]", item)
    return items


def check_pairs(items: Iterable[Item]) -> None:
    """Every call has its output, every output its call before it."""
    items = list(items)
    asked: set[str] = set()
    for item in items:
        if item.get("type") == "function_call":
            asked.add(str(item["call_id"]))
        if item.get("type") == "function_call_output" and item["call_id"] not in asked:
            raise Refused(
                f"No tool call found for function call output with call_id {item['call_id']}.",
                param="input",
            )
    _check_answered(items)
    _check_reasoning(items)


def _check_answered(items: list[Item]) -> None:
    answered = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    for item in items:
        if item.get("type") == "function_call" and item["call_id"] not in answered:
            raise Refused(
                f"No tool output found for function call {item['call_id']}.", param="input"
            )


def _check_reasoning(items: list[Item]) -> None:
    for item, following in zip(items, [*items[1:], {}], strict=True):
        if item.get("type") == "reasoning" and not _is_output(following):
            raise Refused(
                f"Item '{item.get('id')}' of type 'reasoning' was provided without its required"
                " following item.",
                param="input",
            )


def _is_output(item: Item) -> bool:
    is_call = item.get("type") in {"function_call", "reasoning"}
    return is_call or item.get("role") == "assistant"


def _check_item(where: str, item: Item) -> None:
    match item.get("type", "message"):
        case "message":
            _check_message(where, item)
        case "function_call":
            _check_fields(where, item, ("call_id", "name", "arguments"))
        case "function_call_output":
            _check_fields(where, item, ("call_id", "output"))


def _check_message(where: str, item: Item) -> None:
    role = item.get("role")
    if role not in ROLES:
        raise bad_value(role, ROLES, f"{where}.role")
    if item.get("content") is None:
        raise missing(f"{where}.content")
    if isinstance(item["content"], str):
        return
    supported = OUTPUT_PARTS if role == "assistant" else INPUT_PARTS
    for index, part in enumerate(item["content"]):
        if part.get("type") not in supported:
            raise bad_value(part.get("type"), supported, f"{where}.content[{index}]")


def _check_fields(where: str, item: Item, names: tuple[str, ...]) -> None:
    for name in names:
        if item.get(name) is None:
            raise missing(f"{where}.{name}")
