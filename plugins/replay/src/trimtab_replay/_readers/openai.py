"""OpenAI chat messages and items of the Responses API, which other formats carry inside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import attrs

from trimtab import Outcome, Usage
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import Reader, assembled, flagged
from trimtab_replay._recording import Item, RecordedItem, Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_int,
    as_list,
    as_text,
    as_time,
    dicts,
    flattened,
    named,
    said,
)

Message = dict[str, Any]
Requested = tuple[str, Any, str]
"""A call as a message asks for it: tool, arguments, id."""


STOP = StopRequest()


def unflagged(message: Message) -> CallResult:
    """A tool message without any word on how the call ended."""
    return flagged(flattened(message.get("content")), at=as_time(message.get("timestamp")))


def requested(message: Message) -> Iterator[Requested]:
    """Yield tool, arguments and id of each call in an assistant's message."""
    for call in dicts(message.get("tool_calls")):
        function = as_dict(call.get("function")) or as_dict(call.get("custom"))
        params = function.get("arguments", function.get("input"))
        yield named(function.get("name")), arguments(params), named(call.get("id"))
    legacy = as_dict(message.get("function_call"))
    if legacy:
        yield named(legacy.get("name")), arguments(legacy.get("arguments")), ""


@attrs.frozen
class Chat:
    """How one format uses chat messages.

    Args:
        answer: makes the answer of a tool message.
        stop: what a response without calls is: the end of the agent's turn, or None.
        calls: finds the calls in an assistant's message.
    """

    answer: Callable[[Message], CallResult] = unflagged
    stop: StopRequest | None = STOP
    calls: Callable[[Message], Iterable[Requested]] = requested

    def entries(
        self, source: Transcript, messages: list[Any], end: tuple[Item, ...] = ()
    ) -> Iterator[RecordedItem]:
        return assembled(source, messages, self.feed, "message {} has no known role", end)

    def feed(self, assembler: Assembler, message: Any) -> bool:
        """Give one message to `assembler`; return False if its role is unknown."""
        role = named(as_dict(message).get("role"))
        if role == "assistant":
            self._respond(assembler, message)
        elif role in {"tool", "function"}:
            call_id = named(message.get("tool_call_id"))
            call_id = call_id or assembler.oldest(named(message.get("name")))
            assembler.answer(call_id, self.answer(message))
        elif role == "user":
            text = said(message.get("content"))
            assembler.user(text, as_time(message.get("timestamp")))
        else:
            return role in {"system", "developer"}
        return True

    def _respond(self, assembler: Assembler, message: Message) -> None:
        assembler.respond(
            text=said(message.get("content")),
            reasoning=named(message.get("reasoning_content")) or named(message.get("reasoning")),
            usage=usage(as_dict(message.get("usage"))),
            at=as_time(message.get("timestamp")),
            stop=self.stop,
            presumed=self.stop is STOP,
        )
        for tool, params, call_id in self.calls(message):
            assembler.call(tool, params, call_id)


def usage(told: dict[str, Any]) -> Usage | None:
    """Return what a response used, under any of the names that APIs give it."""
    if not told:
        return None
    read = told.get("prompt_tokens", told.get("input_tokens"))
    written = told.get("completion_tokens", told.get("output_tokens"))
    return Usage(as_int(read), as_int(written))


def offered(tools: Any) -> frozenset[str] | None:
    """Return the names in a request's ``tools``; None if there is no such list."""
    if not isinstance(tools, list):
        return None
    functions = [as_dict(tool.get("function")) or tool for tool in dicts(tools)]
    return frozenset(filter(None, (named(function.get("name")) for function in functions)))


def _requested(head: dict[str, Any]) -> dict[str, Any]:
    """Return what a request says of its calls and tools, as facts of a recording."""
    parallel = head.get("parallel_tool_calls")
    tools = offered(head.get("tools"))
    return {"parallel_calls": parallel if isinstance(parallel, bool) else True, "tools": tools}


_IDS = ("id", "session_id", "conversation_id", "thread_id")
_FOREIGN = {"tool_use", "tool_result", "toolCall"}
_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


class OpenAIChat(Reader):
    """Reads chat messages in OpenAI's shape."""

    name: ClassVar[str] = "openai-chat"

    def sniff(self, source: Transcript) -> float:
        """Look for messages with OpenAI's roles; a weak sign, as many formats carry them."""
        rows = source.first_rows if len(source.first_rows) > 1 else (source.document,)
        return 0.4 * any(map(_is_message, (each for row in rows for each in _messages(row)[:5])))

    def read(self, source: Transcript) -> Iterator[Recording]:
        is_lines = len(source.first_rows) > 1
        if is_lines and any(map(_is_message, source.first_rows)):
            unknown = "message without a known role"
            yield self.recording(source, assembled(source, source.rows(), Chat().feed, unknown))
            return
        for row in source.documents_with("messages", _has_messages):
            default = f"{source.stem}:{row.line}" if is_lines else source.stem
            yield self._recording(source, row.value, default)

    def _recording(self, source: Transcript, document: Any, default: str) -> Recording:
        head = as_dict(document)
        name = next(filter(None, (named(head.get(key)) for key in _IDS)), default)
        entries = Chat().entries(source, _messages(document))
        return self.recording(source, entries, name, **_requested(head))


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or named(value.get("role")) not in _ROLES:
        return False
    blocks = (block.get("type") for block in dicts(value.get("content")))
    return "content" in value and _FOREIGN.isdisjoint(map(as_text, blocks))


