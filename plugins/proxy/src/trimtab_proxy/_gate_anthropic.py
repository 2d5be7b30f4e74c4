"""The gate of Anthropic Messages: the blocks of all rounds become those of one message."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trimtab_proxy._anthropic import AnthropicEvents
from trimtab_proxy._gate import Gate, Verdict, frame_of
from trimtab_proxy._items import Answer, Json, count

_GROWN = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class AnthropicGate(Gate):
    """Follows the rounds of one request."""

    def __init__(self) -> None:
        self._shown = 0
        self._first = True
        super().__init__()

    def _begin(self) -> None:
        super()._begin()
        self._events = AnthropicEvents()
        self._blocks = _Blocks()
        self._offset = self._shown

    def answer(self) -> Answer | None:
        return self._events.answer() if self._blocks.readable else None

    def again(self, verdict: Verdict) -> Sequence[Json]:
        blocks = self._blocks.all()
        if not verdict.refusal:
            content: list[Json] = [{"type": "text", "text": verdict.feedback}]
        else:
            content = [_refused(b["id"], verdict) for b in blocks if b.get("type") == "tool_use"]
        return (
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": content},
        )

    def next_round(self) -> None:
        self._first = False
        super().next_round()

    def _read(self, frame: bytes, event: dict[str, Any]) -> bytes:
        self._events.add(event)
        self._blocks.add(event)
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


class _Blocks:
    """The content of an answer, as it goes back to the model."""

    def __init__(self) -> None:
        self.readable = True
        self._blocks: dict[Any, dict[str, Any]] = {}
        self._inputs: dict[Any, list[str]] = {}

    def add(self, event: dict[str, Any]) -> None:
        index, kind = event.get("index"), event.get("type")
        if kind == "content_block_start":
            self._blocks[index] = dict(event.get("content_block") or {})
        elif kind == "content_block_delta":
            self._grow(index, event.get("delta") or {})

    def all(self) -> list[dict[str, Any]]:
        for index, pieces in self._inputs.items():
            self._blocks[index]["input"] = json.loads("".join(pieces) or "{}")
        return [block for block in self._blocks.values() if block.get("text") != ""]

    def _grow(self, index: Any, delta: dict[str, Any]) -> None:
        key, block = _GROWN.get(delta.get("type", "")), self._blocks.get(index)
        if block is None:
            self.readable = False
        elif key is not None:
            block[key] = block.get(key, "") + delta.get(key, "")
        elif delta.get("type") == "input_json_delta":
            self._inputs.setdefault(index, []).append(delta.get("partial_json", ""))
        else:
            self.readable = False


def _refused(call_id: str, verdict: Verdict) -> Json:
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "is_error": True,
        "content": f"Not run. {verdict.refusal}",
    }
