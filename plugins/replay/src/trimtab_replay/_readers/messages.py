"""What formats made of messages have in common: an array, an object that holds it, or lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, ClassVar

from trimtab_replay._assembler import Assembler
from trimtab_replay._recording import Item, RecordedItem, Recording
from trimtab_replay._transcript import Row, Transcript
from trimtab_replay._values import as_dict, dicts, named

MAX_SNIFFED = 200
_IDS = ("id", "session_id", "sessionId", "conversation_id", "thread_id", "chat_id")


class MessageReader(ABC):
    """Reads files of messages in one shape.

    A subclass says which messages are its own and what each of them means.
    """

    name: ClassVar[str]
    certainty: ClassVar[float] = 0.9
    keys: ClassVar[tuple[str, ...]] = ("messages",)
    profile: ClassVar[str] = ""
    parallel_calls: ClassVar[bool | None] = True

    @abstractmethod
    def is_own(self, message: dict[str, Any]) -> bool:
        """Whether `message` shows that the file is in this format."""

    @abstractmethod
    def is_message(self, value: Any) -> bool:
        """Whether `value` is a message that this reader understands."""

    @abstractmethod
    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`; return False if it has no known role."""

    def messages(self, document: Any) -> list[Any]:
        """Return the messages in a document; an empty list if it holds none."""
        if isinstance(document, list):
            return document
        head = as_dict(document)
        found = (head[key] for key in self.keys if isinstance(head.get(key), list))
        return next(found, [])

    def end(self, document: Any) -> Iterable[Item]:
        """Return what happens after the last message of a document."""
        del document
        return ()

    def tools(self, document: Any) -> frozenset[str] | None:
        """Return the names of the tools that a document offers; None if unknown."""
        del document
        return None

    def sniff(self, source: Transcript) -> float:
        """Look for a message of this format."""
        if _is_by_line(source):
            rows = source.first_rows
            values = [*rows, *(each for row in rows for each in self._sniffed(row))]
        else:
            values = self._sniffed(source.document)
        return self.certainty * any(self.is_own(value) for value in dicts(values))

    def _sniffed(self, document: Any) -> list[Any]:
        return list(islice(self.messages(document), MAX_SNIFFED))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a document; messages line by line are one recording."""
        by_line = _is_by_line(source)
        if by_line and any(map(self.is_message, source.first_rows)):
            head = next((row for row in source.first_rows if not self.is_message(row)), {})
            yield self._recording(source, head, source.stem, self._streamed(source))
            return
        for row in source.documents_with("messages", self._has_messages):
            default = f"{source.stem}:{row.line}" if by_line else source.stem
            yield self._recording(source, row.value, default, self._entries(source, row.value))

    def _recording(
        self, source: Transcript, document: Any, default: str, entries: Iterable[RecordedItem]
    ) -> Recording:
        head = as_dict(document)
        return Recording(
            id=next(filter(None, (named(head.get(key)) for key in _IDS)), default),
            path=source.path,
            reader=self.name,
            entries=entries,
            profile=self.profile,
            parallel_calls=self.parallel_calls,
            tools=self.tools(document),
        )

    def _has_messages(self, document: Any) -> bool:
        return any(self.is_message(message) for message in self.messages(document))

    def _entries(self, source: Transcript, document: Any) -> Iterator[RecordedItem]:
        assembler = Assembler()
        for number, message in enumerate(self.messages(document)):
            if not isinstance(message, dict) or not self.feed(assembler, message):
                source.skip(f"message {number} has no known role or type")
            yield from assembler.take()
        yield from assembler.finish(self.end(document))

    def _streamed(self, source: Transcript) -> Iterator[RecordedItem]:
        assembler = Assembler()
        for row in source.rows():
            if not self._fed(assembler, row):
                source.skip("message without a known role or type", row.line)
            yield from assembler.take()
        yield from assembler.finish()

    def _fed(self, assembler: Assembler, row: Row) -> bool:
        if not isinstance(row.value, dict):
            return False
        is_head = row.line == 1 and not self.is_message(row.value)
        return is_head or self.feed(assembler, row.value)


def _is_by_line(source: Transcript) -> bool:
    return len(source.first_rows) > 1