def _messages(document: Any) -> list[Any]:
    if _is_message(document):
        return [document]
    return document if isinstance(document, list) else as_list(as_dict(document).get("messages"))


def _has_messages(document: Any) -> bool:
    """Whether there is a list of messages, if an empty one."""
    listed = as_dict(document).get("messages", document)
    return _is_message(document) or isinstance(listed, list)


Payload = dict[str, Any]

_CALL = re.compile(r"(?P<tool>\w+?)_call")
_ANSWER = re.compile(r"\w+_output")
_PARAMS = ("arguments", "input", "action", "query", "queries", "code", "operation")
_RESULTS = ("output", "results", "outputs", "result", "tools")


def responses_unflagged(item: Payload, at: Any) -> CallResult:
    """An output without any word on how the call ended."""
    return flagged(flattened(_first(item, _RESULTS)), at=at)


def _first(item: Payload, keys: Iterable[str]) -> Any:
    return next((item[key] for key in keys if item.get(key) is not None), None)


@attrs.define
class Responses:
    """Feeds items to an assembler.

    The API takes the next request only with all outputs of the last response, so calls without
    an output between them belong to one response.
    """

    assembler: Assembler
    answer: Callable[[Payload, Any], CallResult] = responses_unflagged
    stop: StopRequest | None = attrs.field(factory=StopRequest)
    _responses: int = 0

    def end_response(self) -> None:
        """What follows belongs to another response."""
        self._responses += 1

    def feed(self, item: Payload, at: Any = None) -> bool:
        """Give one item to the assembler; return False if its type is unknown."""
        kind = named(item.get("type")) or "message"
        if kind == "message":
            self._message(item, at)
        elif kind == "reasoning":
            summary = as_list(item.get("summary")) or item.get("content")
            self._respond(reasoning=said(summary), at=at)
        elif _ANSWER.fullmatch(kind):
            self.end_response()
            self.assembler.answer(named(item.get("call_id")), self.answer(item, at))
        elif called := _CALL.fullmatch(kind):
            self._call(called["tool"], item, at)
        else:
            return False
        return True

    def _respond(self, *, text: str = "", reasoning: str = "", at: Any) -> None:
        self.assembler.respond(
            key=str(self._responses),
            text=text,
            reasoning=reasoning,
            at=at,
            stop=self.stop,
            presumed=self.stop is not None,
        )

    def _message(self, item: Payload, at: Any) -> None:
        text, role = said(item.get("content")), item.get("role")
        if role == "assistant":
            self._respond(text=text, at=at)
        elif role == "user":
            self.end_response()
            self.assembler.user(text, at)

    def _call(self, kind: str, item: Payload, at: Any) -> None:
        self._respond(at=at)
        params: Any = next((item[key] for key in _PARAMS if item.get(key) is not None), {})
        tool = named(item.get("name")) or kind
        call_id = self.assembler.call(tool, arguments(params), named(item.get("call_id")))
        if not named(item.get("call_id")):
            self.assembler.answer(call_id, attrs.evolve(_hosted(item), at=at))


def _hosted(item: Payload) -> CallResult:
    """The answer of a tool that the API itself runs: the call's own item holds it."""
    result = _first(item, _RESULTS)
    if item.get("error") is not None or item.get("status") == "failed":
        return CallResult(result=item.get("error", result), outcome=Outcome.ERROR)
    return flagged(flattened(result), False if item.get("status") == "completed" else None)


def is_item(value: Any) -> bool:
    """Whether `value` is an item of a type that only the Responses API has."""
    kind = named(as_dict(value).get("type"))
    return bool(_CALL.fullmatch(kind) or _ANSWER.fullmatch(kind)) or (
        kind == "message" and named(as_dict(value).get("role")) != "" and "content" in value
    )


def kind_of(item: Any) -> str:
    return as_text(as_dict(item).get("type"))[:40]


_LISTS = ("input", "output", "items", "data")


class OpenAIResponses(Reader):
    """Reads Responses items."""

    name: ClassVar[str] = "openai-responses"

    def sniff(self, source: Transcript) -> float:
        rows = source.first_rows
        if len(rows) > 1:
            return 0.5 * any(is_item(row) or any(map(is_item, _items(row))) for row in rows)
        return 0.5 * any(map(is_item, _items(source.sample)[:20]))

    def read(self, source: Transcript) -> Iterator[Recording]:
        if len(source.first_rows) > 1 and any(map(is_item, source.first_rows)):
            yield self.recording(source, _entries(source, (row.value for row in source.rows())))
            return
        for row in source.documents_with("items", _has_items):
            head = as_dict(row.value)
            entries, name = _entries(source, _items(row.value)), named(head.get("id"))
            yield self.recording(source, entries, name, line=row.line, **_requested(head))


def _items(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    return [item for key in _LISTS for item in as_list(as_dict(document).get(key))]


def _has_items(document: Any) -> bool:
    lists = map(as_dict(document).get, _LISTS)
    return isinstance(document, list) or any(isinstance(each, list) for each in lists)


def _entries(source: Transcript, items: Iterable[Any]) -> Iterator[RecordedItem]:
    assembler = Assembler()
    responses = Responses(assembler)
    for item in items:
        if not isinstance(item, dict) or not responses.feed(item):
            source.skip(f"item of type {kind_of(item)!r}")
        yield from assembler.take()
    yield from assembler.finish()
