"""JSON text read together with the places of its values, so that one text can be put in.

The bytes of a request are never written anew: `Document.with_text` copies them and inserts at one
offset.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

_SPACE = re.compile(r"[ \t\n\r]*")
_scan = json.JSONDecoder().raw_decode


class Unreadable(ValueError):
    """The text is no JSON object, or one whose places are ambiguous."""


class Part(NamedTuple):
    """A value with its place in the text.

    Args:
        value: decoded.
        start, end: characters of the text, the end exclusive.
    """

    value: Any
    start: int
    end: int


@attrs.frozen
class Place:
    """Where a text goes in the last message of a request.

    Args:
        path: keys and indexes from that message to a string or a list.
        part: makes the element that is appended where the path leads to a list.
    """

    path: tuple[str | int, ...]
    part: Callable[[str], Mapping[str, Any]]

    def put(self, message: Any, addition: str) -> Any:
        """Return a decoded message with `addition` in it; what it was made from stays as it is.

        Raises:
            Unreadable: the message has no such place.
        """
        try:
            return self._put(message, self.path, addition)
        except (LookupError, TypeError, AttributeError):
            raise Unreadable("the message has no such place") from None

    def _put(self, value: Any, path: tuple[str | int, ...], addition: str) -> Any:
        if not path:
            if isinstance(value, str):
                return f"{value}\n\n{addition}" if value else addition
            return [*value, self.part(addition)]
        copied = value.copy()
        copied[path[0]] = self._put(value[path[0]], path[1:], addition)
        return copied


@attrs.frozen(eq=False)
class Document:
    """A decoded body.

    Args:
        body: the bytes as they came.
        text: the same, decoded.
        value: the object.
        parts: the elements of the list that holds the messages, with their places.
    """

    body: bytes
    text: str
    value: Mapping[str, Any]
    parts: Sequence[Part] = ()

    def with_text(self, place: Place, addition: str) -> bytes:
        """Return the body with `addition` at `place` of its last part, all else as it was.

        Raises:
            Unreadable: the last part has no such place.
        """
        if not self.parts:
            raise Unreadable("there is no message")
        part = self.parts[-1]
        for step in place.path:
            part = _step(self.text, part, step)
        at, inserted = _insertion(part, place, addition)
        offset = at if self.text.isascii() else len(self.text[:at].encode())
        return self.body[:offset] + inserted.encode("ascii") + self.body[offset:]


def with_more(document: Document, messages: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the body with more messages behind the last, all else as it was.

    Raises:
        Unreadable: there is no message.
    """
    if not document.parts:
        raise Unreadable("there is no message")
    at = document.parts[-1].end
    offset = at if document.text.isascii() else len(document.text[:at].encode())
    added = "".join("," + json.dumps(message, separators=(",", ":")) for message in messages)
    return document.body[:offset] + added.encode("ascii") + document.body[offset:]


def read(body: bytes, lists: Sequence[str]) -> Document:
    """Decode a request's body.

    Args:
        body: UTF-8 without a byte order mark.
        lists: keys of the list that holds the messages.

    Raises:
        Unreadable: it is no JSON object, or has one key twice.
    """
    parts: list[Part] = []

    def value_of(key: str, start: int) -> Part:
        if key not in lists or text[start] != "[":
            return _value(text, start)
        elements, end = _elements(text, start)
        parts.extend(elements)
        return Part([element.value for element in elements], start, end)

    try:
        text = body.decode("utf-8")
        members, end = _members(text, _skip(text, 0), value_of)
        if _skip(text, end) != len(text):
            raise Unreadable("more text follows the object")
    except (UnicodeDecodeError, RecursionError, IndexError) as error:
        raise Unreadable(f"the body is no JSON: {type(error).__name__}") from None
    except ValueError as error:
        raise Unreadable(f"the body is no JSON object: {error}") from None
    return Document(body, text, {key: part.value for key, part in members.items()}, tuple(parts))


def _members(
    text: str, start: int, value_of: Callable[[str, int], Part]
) -> tuple[dict[str, Part], int]:
    """Return the members of the object at `start`, and where it ends."""
    _expect(text, start, "{")
    members: dict[str, Part] = {}
    at = _skip(text, start + 1)
    if text[at] == "}":
        return members, at + 1
    while True:
        _expect(text, at, '"')
        key, at = _scan(text, at)
        if key in members:
            raise Unreadable("a key stands twice in an object")
        at = _skip(text, at)
        _expect(text, at, ":")
        members[key] = part = value_of(key, _skip(text, at + 1))
        at = _skip(text, part.end)
        if text[at] == "}":
            return members, at + 1
        _expect(text, at, ",")
        at = _skip(text, at + 1)


def _elements(text: str, start: int) -> tuple[list[Part], int]:
    """Return the elements of the list at `start`, and where it ends."""
    _expect(text, start, "[")
    elements: list[Part] = []
    at = _skip(text, start + 1)
    if text[at] == "]":
        return elements, at + 1
    while True:
        part = _value(text, at)
        elements.append(part)
        at = _skip(text, part.end)
        if text[at] == "]":
            return elements, at + 1
        _expect(text, at, ",")
        at = _skip(text, at + 1)


def _value(text: str, start: int) -> Part:
    value, end = _scan(text, start)
    return Part(value, start, end)


def _step(text: str, part: Part, step: str | int) -> Part:
    """Return the value under a key or an index of `part`."""
    try:
        if isinstance(step, str):
            return _members(text, part.start, lambda _, start: _value(text, start))[0][step]
        return _elements(text, part.start)[0][step]
    except LookupError:
        raise Unreadable(f"there is no {step!r}") from None


def _insertion(part: Part, place: Place, addition: str) -> tuple[int, str]:
    """Return at which character to insert, and what."""
    at = part.end - 1
    if isinstance(part.value, str):
        lead = "\n\n" if part.value else ""
        return at, json.dumps(lead + addition)[1:-1]
    if isinstance(part.value, list):
        comma = "," if part.value else ""
        return at, comma + json.dumps(place.part(addition), separators=(",", ":"))
    raise Unreadable("the place is no text and no list")


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _expect(text: str, at: int, character: str) -> None:
    if text[at] != character:
        raise Unreadable(f"expected {character!r} at character {at}")
