"""Chat Completions and Responses: messages or items in, a response out, whole or in chunks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs

from trimtab import ToolCall, Usage
from trimtab_openai._model_response import (
    TRUNCATED,
    Json,
    ModelFailed,
    ModelResponse,
    OutputForm,
    append_to,
    as_dict,
    as_json,
    call_name,
    decode_errors,
    field,
    make_call_id,
    model_of,
    parse_arguments,
    read_usage,
    text_of,
    without_surrogates,
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


NOT_SENT_BACK = frozenset({"annotations", "function_call", "parsed", "tool_calls"})


class Chat:
    """The Chat Completions API; `Responses` has the same methods."""

    messages: ClassVar[str] = "messages"
    streaming: ClassVar[Json] = {"stream": True, "stream_options": {"include_usage": True}}

    def endpoint(self, client: Any) -> Callable[..., Any]:
        create: Callable[..., Any] = client.chat.completions.create
        return create

    def tool(self, described: Json) -> Json:
        """Return how a request offers a tool."""
        return {"type": "function", "function": described}

    def output(self, form: OutputForm) -> Json:
        """Return the field of a request that asks for structured output."""
        return {"response_format": {"type": "json_schema", "json_schema": form.describe()}}

    @decode_errors
    def read(self, response: Any) -> ModelResponse:
        choices = field(response, "choices")
        if not choices:
            told = field(response, "error") or response
            raise ModelFailed(f"the service returned no choice for Chat Completions: {told!r:.500}")
        message = as_dict(field(choices[0], "message"))
        reason = field(choices[0], "finish_reason")
        if not message and reason not in TRUNCATED:
            raise ModelFailed("the service returned a choice without a message")
        used = read_usage(field(response, "usage"), response)
        return attrs.evolve(read_message(message, reason, used), model=model_of(response))

    def stream(self) -> ChatStream:
        return ChatStream(
            lambda message, stop_reason, used: read_message(message, stop_reason, read_usage(used))
        )

    def extra_fields(self, _: Mapping[str, Any]) -> Json:
        """Return further fields that follow from the options."""
        return {}

    def kept_items(self, items: Sequence[Json], _: Mapping[str, Any]) -> tuple[Json, ...]:
        """Return those items of a response that can be sent back."""
        return tuple(items)

    def call_items(self, calls: Sequence[ToolCall], text: str) -> tuple[Json, ...]:
        """Return a response with `calls`, as the conversation holds it."""
        made = [
            {"id": call.call_id, "type": "function", "function": _written(call)} for call in calls
        ]
        return ({"role": "assistant", "content": text, "tool_calls": made},)

    def tool_message(self, call_id: str, content: Any) -> Json:
        return {"role": "tool", "tool_call_id": call_id, "content": content}

    def append(self, content: Any, text: str) -> Any:
        return append_to(content, text, part="text")

    def with_text(self, message: Any, text: str) -> Json | None:
        """Return a copy of a tool message with `text` after its content; None for others."""
        if not isinstance(message, Mapping) or message.get("role") != "tool":
            return None
        return {**message, "content": self.append(message.get("content"), text)}


CHAT = Chat()


def _written(call: ToolCall) -> Json:
    return {"name": call.tool, "arguments": json.dumps(call.params)}


def read_message(message: Json, stop_reason: str | None, used: Usage | None) -> ModelResponse:
    """Return what an assistant's message says."""
    # Chunks of a stream may end within a character.
    message = without_surrogates(message)
    calls = [_complete_call(as_dict(call)) for call in message.get("tool_calls") or ()]
    return ModelResponse(
        items=(_kept(message, calls),),
        text=text_of(message.get("content")),
        refusal=text_of(message.get("refusal")),
        reasoning=text_of(message.get("reasoning_content") or message.get("reasoning")),
        tool_calls=tuple(_call(call) for call in calls),
        usage=used,
        stop_reason=stop_reason,
    )


def _kept(message: Json, calls: list[Json]) -> Json:
    """The message as it goes back to the service, fields that only some services know included."""
    kept = {name: value for name, value in message.items() if name not in NOT_SENT_BACK}
    kept["role"] = "assistant"
    if calls:
        return {**kept, "tool_calls": calls}
    return {**kept, "content": kept.get("content") or ""}


def _complete_call(call: Json) -> Json:
    """A call of a function with what every service takes back: id, name, arguments as text.

    A call of another kind, and one without a name, becomes the call of a function that nobody
    offers: the model reads so, and the conversation can go on.
    """
    function = as_dict(call.get("function"))
    kept = {name: value for name, value in as_dict(call).items() if name != "custom"}
    if call.get("type") == "custom":
        custom = as_dict(call.get("custom"))
        function = {"name": custom.get("name"), "arguments": custom.get("input") or ""}
        kept["type"] = "function"
    given = function.get("arguments")
    if given and not isinstance(given, str):
        function["arguments"] = as_json(given)
    function["name"] = call_name(function.get("name"))
    return {**kept, "id": make_call_id(call.get("id")), "function": function}


def _call(call: Json) -> ToolCall:
    function = call["function"]
    return ToolCall(function["name"], parse_arguments(function.get("arguments")), call["id"])


