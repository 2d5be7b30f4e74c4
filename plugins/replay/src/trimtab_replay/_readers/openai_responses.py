"""Items of OpenAI's Responses API, which Codex rollouts carry too, and files of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.openai_chat import offered
from trimtab_replay._recording import RecordedItem, Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import arguments, as_dict, as_list, as_text, flattened, named, said

Payload = dict[str, Any]

_CALL = re.compile(r"(?P<tool>\w+?)_call")
_ANSWER = re.compile(r"\w+_output")
_PARAMS = ("arguments", "input", "action", "query", "queries", "code", "operation")
_RESULTS = ("output", "results", "outputs", "result", "tools")


def unflagged(item: Payload, at: Any) -> CallResult:
    """An output without any word on how the call ended."""
    result = next((item[key] for key in _RESULTS if item.get(key) is not None), None)
    return CallResult(result=flattened(result), evidence=Evidence.UNKNOWN, at=at)


@attrs.define
class Responses:
    """Feeds items to an assembler.

    The API takes the next request only with all outputs of the last response, so calls without
    an output between them belong to one response.

    Args:
        assembler: where the items go.
        answer: makes the answer of an output item that came at a time, or at None.
        stop: what a response without calls is.
    """

    assembler: Assembler
    answer: Callable[[Payload, Any], CallResult] = unflagged
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
            presumed=True,
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
    result = next((item[key] for key in _RESULTS if item.get(key) is not None), None)
    if item.get("error") is not None or item.get("status") == "failed":
        return CallResult(result=item.get("error", result), outcome=Outcome.ERROR)
    known = Evidence.FLAG if item.get("status") == "completed" else Evidence.UNKNOWN
    return CallResult(result=flattened(result), evidence=known)


def is_item(value: Any) -> bool:
    """Whether `value` is an item of a type that only the Responses API has."""
    kind = named(as_dict(value).get("type"))
    return bool(_CALL.fullmatch(kind) or _ANSWER.fullmatch(kind)) or (
        kind == "message" and named(as_dict(value).get("role")) != "" and "content" in value
    )


def kind_of(item: Any) -> str:
    """Return an item's type for a message, bounded."""
    return as_text(as_dict(item).get("type"))[:40]


_LISTS = ("input", "output", "items", "data")


class OpenAIResponses:
    """Reads Responses items."""

    name: ClassVar[str] = "openai-responses"

    def sniff(self, source: Transcript) -> float:
        """Look for items of the types that only this API has."""
        rows = source.first_rows
        if len(rows) > 1:
            return 0.5 * any(is_item(row) or any(map(is_item, _items(row))) for row in rows)
        return 0.5 * any(map(is_item, _items(source.sample)[:20]))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a document; items line by line are one recording."""
        if len(source.first_rows) > 1 and any(map(is_item, source.first_rows)):
            items = (row.value for row in source.rows())
            yield self._recording(source, {}, source.stem, _entries(source, items))
            return
        for row in source.documents_with("items", _has_items):
            head = as_dict(row.value)
            default = source.stem if row.line == 1 else f"{source.stem}:{row.line}"
            name = named(head.get("id")) or default
            entries = _entries(source, iter(_items(row.value)))
            yield self._recording(source, head, name, entries)

    def _recording(
        self, source: Transcript, head: dict[str, Any], name: str, entries: Iterator[RecordedItem]
    ) -> Recording:
        parallel = head.get("parallel_tool_calls")
        return Recording(
            id=name,
            path=source.path,
            reader=self.name,
            entries=entries,
            parallel_calls=parallel if isinstance(parallel, bool) else True,
            tools=offered(head.get("tools")),
        )


def _items(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    return [item for key in _LISTS for item in as_list(as_dict(document).get(key))]


def _has_items(document: Any) -> bool:
    lists = map(as_dict(document).get, _LISTS)
    return isinstance(document, list) or any(isinstance(each, list) for each in lists)


def _entries(source: Transcript, items: Iterator[Any]) -> Iterator[RecordedItem]:
    assembler = Assembler()
    responses = Responses(assembler)
    for item in items:
        if not isinstance(item, dict) or not responses.feed(item):
            source.skip(f"item of type {kind_of(item)!r}")
        yield from assembler.take()
    yield from assembler.finish()
