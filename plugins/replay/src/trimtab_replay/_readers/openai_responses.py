"""Items of OpenAI's Responses API: an array, a response, a request with both, or line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab_replay._assembler import Assembler
from trimtab_replay._readers.chat import offered
from trimtab_replay._readers.responses import Responses, is_item, kind_of
from trimtab_replay._recording import RecordedItem, Recording
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_list, named

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