LAST_EVENTS = frozenset({"response.completed", "response.incomplete", "response.failed"})
ENCRYPTED = "reasoning.encrypted_content"
NO_ANSWER = frozenset({"failed", "cancelled", "queued", "in_progress"})


class Responses:
    """The Responses API, with the whole conversation in every request."""

    messages: ClassVar[str] = "input"
    streaming: ClassVar[Json] = {"stream": True}

    def endpoint(self, client: Any) -> Callable[..., Any]:
        create: Callable[..., Any] = client.responses.create
        return create

    def tool(self, described: Json) -> Json:
        return {"type": "function", "strict": False, **described}

    def output(self, form: OutputForm) -> Json:
        return {"text": {"format": {"type": "json_schema", **form.describe()}}}

    @decode_errors
    def read(self, response: Any) -> ModelResponse:
        _refuse_failure(response)
        items = tuple(_item(item) for item in field(response, "output"))
        return ModelResponse(
            items=items,
            text="".join(_parts(items, "content", "output_text", "text")),
            refusal="".join(_parts(items, "content", "refusal", "refusal")),
            reasoning="\n".join(_parts(items, "summary", "summary_text", "text")),
            tool_calls=tuple(
                ToolCall(item["name"], parse_arguments(item.get("arguments")), item["call_id"])
                for item in items
                if item["type"] == "function_call"
            ),
            usage=read_usage(field(response, "usage"), response),
            stop_reason=_stop_reason(response),
            model=model_of(response),
        )

    def stream(self) -> ResponsesStream:
        return ResponsesStream()

    def extra_fields(self, options: Mapping[str, Any]) -> Json:
        """Ask for reasoning that can be sent back if the service stores none."""
        if options.get("store") is not False:
            return {}
        included = list(options.get("include") or ())
        return {"include": included if ENCRYPTED in included else [*included, ENCRYPTED]}

    def kept_items(self, items: Sequence[Json], options: Mapping[str, Any]) -> tuple[Json, ...]:
        """Leave out reasoning that only a service that stored it would know by its id."""
        if options.get("store") is not False:
            return tuple(items)
        return tuple(
            item
            for item in items
            if item.get("type") != "reasoning" or item.get("encrypted_content")
        )

    def call_items(self, calls: Sequence[ToolCall], text: str) -> tuple[Json, ...]:
        message = [{"role": "assistant", "content": text}] if text else []
        made = [{"type": "function_call", "call_id": c.call_id, **_written(c)} for c in calls]
        return (*message, *made)

    def tool_message(self, call_id: str, content: Any) -> Json:
        return {"type": "function_call_output", "call_id": call_id, "output": content}

    def append(self, content: Any, text: str) -> Any:
        return append_to(content, text, part="input_text")

    def with_text(self, message: Any, text: str) -> Json | None:
        if not isinstance(message, Mapping) or message.get("type") != "function_call_output":
            return None
        return {**message, "output": self.append(message.get("output"), text)}


class ResponsesStream:
    """Waits for the last event: it holds the whole response, or all but items told before."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._response: Any = None

    @decode_errors
    def add(self, piece: Any) -> None:
        kind = field(piece, "type")
        if kind == "error":
            _refuse_failure({"error": field(piece, "error") or piece})
        elif kind == "response.output_item.done":
            self._items.append(field(piece, "item"))
        elif kind in LAST_EVENTS:
            self._response = field(piece, "response")

    @decode_errors
    def reply(self) -> ModelResponse:
        if self._response is None:
            raise ModelFailed("the stream broke off before the response was complete")
        if field(self._response, "output") == []:
            return RESPONSES.read({**as_dict(self._response), "output": self._items})
        return RESPONSES.read(self._response)


RESPONSES = Responses()


def _refuse_failure(response: Any) -> None:
    error = field(response, "error")
    if error:
        code, message = field(error, "code"), field(error, "message")
        raise ModelFailed(f"the service failed: {code}: {message}")
    status = field(response, "status")
    if field(response, "output") is None or status in NO_ANSWER:
        raise ModelFailed(
            f"the service returned no answer for Responses: status {status}: {response!r:.500}"
        )


def _item(value: Any) -> Json:
    item: Json = without_surrogates(as_dict(value))
    if item.get("type") == "custom_tool_call":  # nobody offers such: the model reads so
        item = {
            "type": "function_call",
            "call_id": item.get("call_id"),
            "name": item.get("name"),
            "arguments": item.get("input") or "",
        }
    if item["type"] == "function_call":
        name, call_id = call_name(item.get("name")), make_call_id(item.get("call_id"))
        return {**item, "name": name, "call_id": call_id}
    return item


def _parts(items: Sequence[Json], where: str, kind: str, what: str) -> Iterator[str]:
    for item in items:
        for part in item.get(where) or ():
            if field(part, "type") == kind:
                yield field(part, what) or ""


def _stop_reason(response: Any) -> str | None:
    details = field(response, "incomplete_details")
    reason: str | None = field(details, "reason") if details else None
    return reason or field(response, "status")
