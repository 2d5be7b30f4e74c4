"""The body of a request in its parts, read without decoding what an earlier one had too.

An agent sends its whole conversation with each request, one step longer than the last. What a body
has in common with an earlier one is found by comparing bytes; only the rest is decoded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, NamedTuple

import attrs

from trimtab_proxy._items import SEPARATORS, Item, Json, Numbering, Source, Wire, user_entries
from trimtab_proxy._json import Part, Place, Unreadable, next_element, read_members, skip


@attrs.frozen(eq=False)
class Entry:
    """One message of a body: its bytes, the separator before it included, and what it holds."""

    text: bytes
    items: Sequence[Item]
    numbering: Numbering


@attrs.frozen(eq=False)
class Outline:
    """A body in its parts, which together are its bytes."""

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


@attrs.frozen
class Insertion:
    """What is put into a body, and where."""

    offset: int
    text: bytes

    def into(self, body: bytes) -> bytes:
        """Return the body with the text in it."""
        whole = memoryview(body)  # a large body is copied once
        return b"".join((whole[: self.offset], self.text, whole[self.offset :]))


@attrs.frozen(eq=False)
class Document:
    """A body that was read.

    Args:
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

    def insertion(self, place: Place, addition: str) -> Insertion:
        """Return what puts `addition` at `place` of the last message."""
        text = self._last().decode()
        at, inserted = place.insertion(text, addition)
        offset = self.last_end - len(self.last_text) + size_of(text, 0, at)
        return Insertion(offset, inserted.encode("ascii"))

    def with_more(self, messages: Sequence[Json]) -> bytes:
        """Return the body with more messages behind the last, all else as it was."""
        self._last()
        added = "".join("," + json.dumps(message, separators=(",", ":")) for message in messages)
        return Insertion(self.last_end, added.encode("ascii")).into(self.body)

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
    """Return the part of a body up to its first message; all of it where it has no list of them."""
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
    """Return a body whose beginning is known; an earlier body may end in the same way."""
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


MOST_KEPT = 64
MOST_KEPT_BYTES = 16_000_000
_GOES_ON = 8
"""How many of the last messages may differ in the next body of a conversation: programs move cache
marks and reminders among them."""


class _Shared(NamedTuple):
    """What a body has in common with one that is kept."""

    outline: Outline
    messages: int
    end: int

    @property
    def goes_on(self) -> bool:
        return len(self.outline.entries) - self.messages <= _GOES_ON


class Reader:
    """Reads bodies, and keeps the last of each conversation to read the next one by."""

    def __init__(self, most: int = MOST_KEPT, most_bytes: int = MOST_KEPT_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: dict[Outline, int] = {}
        self._size = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return self._size

    def read(self, wire: Wire, body: bytes) -> Document:
        """Return a body, decoded: UTF-8 without a byte order mark.

        Raises:
            Unreadable: it is no JSON object, or has one key twice.
        """
        with self._lock:
            known = [outline for outline in reversed(self._kept) if outline.wire is wire]
        outline, shared = _outline(wire, body, known)
        if outline.entries:
            self._keep(outline, len(body), shared)
        return document_of(outline, body)

    def _keep(self, outline: Outline, size: int, shared: _Shared | None) -> None:
        kept = _without_values(outline, shared.messages if shared else 0)
        with self._lock:
            if shared is not None and shared.goes_on:
                self._size -= self._kept.pop(shared.outline, 0)
            self._kept[kept] = size
            self._size += size
            while self._kept and (len(self._kept) > self._most or self._size > self._most_bytes):
                self._size -= self._kept.pop(next(iter(self._kept)))


def read(wire: Wire, body: bytes) -> Document:
    """Return a body, decoded, without regard to any other; as `Reader.read` does."""
    return document_of(_outline(wire, body, ())[0], body)


def _outline(wire: Wire, body: bytes, known: Sequence[Outline]) -> tuple[Outline, _Shared | None]:
    try:
        head = next((o for o in known if body.startswith(o.head)), None) or read_head(wire, body)
        if len(head.head) == len(body):
            return head, None
        shared = _most_shared(body, len(head.head), known)
        messages = shared.outline.entries[: shared.messages] if shared else ()
        beginning = Outline(wire, head.head, head.head_fields, messages)
        end = shared.end if shared else len(head.head)
        return read_rest(beginning, body, end, shared and shared.outline), shared
    except (UnicodeDecodeError, RecursionError, IndexError) as error:
        raise Unreadable(f"the body is no JSON: {type(error).__name__}") from None
    except Unreadable:
        raise
    except ValueError as error:
        raise Unreadable(f"the body is no JSON object: {error}") from None


def _most_shared(body: bytes, start: int, known: Iterable[Outline]) -> _Shared | None:
    """Return what a body has in common with the outline that it has most in common with."""
    best: _Shared | None = None
    for outline in known:
        shared = _Shared(outline, *outline.shared_with(body, start))
        if shared.messages and (best is None or shared.end > best.end):
            best = shared
            if shared.goes_on:
                break
    return best


def _without_values(outline: Outline, known: int) -> Outline:
    """Return an outline for keeping: what was decoded anew is left out, keys stay."""
    entries = list(outline.entries)
    for index in range(known, len(entries)):
        before = entries[index - 1].numbering if index else Numbering()
        entries[index] = stored(entries[index], outline.wire, before)
    return attrs.evolve(outline, entries=entries)
