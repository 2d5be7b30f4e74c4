"""The chunks of a streamed completion, put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from trimtab_openai._errors import ModelFailed
from trimtab_openai._model_response import (
    Json,
    ModelResponse,
    as_dict,
    as_json,
    decode_errors,
    field,
    model_of,
    text_of,
)

GROWING = frozenset({"content", "refusal", "reasoning_content", "reasoning"})


class ChatStream:
    """Collects chunks; `finish` makes a reply of message, finish reason and usage."""

    def __init__(self, finish: Callable[[Json, str | None, Any], ModelResponse]) -> None:
        self._finish = finish
        self._message: Json = {"role": "assistant"}
        self._calls: list[tuple[int | None, Json]] = []
        self._stop_reason: str | None = None
        self._usage: Any = None
        self._model = ""

    @decode_errors
    def add(self, piece: Any) -> None:
        self._usage = field(piece, "usage") or self._usage
        self._model = self._model or model_of(piece)
        for choice in field(piece, "choices") or ():
            self._stop_reason = field(choice, "finish_reason") or self._stop_reason
            delta = field(choice, "delta")
            if delta is not None:
                self._grow(as_dict(delta))

    @decode_errors
    def reply(self) -> ModelResponse:
        if self._stop_reason is None:
            raise ModelFailed("the stream broke off before the answer was complete")
        calls = [call for _, call in self._calls]
        message = {**self._message, "tool_calls": calls}
        reply = self._finish(message, self._stop_reason, self._usage)
        return attrs.evolve(reply, model=self._model)

    def _grow(self, delta: Json) -> None:
        for name, value in delta.items():
            if name == "tool_calls":
                for part in value:
                    self._grow_call(as_dict(part))
            elif name in GROWING:
                self._message[name] = self._message.get(name, "") + text_of(value)
            elif isinstance(value, list):
                self._message[name] = [*self._message.get(name, ()), *value]
            else:
                self._message[name] = value

    def _grow_call(self, part: Json) -> None:
        call = self._slot(part.pop("index", None), part.get("id"))
        function, custom = as_dict(part.pop("function", None)), as_dict(part.pop("custom", None))
        call.update(part)
        given = function or {"name": custom.get("name", ""), "arguments": custom.get("input", "")}
        known = call.setdefault("function", {"name": "", "arguments": ""})
        known["name"] = known["name"] or given.get("name", "")
        known["arguments"] += as_json(given.get("arguments", ""))
        call["type"] = "function"

    def _slot(self, index: int | None, id_: str | None) -> Json:
        """The call that a part belongs to: some services repeat ids, some give one index to all."""
        for known, call in reversed(self._calls):
            if (known == index or index is None) and (not id_ or call.get("id") == id_):
                return call
        fresh: Json = {"type": "function"}
        self._calls.append((index, fresh))
        return fresh
