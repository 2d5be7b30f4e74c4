"""Values of any kind as JSON, and back: what tools take and answer is not ours to choose."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

import attrs

from trimtab import ResultDigest

_DIGEST, _FLOAT, _BYTES = "$digest", "$float", "$bytes"
_MARK = "$"
_DEEPEST = 64
_MOST_BITS = 10_000  # Python reads no number of more than 4,300 digits back
_LONGEST_TEXT = 100_000
T = TypeVar("T")


def per_class(function: Callable[[type[Any]], T]) -> Callable[[type[Any]], T]:
    """Return `function`, called once for each class."""
    return cast("Callable[[type[Any]], T]", cache(function))


def encode(value: Any, depth: int = 0) -> Any:
    """Return what JSON can hold of `value`.

    Keys become text, sets become lists, records become objects, numbers that JSON lacks and
    bytes are marked. What has no counterpart, or is nested deeper than 64, becomes text.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is dict and depth < _DEEPEST:
        return {_key(key): encode(item, depth + 1) for key, item in value.items()}
    if (kind is list or kind is tuple) and depth < _DEEPEST:
        return [encode(item, depth + 1) for item in value]
    return _rarer(value, depth + 1)


def _rarer(value: Any, depth: int) -> Any:
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, Enum):
        return encode(value.value, depth)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, ResultDigest):
        return {_DIGEST: [value.length, value.digest]}
    if isinstance(value, bytes | bytearray):
        return {_BYTES: base64.b64encode(value).decode()}
    return _container(value, depth) if depth <= _DEEPEST else _text(value)


def _number(value: float) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {_FLOAT: repr(float(value))}
    return int(value) if value.bit_length() < _MOST_BITS else f"{value:#x}"[:_LONGEST_TEXT]


def _container(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): encode(item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item, depth) for item in value]
    if isinstance(value, set | frozenset):
        return [encode(item, depth) for item in sorted(value, key=_text)]
    names = field_names(type(value))
    if names:
        return {_key(name): encode(getattr(value, name, None), depth) for name in names}
    return _text(value)


@per_class
def field_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields of a record's class, attrs or dataclass; none for other classes."""
    if attrs.has(kind):
        return tuple(field.name for field in attrs.fields(kind))
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return ()


def _text(value: Any) -> str:
    try:
        return str(value)[:_LONGEST_TEXT]
    except Exception:  # noqa: BLE001 - a hostile __str__ must not stop a trace
        return f"<{type(value).__name__}>"


def _key(key: Any) -> str:
    """Return a key as text; one that looks like a mark of ours is escaped."""
    text = key if type(key) is str else _text(key)
    return _MARK + text if text.startswith(_MARK) else text


def decode(value: Any) -> Any:
    """Return what `encode` was given, as far as JSON could hold it."""
    kind = type(value)
    if kind is list:
        return [decode(item) for item in value]
    if kind is not dict:
        return value
    if len(value) == 1:
        ((key, item),) = value.items()
        if key in _MARKED:
            return _MARKED[key](item)
    return {key.removeprefix(_MARK): decode(item) for key, item in value.items()}


_MARKED: dict[str, Any] = {
    _DIGEST: lambda item: ResultDigest(*item),
    _FLOAT: float,
    _BYTES: base64.b64decode,
}
