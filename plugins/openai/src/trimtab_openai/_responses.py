"""Responses: items in, items out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from trimtab import Tool, ToolCall
from trimtab_openai._errors import ModelFailed
from trimtab_openai._model_response import (
    Json,
    ModelResponse,
    append_to,
    as_dict,
    call_name,
    decode_errors,
    field,
    make_call_id,
    model_of,
    parse_arguments,
    read_usage,
    without_surrogates,
)
from trimtab_openai._output import OutputForm, describe_tool

LAST_EVENTS = frozenset({"response.completed", "response.incomplete", "response.failed"})
ENCRYPTED = "reasoning.encrypted_content"
NO_ANSWER = frozenset({"failed", "cancelled", "queued", "in_progress"})


class Responses:
    """The Responses API, with the whole conversation in every request."""

    streaming: ClassVar[Json] = {"stream": True}

    def endpoint(self, client: Any) -> Callable[..., Any]:
        create: Callable[..., Any] = client.responses.create
        return create

    def request(
        self,
        messages: Sequence[Any],
        tools: Sequence[Tool[Any, Any]],
        form: OutputForm | None,
        *,
        strict_tools: bool = False,
    ) -> Json:
        fields: Json = {"input": messages}
        if tools:
            described = (describe_tool(tool, strict=strict_tools) for tool in tools)
            fields["tools"] = [{"type": "function", "strict": False, **tool} for tool in described]
        if form is not None:
            fields["text"] = {"format": {"type": "json_schema", **form.describe()}}
        return fields

    @decode_errors
    def read(self, response: Any) -> ModelResponse:
        _refuse_failure(response)
        items = tuple(_item(item) for item in field(response, "output"))
        return ModelResponse(
            items=items,
            text="".join(_parts(items, "content", "output_text", "text")),
            refusal="".join(_parts(items, "content", "refusal", "refusal")),
            reasoning="\n".join(_parts(items, "summary", "summary_text", "text")),
            tool_calls=tuple(_call(item) for item in items if item["type"] == "function_call"),
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
        message = ({"role": "assistant", "content": text},) if text else ()
        return (
            *message,
            *(
                {
                    "type": "function_call",
                    "call_id": call.call_id,
                    "name": call.tool,
                    "arguments": json.dumps(call.params),
                }
                for call in calls
            ),
        )

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


def _call(item: Json) -> ToolCall:
    return ToolCall(item["name"], parse_arguments(item.get("arguments")), item["call_id"])
