"""A scripted model service on loopback that speaks three dialects, whole or streamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self

import attrs

Json = dict[str, Any]
Calls = list[tuple[str, str, Json]]
_USED = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@attrs.frozen
class Reply:
    """An HTTP response."""

    body: bytes
    status: int = 200
    kind: str = "application/json"
    refused: str = ""


def reply_to(path: str, body: Json, text: str, calls: Calls, status: int) -> Reply:
    refused = _out_of_place(body["messages"]) if path.endswith("/chat/completions") else ""
    if status or refused:
        return _error(path, status or 400, refused or "scripted")
    if "enerateContent" in path:
        return _content(path, text, calls)
    for end, write in _WIRES.items():
        if path.endswith(end):
            return write(body, text, calls)
    return _error(path, 404, f"no such path: {path}")


def messages_of(body: Json) -> list[Any]:
    """Return the messages of a request, in whatever dialect it is."""
    given = body.get("messages") or body.get("input") or body.get("contents") or []
    return given if isinstance(given, list) else [given]


def known_as(tool: str, body: Json) -> str:
    """Return a tool's name in a request: runtimes put the name of a server in front of it."""
    names = [str((one.get("function") or one).get("name")) for one in body.get("tools") or ()]
    return next((name for name in names if name.endswith(f"__{tool}")), tool)


def texts_in(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(texts_in(one) for one in value.values())
    return "\n".join(texts_in(one) for one in value) if isinstance(value, list) else ""


def _id(kind: str, body: Json) -> str:
    """Return an id for a response: runtimes take messages of one id for one message."""
    return f"{kind}_{len(messages_of(body))}"


def _error(path: str, status: int, message: str) -> Reply:
    error: Json = {"message": message, "type": "error", "code": None}
    if "enerateContent" in path:
        error = {"code": status, "message": message, "status": "INTERNAL"}
    refused = message if status == 400 else ""
    return Reply(json.dumps({"type": "error", "error": error}).encode(), status, refused=refused)


def _whole(value: Json) -> Reply:
    return Reply(json.dumps(value).encode())


def _stream(events: Iterable[tuple[str, Json | str]]) -> Reply:
    lines = [
        ("" if not name else f"event: {name}\n")
        + f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n"
        for name, value in events
    ]
    return Reply("".join(lines).encode(), kind="text/event-stream")


def _out_of_place(messages: list[Json]) -> str:
    waiting: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                return "messages with role 'tool' must follow a message with 'tool_calls'"
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return f"tool messages must answer each 'tool_call_id': {waiting}"
        if message.get("role") == "assistant":
            waiting = [call["id"] for call in message.get("tool_calls") or []]
    return f"tool messages must answer each 'tool_call_id': {waiting}" if waiting else ""


def _completion(body: Json, text: str, calls: Calls) -> Reply:
    base: Json = {"id": _id("chatcmpl", body), "created": 1, "model": body.get("model", "m")}
    asked = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": json.dumps(params)}}
        for i, name, params in calls
    ]
    finish = "tool_calls" if asked else "stop"
    if not body.get("stream"):
        message: Json = {"role": "assistant", "content": text or None, "refusal": None}
        message.update({"tool_calls": asked} if asked else {})
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return _whole({**base, "object": "chat.completion", "usage": _USED, "choices": [choice]})
    chunk = {**base, "object": "chat.completion.chunk"}

    def delta(change: Json, end: str | None = None) -> tuple[str, Json]:
        choice = {"index": 0, "delta": change, "finish_reason": end}
        return "", {**chunk, "choices": [choice]}

    events = [delta({"role": "assistant", "content": ""})]
    events += [delta({"content": text})] if text else []
    events += [delta({"tool_calls": [{"index": n, **call}]}) for n, call in enumerate(asked)]
    events.append(delta({}, finish))
    if (body.get("stream_options") or {}).get("include_usage"):
        events.append(("", {**chunk, "choices": [], "usage": _USED}))
    return _stream([*events, ("", "[DONE]")])


def _response(body: Json, text: str, calls: Calls) -> Reply:
    output: list[Json] = []
    if text:
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        said = {"id": _id("msg", body), "type": "message", "role": "assistant"}
        output.append({**said, "status": "completed", "content": [part]})
    for i, name, params in calls:
        call = {"id": f"fc_{i}", "type": "function_call", "call_id": i, "status": "completed"}
        output.append({**call, "name": name, "arguments": json.dumps(params)})
    used: Json = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    used["input_tokens_details"] = {"cached_tokens": 0}
    used["output_tokens_details"] = {"reasoning_tokens": 0}
    response: Json = {
        "id": _id("resp", body),
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": body.get("model", "m"),
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "usage": used,
    }
    return _stream(_response_events(response)) if body.get("stream") else _whole(response)


