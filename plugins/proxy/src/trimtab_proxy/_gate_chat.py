"""The gate of Chat Completions: the deltas of all rounds become those of one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trimtab_proxy._chat import ChatEvents
from trimtab_proxy._gate import Gate, Verdict, frame_of
from trimtab_proxy._items import Answer, Json, count, objects, string

_BETWEEN = "\n\n"


class ChatGate(Gate):
    """Follows the rounds of one request."""

    def __init__(self) -> None:
        self._spoken = False
        self._rounds = 0
        super().__init__()

    def _begin(self) -> None:
        super()._begin()
        self._rounds += 1
        self._events = ChatEvents()
        self._message = _Message()
        self._parted = not self._spoken

    def answer(self) -> Answer | None:
        return self._events.answer()

    def again(self, verdict: Verdict) -> Sequence[Json]:
        message = self._message.whole()
        if not verdict.refusal:
            return message, {"role": "user", "content": verdict.feedback}
        text = f"Not run. {verdict.refusal}"
        answers = [
            {"role": "tool", "tool_call_id": call["id"], "content": text}
            for call in message["tool_calls"]
        ]
        return message, *answers

    def _read(self, frame: bytes, event: dict[str, Any]) -> bytes:
        self._events.add(event)
        choice = next(iter(objects(event.get("choices"))), {})
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._message.add(delta)
            self._holding = self._holding or bool(delta.get("tool_calls"))
        self._holding = self._holding or bool(choice.get("finish_reason"))
        usage = event.get("usage")
        if isinstance(usage, dict):
            self._output = count(usage.get("completion_tokens"))
            if self._used:
                return frame_of({**event, "usage": _summed(usage, self._used)})
        if isinstance(delta, dict) and self._rounds > 1 and "role" in delta:
            # Clients add up the deltas of a message: a second role would stand behind the first.
            delta = {key: value for key, value in delta.items() if key != "role"}
            event = {**event, "choices": [{**choice, "delta": delta}]}
            frame = frame_of(event)
        if isinstance(delta, dict) and delta.get("content"):
            return self._spoke(frame, event, choice, delta)
        return frame

    def _spoke(self, frame: bytes, event: Json, choice: Json, delta: Json) -> bytes:
        """Part the words of two rounds."""
        self._spoken = True
        if self._parted:
            return frame
        self._parted = True
        words = {**delta, "content": _BETWEEN + string(delta["content"])}
        return frame_of({**event, "choices": [{**choice, "delta": words}]})


class _Message:
    """An answer as it goes back to the model."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[Any, dict[str, Any]] = {}

    def add(self, delta: Json) -> None:
        for key in ("content", "reasoning_content"):
            if isinstance(delta.get(key), str):
                self._texts.setdefault(key, []).append(delta[key])
        for told in objects(delta.get("tool_calls")):
            self._grow(told)

    def whole(self) -> dict[str, Any]:
        texts = {key: "".join(pieces) for key, pieces in self._texts.items()}
        message = {"role": "assistant", "content": texts.pop("content", "") or None, **texts}
        return {**message, "tool_calls": [*self._calls.values()]} if self._calls else message

    def _grow(self, told: Json) -> None:
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = self._calls.setdefault(told.get("index"), empty)
        call["id"] = call["id"] or string(told.get("id"))
        function = told.get("function")
        if isinstance(function, dict):
            call["function"]["name"] += string(function.get("name"))
            call["function"]["arguments"] += string(function.get("arguments"))


def _summed(usage: Json, used: int) -> dict[str, Any]:
    written = count(usage.get("completion_tokens")) + used
    total = count(usage.get("prompt_tokens")) + written
    return {**usage, "completion_tokens": written, "total_tokens": total}
