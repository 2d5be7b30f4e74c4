"""Chat Completions: messages in, a message out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from trimtab import Tool, ToolCall
from trimtab_openai.chat_stream import ChatStream
from trimtab_openai.errors import ModelFailed
from trimtab_openai.reply import (
    Json,
    Reply,
    arguments,
    as_json,
    call_id,
    field,
    plain,
    readable,
    usage,
    wholly,
    words,
)
from trimtab_openai.structured import OutputForm

NOT_SENT_BACK = frozenset({"annotations", "function_call", "parsed", "tool_calls"})


class Chat:
    """The Chat Completions API."""

    streaming: ClassVar[Json] = {"stream": True, "stream_options": {"include_usage": True}}

    def endpoint(self, client: Any) -> Callable[..., Any]:
        create: Callable[..., Any] = client.chat.completions.create
        return create

    def request(
        self, messages: Sequence[Any], tools: Sequence[Tool[Any, Any]], form: OutputForm | None
    ) -> Json:
        fields: Json = {"messages": messages}
        if tools:
            fields["tools"] = [_described(tool) for tool in tools]
        if form is not None:
            fields["response_format"] = {"type": "json_schema", "json_schema": form.describe()}
        return fields

    @readable
    def read(self, response: Any) -> Reply:
        choices = field(response, "choices")
        if not choices:
            told = field(response, "error") or response
            raise ModelFailed(f"the service returned no choice for Chat Completions: {told!r:.500}")
        message = plain(field(choices[0], "message"))
        if not message:
            raise ModelFailed("the service returned a choice without a message")
        return read_message(message, field(choices[0], "finish_reason"), field(response, "usage"))

    def stream(self) -> ChatStream:
        return ChatStream(read_message)

    def tool_message(self, call_id: str, content: Any) -> Json:
        return {"role": "tool", "tool_call_id": call_id, "content": content}

    def append(self, content: Any, text: str) -> Any:
        if isinstance(content, list | tuple):
            return [*content, {"type": "text", "text": text}]
        return f"{content}\n\n{text}" if content else text

    def with_text(self, message: Any, text: str) -> Json | None:
        if not isinstance(message, Mapping) or message.get("role") != "tool":
            return None
        return {**message, "content": self.append(message.get("content"), text)}


CHAT = Chat()


def read_message(message: Json, stop_reason: str | None, used: Any) -> Reply:
    """Return what an assistant's message says."""
    # Chunks of a stream may end within a character.
    message = wholly(message)
    calls = [_sound(call) for call in message.get("tool_calls") or ()]
    return Reply(
        items=(_kept(message, calls),),
        text=words(message.get("content")),
        refusal=words(message.get("refusal")),
        reasoning=words(message.get("reasoning_content") or message.get("reasoning")),
        tool_calls=tuple(_call(call) for call in calls),
        usage=usage(used),
        stop_reason=stop_reason,
    )


def _kept(message: Json, calls: list[Json]) -> Json:
    """The message as it goes back to the service, fields that only some services know included."""
    kept = {name: value for name, value in message.items() if name not in NOT_SENT_BACK}
    kept["role"] = "assistant"
    if calls:
        return {**kept, "tool_calls": calls}
    return {**kept, "content": kept.get("content") or ""}


def _sound(call: Json) -> Json:
    """A call with what every service takes back: an id, and arguments as text."""
    function = call.get("function") or {}
    given = function.get("arguments")
    if given and not isinstance(given, str):
        call = {**call, "function": {**function, "arguments": as_json(given)}}
    return call if call.get("id") else {**call, "id": call_id(None)}


def _call(call: Json) -> ToolCall:
    function = call.get("function") or {}
    return ToolCall(function.get("name") or "", arguments(function.get("arguments")), call["id"])


def _described(tool: Tool[Any, Any]) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}
