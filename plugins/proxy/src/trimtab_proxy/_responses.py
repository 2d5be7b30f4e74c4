"""OpenAI Responses: ``POST /v1/responses``."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import attrs

from trimtab import ToolCall, Usage
from trimtab_proxy._items import (
    Answer,
    Item,
    Json,
    Kind,
    Numbering,
    Result,
    count,
    joined,
    objects,
    result_of,
    string,
    text_items,
    user_items,
)
from trimtab_proxy._json import Place

_LAST = frozenset({"response.completed", "response.incomplete"})
_GIVEN = ("arguments", "input", "action", "operation")


class Responses:
    """The Responses API."""

    name: ClassVar[str] = "openai-responses"
    list_key: ClassVar[str] = "input"
    stored_keys: ClassVar[tuple[str, ...]] = ("previous_response_id", "conversation")
    unique_ids: ClassVar[bool] = True

    def items(self, entry: Json, numbering: Numbering) -> tuple[list[Item], Numbering]:
        return _read(entry), numbering

    def call(self, item: Item) -> ToolCall:
        return _call(item.raw)

    def result(self, item: Item) -> tuple[str, Result]:
        given = item.raw.get("output", item.raw.get("tools"))
        return string(item.raw.get("call_id")), result_of(joined(given))

    def tools(self, body: Json) -> tuple[str, ...]:
        return tuple(
            string(tool.get("name")) or string(tool.get("type"))
            for tool in objects(body.get("tools"))
        )

    def place(self, last: Json) -> Place | None:
        if _is_output(last):
            return Place(("output",), _text_part)
        is_message = last.get("type", "message") == "message" and last.get("role") != "assistant"
        return Place(("content",), _text_part) if is_message else None

    def is_side(self, body: Json) -> bool:
        return body.get("max_output_tokens") == 1

    def answer(self, body: Json) -> Answer | None:
        if body.get("status") not in {"completed", "incomplete", None}:
            return None
        entries = objects(body.get("output"))
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        return Answer(
            text="\n".join(_words(entry) for entry in entries if entry.get("type") == "message"),
            calls=tuple(_call(entry) for entry in entries if _is_call(entry)),
            usage=_usage(body.get("usage")),
            stop_reason=reason or body.get("status"),
            stored_as=string(body.get("id")) or None,
        )

    def events(self) -> ResponsesEvents:
        return ResponsesEvents(self)


@attrs.define(eq=False)
class ResponsesEvents:
    """The events of a streamed response; the last holds it all, or all but the items before it."""

    _wire: Responses
    _items: list[Any] = attrs.field(factory=list)
    _response: Json | None = None

    def add(self, event: Json) -> None:
        kind = event.get("type")
        if kind == "response.output_item.done":
            self._items.append(event.get("item"))
        elif kind in _LAST and isinstance(event.get("response"), dict):
            self._response = event["response"]

    def answer(self) -> Answer | None:
        if self._response is None:
            return None
        output = self._response.get("output") or self._items
        return self._wire.answer({**self._response, "output": output})


def _read(entry: Json) -> list[Item]:
    if _is_output(entry):
        return [Item(Kind.RESULT, f"r{entry.get('call_id')}", entry)]
    if _is_call(entry):
        return [Item(Kind.CALL, f"c{entry.get('call_id')}", entry)]
    if entry.get("type", "message") != "message":
        return []
    if entry.get("role") == "user":
        return user_items(_words(entry))
    return text_items(_words(entry)) if entry.get("role") == "assistant" else []


def _is_call(entry: Json) -> bool:
    return string(entry.get("type")).endswith("_call") and "call_id" in entry


def _is_output(entry: Json) -> bool:
    return string(entry.get("type")).endswith("_output") and "call_id" in entry


def _words(entry: Json) -> str:
    content = entry.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(string(part.get("text")) for part in objects(content))


def _call(entry: Json) -> ToolCall:
    name = string(entry.get("name")) or string(entry.get("type")).removesuffix("_call")
    given = next((entry[key] for key in _GIVEN if key in entry), None)
    return ToolCall(name, _params(given), string(entry.get("call_id")))


def _params(given: Any) -> Any:
    if not isinstance(given, str):
        return {} if given is None else given
    try:
        value = json.loads(given or "{}")
    except (ValueError, RecursionError):
        value = given
    return value if isinstance(value, dict) else {"input": given}


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    return Usage(count(usage.get("input_tokens")), count(usage.get("output_tokens")))


def _text_part(text: str) -> Json:
    return {"type": "input_text", "text": text}
