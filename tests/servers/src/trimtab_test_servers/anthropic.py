"""The Messages API: `POST /v1/messages`, streamed or not, and `count_tokens`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from trimtab_test_servers.anthropic_rules import check_headers, check_request
from trimtab_test_servers.ids import Ids
from trimtab_test_servers.loopback import (
    Answer,
    LoopbackServer,
    Refused,
    Route,
    event_stream,
    json_answer,
    read_json,
    server_sent_event,
)
from trimtab_test_servers.record import Request
from trimtab_test_servers.script import Block, Call, Script, Text, Thinking, Turn
from trimtab_test_servers.wording import pieces

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
CHARACTERS_PER_TOKEN = 4

Message = dict[str, Any]


class AnthropicServer(LoopbackServer):
    """A scripted Messages API; `base_url` is what ``ANTHROPIC_BASE_URL`` takes."""

    probes = frozenset({"/api/hello"})

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self._ids = Ids()

    def routes(self) -> Mapping[str, Route]:
        return {
            "/v1/messages": self._messages,
            "/v1/messages/count_tokens": self._count_tokens,
        }

    def error_body(self, refused: Refused) -> Message:
        kind = ERROR_TYPES.get(refused.status, "api_error")
        error = {"type": kind, "message": refused.message}
        return {"type": "error", "error": error, "request_id": self._ids.new("req")}

    def _messages(self, request: Request) -> Answer:
        check_headers(request.headers)
        body = read_json(request)
        check_request(body)
        step = self.step(request)
        if isinstance(step, Answer):
            return step
        message = self._message(step, str(body["model"]))
        return event_stream(stream(message)) if body.get("stream") else json_answer(message)

    def _count_tokens(self, request: Request) -> Answer:
        check_headers(request.headers)
        check_request(read_json(request), counting=True)
        return json_answer({"input_tokens": len(request.body) // CHARACTERS_PER_TOKEN})

    def _message(self, turn: Turn, model: str) -> Message:
        return {
            "id": self._ids.new("msg"),
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [self._block(block) for block in turn.blocks],
            "stop_reason": turn.stop_reason or ("tool_use" if turn.calls else "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": turn.input_tokens,
                "output_tokens": turn.output_tokens,
            },
        }

    def _block(self, block: Block) -> Message:
        match block:
            case Text(text):
                return {"type": "text", "text": text}
            case Thinking(text):
                return {
                    "type": "thinking",
                    "thinking": text,
                    "signature": self._ids.new("sig"),
                }
            case Call(name, params, id_):
                call_id = id_ or self._ids.new("toolu")
                return {
                    "type": "tool_use",
                    "id": call_id,
                    "name": name,
                    "input": dict(params),
                }


def stream(message: Message) -> Iterator[bytes]:
    """A message as the events of its stream."""
    start = {**message, "content": [], "stop_reason": None}
    start["usage"] = {**message["usage"], "output_tokens": 1}
    yield _event("message_start", message=start)
    yield _event("ping")
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage=message["usage"])
    yield _event("message_stop")


def _block_events(index: int, block: Message) -> Iterator[bytes]:
    yield _event("content_block_start", index=index, content_block=_empty(block))
    for delta in _deltas(block):
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _empty(block: Message) -> Message:
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case _:
            return {**block, "input": {}}


def _deltas(block: Message) -> Iterator[Message]:
    match block["type"]:
        case "text":
            for part in pieces(block["text"]):
                yield {"type": "text_delta", "text": part}
        case "thinking":
            for part in pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": part}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            for part in pieces(json.dumps(block["input"])):
                yield {"type": "input_json_delta", "partial_json": part}


def _event(kind: str, **fields: Any) -> bytes:
    return server_sent_event({"type": kind, **fields}, kind)
