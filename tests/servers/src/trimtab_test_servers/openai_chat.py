"""Chat Completions: a turn as one completion, or as the chunks of its stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from trimtab_test_servers.ids import Ids
from trimtab_test_servers.loopback import server_sent_event
from trimtab_test_servers.script import Call, Turn
from trimtab_test_servers.wording import pieces

CREATED = 1_700_000_000

Json = dict[str, Any]


@attrs.frozen
class Completion:
    """One turn with the ids under which it is sent."""

    id: str
    model: str
    turn: Turn
    calls: tuple[Json, ...]

    @classmethod
    def of(cls, turn: Turn, model: str, ids: Ids) -> Completion:
        calls = tuple(_call(call, ids) for call in turn.calls)
        return cls(ids.new("chatcmpl"), model, turn, calls)

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.calls else "stop"

    @property
    def usage(self) -> Json:
        prompt, completion = self.turn.input_tokens, self.turn.output_tokens
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }

    def whole(self) -> Json:
        message: Json = {"role": "assistant", "content": self.turn.text or None, "refusal": None}
        if self.calls:
            message["tool_calls"] = list(self.calls)
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": self.finish_reason,
        }
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage}

    def stream(self, *, include_usage: bool) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": "", "refusal": None})
        for text in pieces(self.turn.text):
            yield self._chunk({"content": text})
        for index, call in enumerate(self.calls):
            for delta in _call_deltas(index, call):
                yield self._chunk({"tool_calls": [delta]})
        yield self._chunk({}, self.finish_reason)
        if include_usage:
            head = self._head("chat.completion.chunk")
            yield server_sent_event({**head, "choices": [], "usage": self.usage})
        yield server_sent_event("[DONE]")

    def _chunk(self, delta: Json, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return server_sent_event({**self._head("chat.completion.chunk"), "choices": [choice]})

    def _head(self, kind: str) -> Json:
        return {"id": self.id, "object": kind, "created": CREATED, "model": self.model}


def _call(call: Call, ids: Ids) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id or ids.new("call"), "type": "function", "function": function}


def _call_deltas(index: int, call: Json) -> Iterator[Json]:
    yield {"index": index, **call, "function": {**call["function"], "arguments": ""}}
    for text in pieces(call["function"]["arguments"]):
        yield {"index": index, "function": {"arguments": text}}