def _response_events(response: Json) -> list[tuple[str, Json]]:
    events: list[Json] = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}}
    ]
    for n, item in enumerate(response["output"]):
        where = {"output_index": n, "item_id": item["id"]}
        events.append({"type": "response.output_item.added", "output_index": n, "item": item})
        if item["type"] == "message":
            part = item["content"][0]
            where["content_index"] = 0
            events += [
                {"type": "response.content_part.added", "part": {**part, "text": ""}, **where},
                {
                    "type": "response.output_text.delta",
                    "delta": part["text"],
                    "logprobs": [],
                    **where,
                },
                {"type": "response.output_text.done", "text": part["text"], **where},
                {"type": "response.content_part.done", "part": part, **where},
            ]
        else:
            arguments = item["arguments"]
            events += [
                {"type": "response.function_call_arguments.delta", "delta": arguments, **where},
                {
                    "type": "response.function_call_arguments.done",
                    "arguments": arguments,
                    "name": item["name"],
                    **where,
                },
            ]
        events.append({"type": "response.output_item.done", "output_index": n, "item": item})
    events.append({"type": "response.completed", "response": response})
    return [(e["type"], {**e, "sequence_number": n}) for n, e in enumerate(events)]


def _message(body: Json, text: str, calls: Calls) -> Reply:
    content: list[Json] = [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool_use", "id": i, "name": n, "input": p} for i, n, p in calls]
    message: Json = {
        "id": _id("msg", body),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "m"),
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    if not body.get("stream"):
        return _whole(message)
    events: list[Json] = [{"type": "message_start", "message": {**message, "content": []}}]
    for n, block in enumerate(content):
        if block["type"] == "text":
            empty: Json = {"type": "text", "text": ""}
            change: Json = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            change = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": n, "content_block": empty},
            {"type": "content_block_delta", "index": n, "delta": change},
            {"type": "content_block_stop", "index": n},
        ]
    stopped = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stopped, "usage": {"output_tokens": 5}})
    return _stream([(e["type"], e) for e in [*events, {"type": "message_stop"}]])


def _content(path: str, text: str, calls: Calls) -> Reply:
    parts: list[Json] = [{"text": text}] if text else []
    parts += [{"functionCall": {"name": name, "args": params}} for _, name, params in calls]
    used = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    whole = {"candidates": [candidate], "usageMetadata": used, "modelVersion": "m"}
    return _stream([("", whole)]) if "stream" in path else _whole(whole)


_WIRES = {"/chat/completions": _completion, "/responses": _response, "/messages": _message}


@attrs.frozen
class Ask:
    """A call that the scripted model asks for.

    Args:
        tool: the tool.
        params: its arguments.
    """

    tool: str
    params: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Says:
    """One response of the scripted model.

    Args:
        text: what it says.
        calls: what it asks for.
        status: an error of the service instead, such as 500; 0 for none.
    """

    text: str = ""
    calls: tuple[Ask, ...] = ()
    status: int = 0


Script = Iterable[Says] | Callable[[Json], Says]


class Service:
    """Answers requests by a script, and keeps their bodies; use it with ``with``.

    It speaks Chat Completions and Responses of OpenAI, Messages of Anthropic and generateContent
    of Google, streamed or not, told apart by the path. A request whose tool messages are out of
    place is answered with 400, as the services do.

    Args:
        script: responses in order; or a function of the request's body.
        answers_by: the tool by which the agent gives its final answer, if the runtime wants one:
            a response without calls becomes a call of it.

    Attributes:
        bodies: the requests, as sent.
        refused: why requests were answered with 400.
    """

    def __init__(self, script: Script, answers_by: str = "") -> None:
        self.bodies: list[bytes] = []
        self.refused: list[str] = []
        self._answers_by = answers_by
        self._next = script if callable(script) else _in_order(iter(script))
        self._lock = Lock()
        self._calls = 0
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def requests(self) -> list[Json]:
        """Return the bodies, decoded."""
        return [json.loads(body) for body in self.bodies]

    def answer(self, path: str, raw: bytes) -> Reply:
        """Return the response to a request.

        Args:
            path: of the request, without a query.
            raw: its body.
        """
        body = json.loads(raw or b"{}")
        with self._lock:
            self.bodies.append(raw)
            says = self._next(body)
            if self._answers_by and not says.calls and not says.status:
                says = Says(calls=(Ask(self._answers_by, {"answer": says.text}),))
            ids = [f"call_{self._calls + n:04d}" for n in range(len(says.calls))]
            self._calls += len(ids)
        named = zip(ids, says.calls, strict=True)
        calls = [(i, known_as(one.tool, body), dict(one.params)) for i, one in named]
        reply = reply_to(path, body, says.text, calls, says.status)
        if reply.refused:
            self.refused.append(reply.refused)
        return reply

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _in_order(steps: Iterator[Says]) -> Callable[[Json], Says]:
    return lambda _: next(steps, Says("(the script has no further response)"))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up: a cancelled agent does."""


def _handler_of(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base has it
            """Log nothing."""

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            reply = service.answer(self.path.partition("?")[0], raw)
            self.send_response(reply.status)
            self.send_header("content-type", reply.kind)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

    return Handler
