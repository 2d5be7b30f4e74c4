"""A lenient JSON parser: fast on valid JSON, tolerant of common damage."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import orjson

_DEEPEST = 1024  # as orjson
_PADDING = b"\0 \t\r\n"
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)
_CLOSES = {"[": "]", "{": "}"}


class Parsed(NamedTuple):
    """A value, and what had to be changed in the text to get it (None for nothing)."""

    value: Any
    change: str | None = None


def parse(data: bytes) -> Parsed:
    """Return the JSON value in `data`.

    NaN and numbers beyond 64 bits are read as Python's json reads them; half surrogates become
    U+FFFD. Padding by NUL bytes is dropped, bytes that are not UTF-8 are
    replaced: both are reported.

    Raises:
        ValueError: it is not JSON, or nested beyond what can be read.
    """
    try:
        return Parsed(orjson.loads(data))
    except ValueError:
        return _parse_patiently(data)


def _parse_patiently(data: bytes) -> Parsed:
    text, change = _decoded(data)
    try:
        value = json.loads(_without_lone_surrogates(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if is_deeper(value, _DEEPEST):
        raise ValueError("nested too deeply")
    return Parsed(value, change)


def is_deeper(value: Any, levels: int) -> bool:
    """Whether arrays and objects in `value` are nested deeper than `levels`."""
    layer = [value] if isinstance(value, dict | list) else []
    for _ in range(levels - 1):
        if not layer:
            return False
        layer = [
            inner
            for each in layer
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    return any(layer)


def _decoded(data: bytes) -> tuple[str, str | None]:
    stripped = data.strip(_PADDING)
    change = "NUL bytes dropped" if b"\0" in data and b"\0" not in stripped else None
    try:
        return stripped.decode("utf-8-sig"), change
    except UnicodeDecodeError:
        return stripped.decode("utf-8", "replace"), "bytes that are not UTF-8 replaced"


def _without_lone_surrogates(text: str) -> str:
    if r"\ud" not in text and r"\uD" not in text:
        return text
    return _ESCAPE.sub(lambda match: r"\ufffd" if match["lone"] else match[0], text)


def repair(data: bytes) -> bytes | None:
    """Return `data`, a JSON document that was cut off, closed after its last whole member.

    Returns None if no member is whole, or if brackets do not match.
    """
    text = data.decode("utf-8", "ignore")
    cut = _last_whole_member(text)
    if cut is None:
        return None
    return (text[:cut] + "".join(reversed(_open_brackets(text[:cut])))).encode()


def _last_whole_member(text: str) -> int | None:
    """Return where the last comma stands that separates members; None if the text is whole."""
    stack: list[str] = []
    cut = None
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in _CLOSES:
            stack.append(_CLOSES[mark])
        elif mark in {"]", "}"}:
            if not stack or stack.pop() != mark:
                return None
        elif mark == "," and stack:
            cut = token.start()
    return cut if stack else None


def _open_brackets(text: str) -> list[str]:
    """Return what closes the brackets that `text` leaves open, the outermost first."""
    stack: list[str] = []
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in _CLOSES:
            stack.append(_CLOSES[mark])
        elif mark in {"]", "}"}:
            stack.pop()
    return stack
