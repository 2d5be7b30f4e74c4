"""LangChain messages: as dicts, as dumped models, or as serialised constructors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.openai_chat import requested, usage
from trimtab_replay._recording import RecordedItem, Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_list,
    as_text,
    dicts,
    flattened,
    named,
    said,
)

_CLASSES = {
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "HumanMessage": "human",
    "SystemMessage": "system",
    "ToolMessage": "tool",
}
_KINDS = set(_CLASSES.values()) | {"remove", "function"} | set(_CLASSES)
Told = tuple[str, dict[str, Any]]


class LangChain:
    """Reads dumps of LangChain messages."""

    name: ClassVar[str] = "langchain"

    def sniff(self, source: Transcript) -> float:
        """Look for messages of LangChain's types."""
        rows = source.first_rows
        if len(rows) > 1 and any(_is_message(row) for row in rows):
            return 0.6
        return 0.6 * any(map(_is_message, as_list(_messages(source.sample))[:5]))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a document; messages line by line are one recording."""
        if len(source.first_rows) > 1 and any(_is_message(row) for row in source.first_rows):
            yield self._recording(source, source.stem, (row.value for row in source.rows()))
            return
        for row in source.documents_with("messages", _has_messages):
            default = source.stem if row.line == 1 else f"{source.stem}:{row.line}"
            name = _thread(as_dict(row.value)) or default
            yield self._recording(source, name, iter(_messages(row.value)))

    def _recording(self, source: Transcript, name: str, messages: Iterator[Any]) -> Recording:
        return Recording(
            id=name,
            path=source.path,
            reader=self.name,
            entries=_entries(messages, source),
            profile="langchain",
            parallel_calls=True,
        )


def _thread(head: dict[str, Any]) -> str:
    settings = as_dict(as_dict(head.get("config")).get("configurable"))
    return named(head.get("thread_id")) or named(settings.get("thread_id")) or named(head.get("id"))


def _messages(document: Any) -> Any:
    """Return a document's list of messages, or something else where it has none."""
    if isinstance(document, list):
        return document
    head = as_dict(document)
    return head.get("messages", as_dict(head.get("values")).get("messages"))


def _has_messages(document: Any) -> bool:
    return isinstance(_messages(document), list)


def _told(message: Any) -> Told:
    """Return a message's kind and fields, whatever the dump."""
    value = as_dict(message)
    if value.get("type") == "constructor":
        path = as_list(value.get("id"))
        return _CLASSES.get(as_text(path[-1]) if path else "", ""), as_dict(value.get("kwargs"))
    kind = as_text(value.get("type"))
    return _CLASSES.get(kind, kind), as_dict(value.get("data")) or value


def _is_message(message: Any) -> bool:
    kind, fields = _told(message)
    return kind in _KINDS and "content" in fields


def _entries(messages: Iterator[Any], source: Transcript) -> Iterator[RecordedItem]:
    assembler = Assembler()
    for number, message in enumerate(messages):
        kind, fields = _told(message)
        if kind == "ai":
            _respond(assembler, fields)
        elif kind in {"tool", "function"}:
            call_id = named(fields.get("tool_call_id"))
            call_id = call_id or assembler.oldest(named(fields.get("name")))
            assembler.answer(call_id, _answer(fields))
        elif kind == "human":
            assembler.user(said(fields.get("content")))
        elif kind not in _KINDS:
            source.skip(f"message {number} of type {kind[:40]!r}")
        yield from assembler.take()
    yield from assembler.finish()


def _respond(assembler: Assembler, fields: dict[str, Any]) -> None:
    assembler.respond(
        text=said(fields.get("content")),
        usage=usage(as_dict(fields.get("usage_metadata"))),
        stop=StopRequest(),
        presumed=True,
    )
    calls = dicts(fields.get("tool_calls"))
    for call in calls:
        params = arguments(call.get("args"))
        assembler.call(named(call.get("name")), params, named(call.get("id")))
    for call in dicts(fields.get("invalid_tool_calls")):
        invalid = CallResult(result=call.get("error"), outcome=Outcome.INVALID)
        call_id = assembler.call(named(call.get("name")), call.get("args"), named(call.get("id")))
        assembler.answer(call_id, invalid)
    if not calls:
        for tool, params, call_id in requested(as_dict(fields.get("additional_kwargs"))):
            assembler.call(tool, params, call_id)


def _answer(fields: dict[str, Any]) -> CallResult:
    status = fields.get("status")
    return CallResult(
        result=flattened(fields.get("content")),
        outcome=Outcome.ERROR if status == "error" else Outcome.OK,
        evidence=Evidence.FLAG if status == "error" else Evidence.UNKNOWN,
    )
