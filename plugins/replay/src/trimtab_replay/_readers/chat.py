"""Chat messages in OpenAI's shape, which a dozen formats carry inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from trimtab import Usage
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import Item, RecordedItem, StopRequest
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_int,
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
    return CallResult(
        result=flattened(message.get("content")),
        evidence=Evidence.UNKNOWN,
        at=as_time(message.get("timestamp")),
    )


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
        skip: receives what can't be read.
        answer: makes the answer of a tool message.
        stop: what a response without calls is: the end of the agent's turn, or None.
        calls: finds the calls in an assistant's message.
    """

    skip: Callable[[str], None]
    answer: Callable[[Message], CallResult] = unflagged
    stop: StopRequest | None = STOP
    calls: Callable[[Message], Iterable[Requested]] = requested

    def entries(self, messages: list[Any], end: tuple[Item, ...] = ()) -> Iterator[RecordedItem]:
        """Yield what happened in `messages`, and then `end`."""
        assembler = Assembler()
        for number, message in enumerate(messages):
            if not self.feed(assembler, message):
                self.skip(f"message {number} has no known role")
            yield from assembler.take()
        yield from assembler.finish(end)

    def feed(self, assembler: Assembler, message: Any) -> bool:
        """Give one message to `assembler`; return False if its role is unknown."""
        role = named(as_dict(message).get("role"))
        if role == "assistant":
            self._respond(assembler, message)
        elif role in {"tool", "function"}:
            self._answer(assembler, message)
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

    def _answer(self, assembler: Assembler, message: Message) -> None:
        call_id = named(message.get("tool_call_id")) or assembler.oldest(named(message.get("name")))
        assembler.answer(call_id, self.answer(message))


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
