"""OpenAI chat messages, which a dozen formats carry inside, and files of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import attrs

from trimtab import Usage
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import Item, RecordedItem, Recording, StopRequest
from trimtab_replay._transcript import Row, Transcript
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


_IDS = ("id", "session_id", "conversation_id", "thread_id")
_FOREIGN = {"tool_use", "tool_result", "toolCall"}
_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


class OpenAIChat:
    """Reads chat messages in OpenAI's shape."""

    name: ClassVar[str] = "openai-chat"

    def sniff(self, source: Transcript) -> float:
        """Look for messages with OpenAI's roles; a weak sign, as many formats carry them."""
        rows = source.first_rows if len(source.first_rows) > 1 else (source.document,)
        return 0.4 * any(map(_is_message, (each for row in rows for each in _messages(row)[:5])))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a document; messages line by line are one recording."""
        is_lines = len(source.first_rows) > 1
        if is_lines and any(map(_is_message, source.first_rows)):
            yield self._streamed(source)
            return
        for row in source.documents_with("messages", _has_messages):
            default = f"{source.stem}:{row.line}" if is_lines else source.stem
            yield self._recording(source, row.value, default)

    def _recording(self, source: Transcript, document: Any, default: str) -> Recording:
        head = as_dict(document)
        parallel = head.get("parallel_tool_calls")
        return Recording(
            id=next(filter(None, (named(head.get(key)) for key in _IDS)), default),
            path=source.path,
            reader=self.name,
            entries=Chat(source.skip).entries(_messages(document)),
            parallel_calls=parallel if isinstance(parallel, bool) else True,
            tools=offered(head.get("tools")),
        )

    def _streamed(self, source: Transcript) -> Recording:
        return Recording(
            id=source.stem,
            path=source.path,
            reader=self.name,
            entries=_fed(source, source.rows()),
            parallel_calls=True,
        )


def _fed(source: Transcript, rows: Iterator[Row]) -> Iterator[RecordedItem]:
    assembler, chat = Assembler(), Chat(source.skip)
    for row in rows:
        if not chat.feed(assembler, row.value):
            source.skip("message without a known role", row.line)
        yield from assembler.take()
    yield from assembler.finish()


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
