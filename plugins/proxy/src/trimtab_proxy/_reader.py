"""The body of a request, read once: its fields and messages, and the place of the last of these."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import attrs

from trimtab_proxy._items import Json, Wire
from trimtab_proxy._json import Part, Place, Unreadable, next_element, read_members, skip


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
        text: the body, decoded.
        fields: its members, the messages among them.
        last: the last message, where there is one.
    """

    text: str
    fields: Json
    last: Part | None = None

    def insertion(self, place: Place, addition: str) -> Insertion:
        """Return what puts `addition` at `place` of the last message."""
        last = self._last()
        at, inserted = place.insertion(self.text[last.start : last.end], addition)
        return self._insertion(last.start + at, inserted)

    def with_more(self, messages: Sequence[Json]) -> bytes:
        """Return the body with more messages behind the last, all else as it was."""
        added = "".join("," + json.dumps(message, separators=(",", ":")) for message in messages)
        return self._insertion(self._last().end, added).into(self.text.encode())

    def _last(self) -> Part:
        if self.last is None:
            raise Unreadable("there is no message")
        return self.last

    def _insertion(self, at: int, inserted: str) -> Insertion:
        offset = at if self.text.isascii() else len(self.text[:at].encode())
        return Insertion(offset, inserted.encode("ascii"))


def read(wire: Wire, body: bytes) -> Document:
    """Return a body, decoded: UTF-8 without a byte order mark.

    Raises:
        Unreadable: it is no JSON object, or has one key twice.
    """
    try:
        return _read(wire, body.decode("utf-8"))
    except (UnicodeDecodeError, RecursionError, IndexError) as error:
        raise Unreadable(f"the body is no JSON: {type(error).__name__}") from None
    except Unreadable:
        raise
    except ValueError as error:
        raise Unreadable(f"the body is no JSON object: {error}") from None


def _read(wire: Wire, text: str) -> Document:
    start = skip(text, 0)
    if text[start] != "{":
        raise Unreadable("the body is no object")
    members: dict[str, Part] = {}
    messages: list[Any] = []
    last: Part | None = None
    at, found = read_members(text, start + 1, members, stop_at=wire.list_key)
    if found:
        at += 1
        while (part := next_element(text, at, first=last is None)) is not None:
            messages.append(part.value)
            last, at = part, part.end
        at, _ = read_members(text, skip(text, at) + 1, members)
    if skip(text, at) != len(text):
        raise Unreadable("more text follows the object")
    fields = {key: part.value for key, part in members.items()}
    return Document(text, {**fields, wire.list_key: messages} if found else fields, last)
