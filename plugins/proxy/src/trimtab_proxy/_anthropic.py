"""Anthropic Messages: ``POST /v1/messages``."""

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
    string,
    text_items,
    user_items,
)
from trimtab_proxy._json import Place
from trimtab_proxy._outcomes import result_of

_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicMessages:
    """The Messages API."""

    name: ClassVar[str] = "anthropic-messages"
    list_key: ClassVar[str] = "messages"
    stored_keys: ClassVar[tuple[str, ...]] = ()
    unique_ids: ClassVar[bool] = True

    def items(self, entry: Json, numbering: Numbering) -> tuple[list[Item], Numbering]:
        role, content = entry.get("role"), entry.get("content")
        if role == "user":
            return _asked(content), numbering
        return _answered(content) if role == "assistant" else [], numbering

    def call(self, item: Item) -> ToolCall:
        block = item.raw
        return ToolCall(string(block.get("name")), block.get("input"), string(block.get("id")))

    def result(self, item: Item) -> tuple[str, Result]:
        content = joined(item.raw.get("content"))
        failed = bool(item.raw.get("is_error"))
        return string(item.raw.get("tool_use_id")), result_of(content, failed)

    def tools(self, body: Json) -> tuple[str, ...]:
        return tuple(string(tool.get("name")) for tool in objects(body.get("tools")))

    def place(self, last: Json) -> Place | None:
        return Place(("content",), _text_block) if last.get("role") != "assistant" else None

    def is_side(self, body: Json) -> bool:
        return body.get("max_tokens") == 1

    def answer(self, body: Json) -> Answer | None:
        if body.get("type") != "message":
            return None
        blocks = objects(body.get("content"))
        return Answer(
            text="\n".join(string(b.get("text")) for b in blocks if b.get("type") == "text"),
            calls=tuple(
                ToolCall(string(b.get("name")), b.get("input"), string(b.get("id")))
                for b in blocks
                if b.get("type") == "tool_use"
            ),
            usage=_usage(body.get("usage")),
            stop_reason=body.get("stop_reason"),
        )

    def events(self) -> AnthropicEvents:
        return AnthropicEvents()


@attrs.define(eq=False)
class AnthropicEvents:
    """The events of a streamed message."""

    _blocks: dict[int, dict[str, Any]] = attrs.field(factory=dict)
    _usage: dict[str, Any] = attrs.field(factory=dict)
    _stop_reason: str | None = None
    _complete: bool = False

    def add(self, event: Json) -> None:
        kind = event.get("type")
        if kind == "content_block_delta":
            self._grow(event)
        elif kind == "content_block_start":
            self._begin(event)
        elif kind == "message_start":
            message = event.get("message")
            self._count(message.get("usage") if isinstance(message, dict) else None)
        elif kind == "message_delta":
            self._count(event.get("usage"))
            delta = event.get("delta")
            self._stop_reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        elif kind == "message_stop":
            self._complete = True

    def answer(self) -> Answer | None:
        if not self._complete:
            return None
        texts, calls = [], []
        for block in self._blocks.values():
            if block["kind"] == "text":
                texts.append("".join(block["grown"]))
            elif block["kind"] == "tool_use":
                calls.append(ToolCall(block["name"], _params(block["grown"]), block["id"]))
        return Answer(
            text="\n".join(texts),
            calls=tuple(calls),
            usage=_usage(self._usage),
            stop_reason=self._stop_reason,
        )

    def _begin(self, event: Json) -> None:
        block = event.get("content_block")
        if isinstance(block, dict) and isinstance(event.get("index"), int):
            self._blocks[event["index"]] = {
                "kind": block.get("type"),
                "name": string(block.get("name")),
                "id": string(block.get("id")),
                "grown": [string(block.get("text"))],
            }

    def _grow(self, event: Json) -> None:
        index, delta = event.get("index"), event.get("delta")
        block = self._blocks.get(index) if isinstance(index, int) else None
        if block is not None and isinstance(delta, dict):
            block["grown"].append(string(delta.get("text")) or string(delta.get("partial_json")))

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._usage.update({key: value for key, value in usage.items() if value is not None})


def _asked(content: Any) -> list[Item]:
    if isinstance(content, str):
        return user_items(content)
    items: list[Item] = []
    for block in objects(content):
        kind = block.get("type")
        if kind == "tool_result":
            items.append(Item(Kind.RESULT, f"r{block.get('tool_use_id')}", block))
        elif kind == "text":
            items += user_items(string(block.get("text")))
    return items


def _answered(content: Any) -> list[Item]:
    if isinstance(content, str):
        return text_items(content)
    items: list[Item] = []
    for block in objects(content):
        kind = block.get("type")
        if kind == "tool_use":
            items.append(Item(Kind.CALL, f"c{block.get('id')}", block))
        elif kind == "text":
            items += text_items(block.get("text"))
    return items


def _params(grown: list[str]) -> Any:
    text = "".join(grown)
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return text


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict) or not usage:
        return None
    read = sum(count(usage.get(key)) for key in _READ)
    return Usage(input_tokens=read, output_tokens=count(usage.get("output_tokens")))


def _text_block(text: str) -> Json:
    return {"type": "text", "text": text}
