"""The body of a request: its fields, what its messages say, and the place of the last of these.

A request holds all that the one before it held: messages with which an earlier one began, in the
same characters, are not read again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

import attrs

from trimtab_proxy._items import Item, Json, Numbering, Wire, items_of
from trimtab_proxy._json import Part, Place, Unreadable, next_element, read_members, skip

MOST_KEPT = 8
"""Requests whose messages are kept: the last of an agent and of each of its subagents, say."""
MOST_CHARACTERS = 16_000_000
"""Of their messages in all; decoded they take as much again."""


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
        fields: its members but the list of messages.
        items: what its messages say.
        last: the last message, where there is one.
    """

    text: str
    fields: Json
    items: Sequence[Item]
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


class _Message(NamedTuple):
    """A message with its text from behind the one before it, and how calls are numbered on."""

    text: str
    part: Part
    items: Sequence[Item]
    numbering: Numbering


class _Known(NamedTuple):
    """The messages of one request, the first of which begins at a character."""

    wire: Wire
    at: int
    messages: Sequence[_Message]

    def shared(self, text: str) -> int:
        """Return how many messages at the beginning stand in another body too."""
        at = self.at
        for index, message in enumerate(self.messages):
            # What is no object may be a number, and go on.
            if not text.startswith(message.text, at) or message.text[-1] != "}":
                return index
            at = message.part.end
        return len(self.messages)

    @property
    def size(self) -> int:
        return self.messages[-1].part.end - self.at if self.messages else 0


class Reader:
    """Reads bodies; several threads may."""

    def __init__(self) -> None:
        self._kept: Sequence[_Known] = ()  # the newest first; never changed, but replaced

    def read(self, wire: Wire, body: bytes) -> Document:
        """Return a body, decoded: UTF-8 without a byte order mark.

        Raises:
            Unreadable: it is no JSON object, or has one key twice.
        """
        try:
            return self._read(wire, body.decode("utf-8"))
        except (UnicodeDecodeError, RecursionError, IndexError) as error:
            raise Unreadable(f"the body is no JSON: {type(error).__name__}") from None
        except Unreadable:
            raise
        except ValueError as error:
            raise Unreadable(f"the body is no JSON object: {error}") from None

    def _read(self, wire: Wire, text: str) -> Document:
        start = skip(text, 0)
        if text[start] != "{":
            raise Unreadable("the body is no object")
        members: dict[str, Part] = {}
        at, found = read_members(text, start + 1, members, stop_at=wire.list_key)
        messages = self._messages(wire, text, at + 1) if found else []
        if found:
            at = skip(text, messages[-1].part.end if messages else at + 1) + 1
            at, _ = read_members(text, at, members)
        if skip(text, at) != len(text):
            raise Unreadable("more text follows the object")
        fields = {key: part.value for key, part in members.items()}
        if not found:
            return Document(text, fields, items_of(wire, fields))
        del fields[wire.list_key]
        items = [item for message in messages for item in message.items]
        return Document(text, fields, items, messages[-1].part if messages else None)

    def _messages(self, wire: Wire, text: str, at: int) -> Sequence[_Message]:
        """Return the messages from a character on, and keep them."""
        counts = [
            (known.shared(text), known)
            for known in self._kept
            if known.wire is wire and known.at == at
        ]
        shared, before = max(counts, key=itemgetter(0), default=(0, None))
        messages = list(before.messages[:shared]) if before else []
        numbering, end = Numbering(), at
        if messages:
            numbering, end = messages[-1].numbering, messages[-1].part.end
        while (part := next_element(text, end, first=not messages)) is not None:
            items: Sequence[Item] = ()
            if isinstance(part.value, dict):
                items, numbering = wire.items(part.value, numbering)
            messages.append(_Message(text[end : part.end], part, items, numbering))
            end = part.end
        goes_on = before is not None and 2 * shared >= len(before.messages)
        self._keep(_Known(wire, at, messages), before if goes_on else None)
        return messages

    def _keep(self, new: _Known, replaced: _Known | None) -> None:
        kept, room = [], MOST_CHARACTERS
        others = (known for known in self._kept if known is not replaced)
        for known in islice((new, *others), MOST_KEPT):
            room -= known.size
            if room >= 0:
                kept.append(known)
        self._kept = kept


def read(wire: Wire, body: bytes) -> Document:
    """Return one body, decoded, as `Reader.read` does."""
    return Reader().read(wire, body)
