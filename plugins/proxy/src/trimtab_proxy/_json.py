"""JSON text read together with the places of its values, so that one text can be put in.

The bytes of a request are never written anew: they are copied, with an insertion at one offset.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import attrs

_SPACE = re.compile(r"[ \t\n\r]*")
_scan = json.JSONDecoder().raw_decode


class Unreadable(ValueError):
    """The text is no JSON object, or one whose places are ambiguous."""


class Part(NamedTuple):
    """A value with its place in the text."""

    value: Any
    start: int
    end: int


@attrs.frozen
class Place:
    """Where a text goes in the last message of a request.

    The path leads to a string, or to a list that gets one more element: `part` and the text.
    """

    path: tuple[str | int, ...]
    part: Mapping[str, str]

    def put(self, message: Any, addition: str) -> Any:
        """Return a decoded message with `addition` in it; what it was made from stays as it is."""
        try:
            return self._put(message, self.path, addition)
        except (LookupError, TypeError, AttributeError):
            raise Unreadable("the message has no such place") from None

    def _put(self, value: Any, path: tuple[str | int, ...], addition: str) -> Any:
        if not path:
            if isinstance(value, str):
                return f"{value}\n\n{addition}" if value else addition
            return [*value, {**self.part, "text": addition}]
        copied = value.copy()
        copied[path[0]] = self._put(value[path[0]], path[1:], addition)
        return copied

    def insertion(self, message: str, addition: str) -> tuple[int, str]:
        """Return at which character of a message's JSON text to insert, and what."""
        part = Part(None, skip(message, 0), len(message))
        for step in self.path:
            part = _step(message, part, step)
        at = part.end - 1
        if isinstance(part.value, str):
            lead = "\n\n" if part.value else ""
            return at, json.dumps(lead + addition)[1:-1]
        if isinstance(part.value, list):
            comma, element = "," if part.value else "", {**self.part, "text": addition}
            return at, comma + json.dumps(element, separators=(",", ":"))
        raise Unreadable("the place is no text and no list")


def value_at(text: str, start: int) -> Part:
    """Return the value that begins at a character."""
    value, end = _scan(text, start)
    return Part(value, start, end)


def read_members(
    text: str, at: int, into: dict[str, Part], stop_at: str | None = None
) -> tuple[int, bool]:
    """Read members of an object up to its end, or up to the list under a key.

    Args:
        at: behind the brace that opens it, or behind a value.
        into: takes the members; those that it has count as read before.
        stop_at: the key of the list.

    Returns:
        Behind the object's end and False, or the place of the list's bracket and True.
    """
    at = skip(text, at)
    if text[at] == "}":
        return at + 1, False
    if into:
        _expect(text, at, ",")
        at = skip(text, at + 1)
    while True:
        _expect(text, at, '"')
        key, at = _scan(text, at)
        if key in into:
            raise Unreadable("a key stands twice in an object")
        at = skip(text, at)
        _expect(text, at, ":")
        at = skip(text, at + 1)
        if key == stop_at and text[at] == "[":
            into[key] = Part(None, at, at)
            return at, True
        into[key] = part = value_at(text, at)
        at = skip(text, part.end)
        if text[at] == "}":
            return at + 1, False
        _expect(text, at, ",")
        at = skip(text, at + 1)


def next_element(text: str, at: int, *, first: bool) -> Part | None:
    """Return the next element of a list from `at` on, which may be its `first`; None at its end."""
    at = skip(text, at)
    if text[at] == "]":
        return None
    if not first:
        _expect(text, at, ",")
        at = skip(text, at + 1)
    return value_at(text, at)


def skip(text: str, at: int) -> int:
    """Return where the white space at a character ends."""
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _step(text: str, part: Part, step: str | int) -> Part:
    """Return the value under a key or an index of `part`."""
    opening = text[part.start]
    try:
        if isinstance(step, str) and opening == "{":
            members: dict[str, Part] = {}
            read_members(text, part.start + 1, members)
            return members[step]
        if isinstance(step, int) and opening == "[":
            return _element(text, part.start + 1, step)
    except LookupError:
        pass
    raise Unreadable(f"there is no {step!r}")


def _element(text: str, at: int, index: int) -> Part:
    part = next_element(text, at, first=True)
    for _ in range(index):
        part = part and next_element(text, part.end, first=False)
    if part is None:
        raise IndexError(index)
    return part


def _expect(text: str, at: int, character: str) -> None:
    if text[at] != character:
        raise Unreadable(f"expected {character!r} at character {at}")
