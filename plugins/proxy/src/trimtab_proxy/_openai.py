"""OpenAI's Chat Completions and Responses: requests, streams, what the gate puts in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from trimtab import ToolCall
from trimtab_proxy._gate import Gate, Verdict, frame_of
from trimtab_proxy._items import (
    Answer,
    Item,
    Json,
    Kind,
    Numbering,
    Result,
    Wire,
    count,
    joined,
    objects,
    result_of,
    string,
    text_items,
    usage_of,
    user_items,
)
from trimtab_proxy._json import Place


class ChatCompletions(Wire):
    """The Chat Completions API, of whichever service."""

    name: ClassVar[str] = "openai-chat"
    list_key: ClassVar[str] = "messages"

    def items(self, entry: Json, numbering: Numbering) -> tuple[list[Item], Numbering]:
        return _read(entry), numbering

    def call(self, item: Item) -> ToolCall:
        return _call(item.raw)

    def result(self, item: Item) -> tuple[str, Result]:
        return string(item.raw.get("tool_call_id")), result_of(joined(item.raw.get("content")))

    def tools(self, body: Json) -> tuple[str, ...]:
        return tuple(_named(tool) for tool in objects(body.get("tools")))

    def place(self, last: Json) -> Place | None:
        return Place(("content",), {"type": "text"}) if last.get("role") == "tool" else None

    def is_side(self, body: Json) -> bool:
        return body.get("max_tokens") == 1 or body.get("max_completion_tokens") == 1

    def answer(self, body: Json) -> Answer | None:
        choices = objects(body.get("choices"))
        message = choices[0].get("message") if choices else None
        if not isinstance(message, dict):
            return None
        return Answer(
            text=string(joined(message.get("content"))),
            calls=tuple(_call(call) for call in objects(message.get("tool_calls"))),
            usage=usage_of(body.get("usage"), ("prompt_tokens",), ("completion_tokens",)),
            stop_reason=choices[0].get("finish_reason"),
        )

    def events(self) -> ChatEvents:
        return ChatEvents(self)


@attrs.define(eq=False)
class ChatEvents:
    """The chunks of a streamed completion."""

    _wire: ChatCompletions
    _texts: dict[str, list[str]] = attrs.field(factory=dict)
    _calls: dict[int, dict[str, Any]] = attrs.field(factory=dict)
    _usage: Any = None
    _stop_reason: str | None = None

    def add(self, event: Json) -> None:
        self._usage = event.get("usage") or self._usage
        choices = objects(event.get("choices"))
        if not choices or choices[0].get("index", 0) != 0:
            return
        self._stop_reason = choices[0].get("finish_reason") or self._stop_reason
        delta = choices[0].get("delta")
        if isinstance(delta, dict):
            for key in ("content", "reasoning_content"):
                if isinstance(delta.get(key), str):
                    self._texts.setdefault(key, []).append(delta[key])
            for call in objects(delta.get("tool_calls")):
                self._grow(call)

    def message(self) -> dict[str, Any]:
        """Return the message so far, as it goes back to the model."""
        texts = {key: "".join(pieces) for key, pieces in self._texts.items()}
        message = {"role": "assistant", "content": texts.pop("content", "") or None, **texts}
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": "".join(call["grown"])},
            }
            for call in self._calls.values()
        ]
        return {**message, "tool_calls": calls} if calls else message

    def answer(self) -> Answer | None:
        if self._stop_reason is None:
            return None
        choice = {"message": self.message(), "finish_reason": self._stop_reason}
        return self._wire.answer({"choices": [choice], "usage": self._usage})

    def _grow(self, told: Json) -> None:
        index = told.get("index")
        where = index if isinstance(index, int) else len(self._calls)
        call = self._calls.setdefault(where, {"id": "", "name": "", "grown": []})
        function = told.get("function")
        call["id"] = call["id"] or string(told.get("id"))
        if isinstance(function, dict):
            call["name"] = call["name"] or string(function.get("name"))
            call["grown"].append(string(function.get("arguments")))


def _read(message: Json) -> list[Item]:
    role = message.get("role")
    if role == "user":
        return user_items(string(joined(message.get("content"))))
    if role == "tool":
        return [Item(Kind.RESULT, f"r{message.get('tool_call_id')}", message)]
    if role != "assistant":
        return []
    calls = objects(message.get("tool_calls"))
    made = [Item(Kind.CALL, f"c{call.get('id')}", call) for call in calls]
    return text_items(joined(message.get("content"))) + made


def _named(call: Json) -> str:
    function = call.get("function") or call.get("custom")
    return string(function.get("name")) if isinstance(function, dict) else ""


def _call(call: Json) -> ToolCall:
    function = call.get("function") or call.get("custom")
    given = function if isinstance(function, dict) else {}
    params = given.get("arguments", given.get("input"))
    return ToolCall(_named(call), _params(params), string(call.get("id")))


def _params(given: Any, named: str = "") -> Any:
    """Return arguments that are written as JSON; other text as it is, under a name where given."""
    if not isinstance(given, str):
        return {} if given is None else given
    try:
        value = json.loads(given or "{}")
    except (ValueError, RecursionError):
        value = given
    return value if isinstance(value, dict) else {named: given} if named else given


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
        self._events = ChatEvents(ChatCompletions())
        self._parted = not self._spoken

    def answer(self) -> Answer | None:
        return self._events.answer()

    def again(self, verdict: Verdict) -> Sequence[Json]:
        message = self._events.message()
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


def _summed(usage: Json, used: int) -> dict[str, Any]:
    written = count(usage.get("completion_tokens")) + used
    total = count(usage.get("prompt_tokens")) + written
    return {**usage, "completion_tokens": written, "total_tokens": total}


_LAST = frozenset({"response.completed", "response.incomplete"})
_GIVEN = ("arguments", "input", "action", "operation")
_INPUT_TEXT = {"type": "input_text"}


class Responses(Wire):
    """The Responses API."""

    name: ClassVar[str] = "openai-responses"
    list_key: ClassVar[str] = "input"
    stored_keys: ClassVar[tuple[str, ...]] = ("previous_response_id", "conversation")

    def items(self, entry: Json, numbering: Numbering) -> tuple[list[Item], Numbering]:
        return _responses_read(entry), numbering

    def call(self, item: Item) -> ToolCall:
        return _responses_call(item.raw)

    def result(self, item: Item) -> tuple[str, Result]:
        given = item.raw.get("output", item.raw.get("tools"))
        return string(item.raw.get("call_id")), result_of(joined(given))

    def tools(self, body: Json) -> tuple[str, ...]:
        return tuple(
            string(tool.get("name")) or string(tool.get("type"))
            for tool in objects(body.get("tools"))
        )

    def place(self, last: Json) -> Place | None:
        if _is_output(last):
            return Place(("output",), _INPUT_TEXT)
        is_message = last.get("type", "message") == "message" and last.get("role") != "assistant"
        return Place(("content",), _INPUT_TEXT) if is_message else None

    def is_side(self, body: Json) -> bool:
        return body.get("max_output_tokens") == 1

    def answer(self, body: Json) -> Answer | None:
        if body.get("status") not in {"completed", "incomplete", None}:
            return None
        entries = objects(body.get("output"))
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        return Answer(
            text="\n".join(_words(entry) for entry in entries if entry.get("type") == "message"),
            calls=tuple(_responses_call(entry) for entry in entries if _is_call(entry)),
            usage=usage_of(body.get("usage"), ("input_tokens",), ("output_tokens",)),
            stop_reason=reason or body.get("status"),
        )

    def events(self) -> ResponsesEvents:
        return ResponsesEvents(self)


@attrs.define(eq=False)
class ResponsesEvents:
    """The events of a streamed response; the last holds it all, or all but the items before it."""

    _wire: Responses
    _items: list[Any] = attrs.field(factory=list)
    _response: Json | None = None

    def add(self, event: Json) -> None:
        kind = event.get("type")
        if kind == "response.output_item.done":
            self._items.append(event.get("item"))
        elif kind in _LAST and isinstance(event.get("response"), dict):
            self._response = event["response"]

    def answer(self) -> Answer | None:
        if self._response is None:
            return None
        output = self._response.get("output") or self._items
        return self._wire.answer({**self._response, "output": output})


def _responses_read(entry: Json) -> list[Item]:
    if _is_output(entry):
        return [Item(Kind.RESULT, f"r{entry.get('call_id')}", entry)]
    if _is_call(entry):
        return [Item(Kind.CALL, f"c{entry.get('call_id')}", entry)]
    if entry.get("type", "message") != "message":
        return []
    if entry.get("role") == "user":
        return user_items(_words(entry))
    return text_items(_words(entry)) if entry.get("role") == "assistant" else []


def _is_call(entry: Json) -> bool:
    return string(entry.get("type")).endswith("_call") and "call_id" in entry


def _is_output(entry: Json) -> bool:
    return string(entry.get("type")).endswith("_output") and "call_id" in entry


def _words(entry: Json) -> str:
    content = entry.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(string(part.get("text")) for part in objects(content))


def _responses_call(entry: Json) -> ToolCall:
    name = string(entry.get("name")) or string(entry.get("type")).removesuffix("_call")
    given = next((entry[key] for key in _GIVEN if key in entry), None)
    return ToolCall(name, _params(given, "input"), string(entry.get("call_id")))
