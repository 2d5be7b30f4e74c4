"""JSON read leniently, and its values as the types that a format promises; nothing raises."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

_NESTED = 1024  # as orjson
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
        if r"\ud" in text or r"\uD" in text:
            text = _ESCAPE.sub(lambda match: r"\ufffd" if match["lone"] else match[0], text)
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if is_deeper(value, _NESTED):
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


def repair(data: bytes) -> bytes | None:
    """Return `data`, a JSON document that was cut off, closed after its last whole member.

    Returns None if no member is whole, or if brackets do not match.
    """
    text = data.decode("utf-8", "ignore")
    stack: list[str] = []
    closed: list[str] = []  # since the last comma, of what was open there
    cut = depth = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in _CLOSES:
            stack.append(_CLOSES[mark])
        elif mark in {"]", "}"}:
            if not stack or stack.pop() != mark:
                return None
            if len(stack) < depth:
                closed.append(mark)
                depth -= 1
        elif mark == "," and stack:
            cut, depth, closed = token.start(), len(stack), []
    if not cut or not stack:
        return None
    return f"{text[:cut]}{''.join([*closed, *reversed(stack[:depth])])}".encode()


_PICTURES = ("image", "image_url", "input_image", "document")
_DEEPEST = 100
_MILLISECONDS = 1e11  # as seconds this would be the year 5138


def as_dict(value: Any) -> dict[str, Any]:
    """Return `value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return `value` where it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def has_list(key: str) -> Callable[[Any], bool]:
    """Return whether a value is an object with an array at `key`, as a function of the value."""
    return lambda value: isinstance(as_dict(value).get(key), list)


def dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects in `value`, an array; an empty list if it is not an array."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return text as it is, None as empty, anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return orjson.dumps(shallow(value)).decode()
    except TypeError:  # a number beyond 64 bits
        return json.dumps(shallow(value), default=str)


def shallow(value: Any) -> Any:
    """Return `value`, or a note instead of it where it is nested deeper than 100 levels.

    What follows walks through values by recursion and must not run out of stack.
    """
    if value is None or isinstance(value, str):
        return value
    if is_deeper(value, _DEEPEST):
        return f"[nested deeper than {_DEEPEST} levels]"
    return value


def named(value: Any) -> str:
    """Return `value` where it is text, else an empty string: for names and ids."""
    return value if isinstance(value, str) else ""


def as_float(value: Any) -> float | None:
    """Return a finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def as_int(value: Any) -> int:
    """Return a whole number ≥ 0; 0 if `value` is not one."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 < value < 1 << 62 else 0


def as_time(value: Any) -> datetime | None:
    """Return an aware UTC time from ISO 8601 text or seconds or milliseconds since 1970."""
    try:
        return _iso_time(value) if isinstance(value, str) else _epoch_time(as_float(value))
    except (ValueError, OverflowError, OSError):
        return None


def _iso_time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    zone = time.tzinfo
    if zone is UTC:
        return time
    return time.replace(tzinfo=UTC) if zone is None else time.astimezone(UTC)


def _epoch_time(number: float | None) -> datetime | None:
    if number is None:
        return None
    return datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS else number, UTC)


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """Return the seconds from `start` to `end`; None if one is unknown or they are swapped."""
    if start is None or end is None or end < start:
        return None
    return (end - start).total_seconds()


def flattened(content: Any) -> Any:
    """Return a result's content as text where it is blocks of text only, else as it is."""
    if isinstance(content, list) and all(_is_text(block) for block in content):
        return "\n".join(block["text"] for block in content)
    return content


def said(content: Any) -> str:
    """Return the text in a message's content: text, or an array of blocks with text or images."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_block_text, content)))
    return named(content)


def joined(texts: Iterable[Any]) -> str:
    """Return the texts among `texts` that are not empty, one a line."""
    return "\n".join(filter(None, map(named, texts)))


def _block_text(block: Any) -> str:
    if _is_text(block):
        return str(block["text"])
    kind = as_dict(block).get("type")
    return f"[{kind}]" if kind in _PICTURES else ""


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)


def arguments(value: Any) -> Any:
    """Return a call's arguments: JSON text parsed, where it is JSON, anything else as it is."""
    if not isinstance(value, str):
        return {} if value is None else value
    try:
        return parse(value.encode("utf-8", "replace")).value if value else {}
    except ValueError:
        return value
