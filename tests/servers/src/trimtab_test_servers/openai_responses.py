"""The Responses API: a turn as one response, or as the events of its stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from trimtab_test_servers.ids import Ids
from trimtab_test_servers.loopback import server_sent_event
from trimtab_test_servers.openai_chat import CREATED
from trimtab_test_servers.script import Block, Call, Text, Thinking, Turn
from trimtab_test_servers.wording import pieces

ECHOED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}

Json = dict[str, Any]
Event = tuple[str, Json]


@attrs.frozen
class Response:
    """One turn with the ids under which it is sent, and the settings it echoes."""

    id: str
    turn: Turn
    output: tuple[Json, ...]
    settings: Json

    @classmethod
    def of(cls, turn: Turn, body: Mapping[str, Any], ids: Ids) -> Response:
        output = tuple(_item(block, ids) for block in turn.blocks)
        settings = {name: body.get(name, value) for name, value in ECHOED.items()}
        return cls(ids.new("resp"), turn, output, {**settings, "model": body["model"]})

    def whole(self) -> Json:
        return {
            **self._begun("completed"),
            "output": list(self.output),
            "usage": _usage(self.turn),
        }

    def stream(self) -> Iterator[bytes]:
        numbers = itertools.count()
        for kind, fields in self._events():
            event = {"type": kind, "sequence_number": next(numbers), **fields}
            yield server_sent_event(event, kind)

    def _events(self) -> Iterator[Event]:
        begun = self._begun("in_progress")
        yield "response.created", {"response": begun}
        yield "response.in_progress", {"response": begun}
        for index, item in enumerate(self.output):
            yield from _item_events(index, item)
        yield "response.completed", {"response": self.whole()}

    def _begun(self, status: str) -> Json:
        return {
            "id": self.id,
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "output": [],
            "usage": None,
            **self.settings,
        }


def _usage(turn: Turn) -> Json:
    return {
        "input_tokens": turn.input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": turn.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }


def _item(block: Block, ids: Ids) -> Json:
    match block:
        case Text(text):
            content = [_part(text)]
            message = {"type": "message", "id": ids.new("msg"), "role": "assistant"}
            return {**message, "status": "completed", "content": content}
        case Thinking(text):
            summary = [{"type": "summary_text", "text": text}]
            return {"type": "reasoning", "id": ids.new("rs"), "summary": summary}
        case Call():
            return {
                "type": "function_call",
                "id": ids.new("fc"),
                "call_id": block.id or ids.new("call"),
                "name": block.name,
                "arguments": block.arguments,
                "status": "completed",
            }


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _item_events(index: int, item: Json) -> Iterator[Event]:
    place = {"output_index": index}
    yield "response.output_item.added", {**place, "item": _begun_item(item)}
    place["item_id"] = item["id"]
    if item["type"] == "message":
        yield from _text_events(place, item["content"][0]["text"])
    if item["type"] == "function_call":
        yield from _argument_events(place, item)
    yield "response.output_item.done", {"output_index": index, "item": item}


def _begun_item(item: Json) -> Json:
    match item["type"]:
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case "function_call":
            return {**item, "status": "in_progress", "arguments": ""}
        case _:
            return item


def _text_events(place: Json, text: str) -> Iterator[Event]:
    place = {**place, "content_index": 0}
    yield "response.content_part.added", {**place, "part": _part("")}
    for delta in pieces(text):
        yield "response.output_text.delta", {**place, "delta": delta, "logprobs": []}
    yield "response.output_text.done", {**place, "text": text, "logprobs": []}
    yield "response.content_part.done", {**place, "part": _part(text)}


def _argument_events(place: Json, item: Json) -> Iterator[Event]:
    for delta in pieces(item["arguments"]):
        yield "response.function_call_arguments.delta", {**place, "delta": delta}
    done = {"name": item["name"], "arguments": item["arguments"]}
    yield "response.function_call_arguments.done", {**place, **done}
