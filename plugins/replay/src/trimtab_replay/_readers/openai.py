"""OpenAI chat messages and items of the Responses API, which other formats carry inside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import attrs

from trimtab import Outcome, Usage
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import MessageReader, flagged
from trimtab_replay._recording import StopRequest
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


def offered(tools: Any, key: str = "function") -> frozenset[str] | None:
    """Return the names in a request's ``tools``; None if there is no such list.

    Args:
        tools: the list.
        key: under which each tool may stand.
    """
    if not isinstance(tools, list):
        return None
    told = [as_dict(tool.get(key)) or tool for tool in dicts(tools)]
    return frozenset(filter(None, (named(tool.get("name")) for tool in told)))


def _requested(head: dict[str, Any]) -> dict[str, Any]:
    """Return what a request says of its calls and tools, as facts of a recording."""
    parallel = head.get("parallel_tool_calls")
    tools = offered(head.get("tools"))
    return {"parallel_calls": parallel if isinstance(parallel, bool) else True, "tools": tools}


_FOREIGN = {"tool_use", "tool_result", "toolCall"}
_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


class OpenAIChat(MessageReader):
    """Reads chat messages in OpenAI's shape; a weak sign, as many formats carry them."""

    name: ClassVar[str] = "openai-chat"
    certainty: ClassVar[float] = 0.4
    sniffed: ClassVar[int] = 20

    def knows(self, message: dict[str, Any]) -> bool:
        blocks = (block.get("type") for block in dicts(message.get("content")))
        is_known = "content" in message and named(message.get("role")) in _ROLES
        return is_known and _FOREIGN.isdisjoint(map(as_text, blocks))

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        return {**super().facts(document), **_requested(document)}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        return Chat().feed(assembler, message)


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

    answer: Callable[[Payload, Any], CallResult] = responses_unflagged
    stop: StopRequest | None = attrs.field(factory=StopRequest)
    _responses: int = 0

    def end_response(self) -> None:
        """What follows belongs to another response."""
        self._responses += 1

    def feed(self, assembler: Assembler, item: Payload, at: Any = None) -> bool:
        """Give one item to the assembler; return False if its type is unknown."""
        kind = named(item.get("type")) or "message"
        if kind == "message":
            self._message(assembler, item, at)
        elif kind == "reasoning":
            summary = as_list(item.get("summary")) or item.get("content")
            self._respond(assembler, reasoning=said(summary), at=at)
        elif _ANSWER.fullmatch(kind):
            self.end_response()
            assembler.answer(named(item.get("call_id")), self.answer(item, at))
        elif called := _CALL.fullmatch(kind):
            self._call(assembler, called["tool"], item, at)
        else:
            return False
        return True

    def _respond(self, assembler: Assembler, **told: Any) -> None:
        presumed = self.stop is not None
        assembler.respond(key=str(self._responses), stop=self.stop, presumed=presumed, **told)

    def _message(self, assembler: Assembler, item: Payload, at: Any) -> None:
        text, role = said(item.get("content")), item.get("role")
        if role == "assistant":
            self._respond(assembler, text=text, at=at)
        elif role == "user":
            self.end_response()
            assembler.user(text, at)

    def _call(self, assembler: Assembler, kind: str, item: Payload, at: Any) -> None:
        self._respond(assembler, at=at)
        params: Any = next((item[key] for key in _PARAMS if item.get(key) is not None), {})
        tool = named(item.get("name")) or kind
        call_id = assembler.call(tool, arguments(params), named(item.get("call_id")))
        if not named(item.get("call_id")):
            assembler.answer(call_id, attrs.evolve(_hosted(item), at=at))


def _hosted(item: Payload) -> CallResult:
    """The answer of a tool that the API itself runs: the call's own item holds it."""
    result = _first(item, _RESULTS)
    if item.get("error") is not None or item.get("status") == "failed":
        return CallResult(result=item.get("error", result), outcome=Outcome.ERROR)
    return flagged(flattened(result), False if item.get("status") == "completed" else None)


_LISTS = ("input", "output", "items", "data")
OF_TYPE = "item of type {1!r}"


@attrs.define
class OpenAIResponses(MessageReader):
    """Reads Responses items."""

    _responses: Responses = attrs.field(factory=Responses)

    name: ClassVar[str] = "openai-responses"
    certainty: ClassVar[float] = 0.5
    sniffed: ClassVar[int] = 20
    what: ClassVar[str] = "items"
    unknown: ClassVar[str] = OF_TYPE

    def knows(self, message: dict[str, Any]) -> bool:
        """Whether it is an item of a type that only the Responses API has."""
        kind = named(message.get("type"))
        return bool(_CALL.fullmatch(kind) or _ANSWER.fullmatch(kind)) or (
            kind == "message" and named(message.get("role")) != "" and "content" in message
        )

    def messages(self, document: Any) -> list[Any] | None:
        if isinstance(document, list):
            return document
        lists = [value for key in _LISTS if isinstance(value := as_dict(document).get(key), list)]
        return [item for each in lists for item in each] if lists else None

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        return {"name": named(document.get("id")), **_requested(document)}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        return self._responses.feed(assembler, message)
