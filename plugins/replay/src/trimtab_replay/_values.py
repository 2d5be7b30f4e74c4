"""Values of any type, read as the type that a format promises; nothing here raises."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import orjson

from trimtab_replay._lenient_json import is_deeper, parse

_PICTURES = ("image", "image_url", "input_image", "document")
_DEEPEST = 100
_MILLISECONDS = 1e11  # as seconds this would be the year 5138


def as_dict(value: Any) -> dict[str, Any]:
    """Return `value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return `value` where it is an array, else an empty one."""
    return value if isinstance(value, list) else []


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
