"""The body of a request in its parts: the messages, and what stands before and behind them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import attrs

from trimtab_proxy._items import SEPARATORS, Item, Json, Numbering, Source, Wire, user_entries
from trimtab_proxy._json import Part, Place, Unreadable, next_element, read_members, skip


@attrs.frozen(eq=False)
class Entry:
    """One message of a body.

    Args:
        text: its bytes, with the separator before it.
        items: what it holds.
        numbering: behind it.
    """

    text: bytes
    items: Sequence[Item]
    numbering: Numbering


@attrs.frozen(eq=False)
class Outline:
    """A body in its parts, which together are its bytes.

    Args:
        wire: the API that it is made for.
        head: up to the first message.
        head_fields: members before the messages.
        entries: the messages.
        tail: behind the last message.
        tail_fields: members behind the messages.
    """

    wire: Wire
    head: bytes
    head_fields: Json
    entries: Sequence[Entry] = ()
    tail: bytes = b""
    tail_fields: Json = attrs.field(factory=dict)

    def shared_with(self, body: bytes, at: int) -> tuple[int, int]:
        """Return how many messages stand in a body too, from a byte on, and where they end."""
        for number, entry in enumerate(self.entries):
            if not body.startswith(entry.text, at):
                return number, at
            at += len(entry.text)
        return len(self.entries), at


@attrs.frozen(eq=False)
class Document:
    """A body that was read.

    Args:
        body: the bytes as they came.
        fields: its members but the list of messages.
        items: the conversation.
        last_text: the last message as it is written; empty where there is none.
        last_end: where that ends in the body.
    """

    body: bytes
    fields: Json
    items: Sequence[Item]
    last_text: bytes = b""
    last_end: int = 0

    def last(self) -> Any:
        """Return the last message, decoded; None where there is none."""
        return json.loads(self.last_text) if self.last_text else None

    def with_text(self, place: Place, addition: str) -> bytes:
        """Return the body with `addition` at `place` of its last message, all else as it was.

        Raises:
            Unreadable: the last message has no such place.
        """
        offset, inserted = self.insertion(place, addition)
        return self._with(offset, inserted)

    def insertion(self, place: Place, addition: str) -> tuple[int, bytes]:
        """Return the offset in the body and the bytes that put `addition` at `place`.

        Raises:
            Unreadable: the last message has no such place.
        """
        text = self._last().decode()
        at, inserted = place.insertion(text, addition)
        offset = self.last_end - len(self.last_text) + size_of(text, 0, at)
        return offset, inserted.encode("ascii")

    def with_more(self, messages: Sequence[Json]) -> bytes:
        """Return the body with more messages behind the last, all else as it was.

        Raises:
            Unreadable: there is no message.
        """
        self._last()
        added = "".join("," + json.dumps(message, separators=(",", ":")) for message in messages)
        return self._with(self.last_end, added.encode("ascii"))

    def _with(self, offset: int, inserted: bytes) -> bytes:
        whole = memoryview(self.body)  # a large body is copied once
        return b"".join((whole[:offset], inserted, whole[offset:]))

    def _last(self) -> bytes:
        if not self.last_text:
            raise Unreadable("there is no message")
        return self.last_text


def document_of(outline: Outline, body: bytes) -> Document:
    """Return the body that `outline` is of, as one."""
    fields = {**outline.head_fields, **outline.tail_fields}
    items = [item for entry in outline.entries for item in entry.items]
    given = fields.get(outline.wire.list_key)
    if isinstance(given, str):
        numbering = Numbering()
        items = [i for e in user_entries(given) for i in outline.wire.items(e, numbering)[0]]
    if not outline.entries:
        return Document(body, fields, items)
    last = outline.entries[-1].text.lstrip(SEPARATORS)
    return Document(body, fields, items, last, len(body) - len(outline.tail))


def read_head(wire: Wire, body: bytes) -> Outline:
    """Return the part of a body up to its first message; all of it where it has no list of them.

    Raises:
        Unreadable, ValueError, IndexError, RecursionError: it is no JSON object.
    """
    text = body.decode("utf-8")
    start = skip(text, 0)
    if text[start] != "{":
        raise Unreadable("the body is no object")
    members: dict[str, Part] = {}
    at, found = read_members(text, start + 1, members, stop_at=wire.list_key)
    if not found:
        _expect_end(text, at)
        return Outline(wire, body, _values(members))
    del members[wire.list_key]
    return Outline(wire, body[: size_of(text, 0, at + 1)], _values(members))


def read_rest(known: Outline, body: bytes, at: int, before: Outline | None) -> Outline:
    """Return a body whose beginning is known.

    Args:
        known: its beginning.
        body: all of it.
        at: where the beginning ends.
        before: an earlier body, which may end in the same way.

    Raises:
        Unreadable, ValueError, IndexError, RecursionError: the rest does not go on as JSON does.
    """
    text = body[at:].decode("utf-8")
    entries = list(known.entries)
    at = 0
    while (part := next_element(text, at, first=not entries)) is not None:
        written = text[at : part.end].encode()
        entries.append(_entry(known.wire, written, part.value, entries))
        at = part.end
    tail = text[at:].encode()
    if before is not None and before.tail == tail and before.head == known.head:
        fields = before.tail_fields
    else:
        fields = _tail_fields(known, text, at)
    return attrs.evolve(known, entries=entries, tail=tail, tail_fields=fields)


def _entry(wire: Wire, written: bytes, value: Any, before: Sequence[Entry]) -> Entry:
    numbering = before[-1].numbering if before else Numbering()
    if not isinstance(value, dict):
        return Entry(written, (), numbering)
    items, behind = wire.items(value, numbering)
    return Entry(written, items, behind)


def _tail_fields(known: Outline, text: str, at: int) -> Json:
    members = dict.fromkeys(known.head_fields, Part(None, 0, 0))
    members[known.wire.list_key] = Part(None, 0, 0)
    end, _ = read_members(text, skip(text, at) + 1, members)
    _expect_end(text, end)
    for key in (*known.head_fields, known.wire.list_key):
        del members[key]
    return _values(members)


def stored(entry: Entry, wire: Wire, before: Numbering) -> Entry:
    """Return a message without what was decoded of it; its items decode it anew when asked."""
    source = Source(wire, entry.text, before)
    items = [Item(item.kind, item.key, source, at) for at, item in enumerate(entry.items)]
    return attrs.evolve(entry, items=items)


def size_of(text: str, start: int, end: int) -> int:
    """Return how many bytes a part of a text takes."""
    return end - start if text.isascii() else len(text[start:end].encode())


def _values(members: dict[str, Part]) -> dict[str, Any]:
    return {key: part.value for key, part in members.items()}


def _expect_end(text: str, at: int) -> None:
    if skip(text, at) != len(text):
        raise Unreadable("more text follows the object")
