"""Anthropic's Messages: requests, streams, and what the gate puts into them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from trimtab import ToolCall
from trimtab_proxy._gate import Gate, Verdict, frame_of
from trimtab_proxy._items import (
    Answer,
    Item,
    Json,
    Kind,
    Numbering,
    Result,
    Wire,
    count,
    joined,
    objects,
    result_of,
    string,
    text_items,
    usage_of,
    user_items,
)
from trimtab_proxy._json import Place

_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicMessages(Wire):
    """The Messages API."""

    name: ClassVar[str] = "anthropic-messages"
    list_key: ClassVar[str] = "messages"

    def items(self, entry: Json, numbering: Numbering) -> tuple[list[Item], Numbering]:
        by_user, content = entry.get("role") == "user", entry.get("content")
        if not by_user and entry.get("role") != "assistant":
            return [], numbering
        items: list[Item] = []
        for block in [_said(content)] if isinstance(content, str) else objects(content):
            kind = block.get("type")
            if kind == "text":
                words = string(block.get("text"))
                items += user_items(words) if by_user else text_items(words)
            elif by_user and kind == "tool_result":
                items.append(Item(Kind.RESULT, f"r{block.get('tool_use_id')}", block))
            elif not by_user and kind == "tool_use":
                items.append(Item(Kind.CALL, f"c{block.get('id')}", block))
        return items, numbering

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
        return Place(("content",), {"type": "text"}) if last.get("role") != "assistant" else None

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
            usage=usage_of(body.get("usage") or None, _READ, ("output_tokens",)),
            stop_reason=body.get("stop_reason"),
        )

    def events(self) -> AnthropicEvents:
        return AnthropicEvents(self)


_GROWN = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
}
"""Where a delta of each type holds its piece, and what of the block it belongs to."""


@attrs.define(eq=False)
class AnthropicEvents:
    """The events of a streamed message.

    Attributes:
        readable: whether all that came is in `content`, so that it can go back to the model.
    """

    _wire: AnthropicMessages
    readable: bool = True
    _blocks: dict[int, tuple[Json, dict[str, list[str]]]] = attrs.field(factory=dict)
    _usage: dict[str, Any] = attrs.field(factory=dict)
    _stop_reason: str | None = None
    _complete: bool = False

    def add(self, event: Json) -> None:
        kind = event.get("type")
        if kind == "content_block_delta":
            self._grow(event)
        elif kind == "content_block_start":
            block = event.get("content_block")
            if isinstance(block, dict) and isinstance(event.get("index"), int):
                self._blocks[event["index"]] = block, {}
        elif kind == "message_start":
            message = event.get("message")
            self._count(message.get("usage") if isinstance(message, dict) else None)
        elif kind == "message_delta":
            self._count(event.get("usage"))
            delta = event.get("delta")
            self._stop_reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        elif kind == "message_stop":
            self._complete = True

    def content(self) -> list[Json]:
        """Return the blocks so far, as they go back to the model."""
        blocks = []
        for begun, grown in self._blocks.values():
            pieces = {key: "".join(parts) for key, parts in grown.items()}
            given = {"input": _params(pieces.pop("input"))} if "input" in pieces else {}
            texts = {key: string(begun.get(key)) + piece for key, piece in pieces.items()}
            blocks.append({**begun, **texts, **given})
        return [block for block in blocks if block.get("text") != ""]

    def answer(self) -> Answer | None:
        if not self._complete:
            return None
        told = {"content": self.content(), "usage": self._usage, "stop_reason": self._stop_reason}
        return self._wire.answer({"type": "message", **told})

    def _grow(self, event: Json) -> None:
        index, delta = event.get("index"), event.get("delta")
        block = self._blocks.get(index) if isinstance(index, int) else None
        kind = delta.get("type") if isinstance(delta, dict) else None
        if block is None or delta is None or kind not in _GROWN:
            self.readable = False
            return
        where, key = _GROWN[kind]
        block[1].setdefault(key, []).append(string(delta.get(where)))

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._usage.update({key: value for key, value in usage.items() if value is not None})


def _params(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return text


def _said(text: str) -> Json:
    return {"type": "text", "text": text}


class AnthropicGate(Gate):
    """Follows the rounds of one request."""

    def __init__(self) -> None:
        self._shown = 0
        self._first = True
        super().__init__()

    def _begin(self) -> None:
        super()._begin()
        self._events = AnthropicEvents(AnthropicMessages())
        self._offset = self._shown

    def answer(self) -> Answer | None:
        return self._events.answer() if self._events.readable else None

    def again(self, verdict: Verdict) -> Sequence[Json]:
        blocks = self._events.content()
        if not verdict.refusal:
            content = [_said(verdict.feedback)]
        else:
            content = [_refused(b["id"], verdict) for b in blocks if b.get("type") == "tool_use"]
        return ({"role": "assistant", "content": blocks}, {"role": "user", "content": content})

    def next_round(self) -> None:
        self._first = False
        super().next_round()

    def _read(self, frame: bytes, event: dict[str, Any]) -> bytes:
        self._events.add(event)
        kind = event.get("type")
        if kind == "message_start":
            return frame if self._first else b""
        if kind == "content_block_start":
            block = event.get("content_block")
            calls = isinstance(block, dict) and block.get("type") == "tool_use"
            self._holding = self._holding or calls
            self._shown += not self._holding
        if kind == "message_delta":
            self._holding = True
            return self._with_usage(frame, event)
        if isinstance(event.get("index"), int) and self._offset:
            return frame_of({**event, "index": event["index"] + self._offset}, kind)
        return frame

    def _with_usage(self, frame: bytes, event: dict[str, Any]) -> bytes:
        usage = event.get("usage")
        if not isinstance(usage, dict):
            return frame
        self._output = count(usage.get("output_tokens"))
        if not self._used:
            return frame
        summed = {**usage, "output_tokens": self._output + self._used}
        return frame_of({**event, "usage": summed}, "message_delta")


def _refused(call_id: str, verdict: Verdict) -> Json:
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "is_error": True,
        "content": f"Not run. {verdict.refusal}",
    }
