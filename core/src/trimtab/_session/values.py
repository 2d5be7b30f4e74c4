"""Values of any kind as JSON, and back: tools take and return what they like."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from math import isfinite
from typing import Any

import attrs

from trimtab._events.run import ResultDigest
from trimtab._types.text import as_text, shown
from trimtab._types.values import DEEPEST, SMALL_INT

_MARK = "$"
_FLOATS = ("nan", "inf", "-inf")
_LEAST_INT, _MOST_INT = -(1 << 63), (1 << 64) - 1  # what 64 bits hold, signed or not
_SCALARS = (Enum, str, int, float, bytes, bytearray, ResultDigest)


def encode_value(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """Return what JSON can hold of `value`, from which `decode_value` returns an equal value.

    JSON lacks bytes, sets, numbers that are not finite or take more than 64 bits, and the digests
    that a session keeps of old results: each becomes an object with one key that begins with
    ``$``. Sets have one order. Keys become text, tuples lists, enum members their values, records
    objects. What has no counterpart, is nested deeper than 64, or contains itself becomes its
    text.

    Args:
        value: anything.
        inside: identities of the containers around it.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int or kind is float:
        return encode_number(value)
    if len(inside) >= DEEPEST or id(value) in inside:
        return as_text(value)
    if kind is dict or kind is list:
        return _plain(value, kind, (*inside, id(value)))
    try:
        return _scalar(value) if isinstance(value, _SCALARS) else _container(value, inside)
    except Exception:  # noqa: BLE001 - the methods of a class that others wrote
        return as_text(value)


def _plain(value: Any, kind: type[Any], inside: tuple[int, ...]) -> Any:
    if kind is list:
        return [item if type(item) is str else encode_value(item, inside) for item in value]
    return {
        key if type(key) is str and key[:1] != _MARK else _key(key): (
            item if type(item) is str else encode_value(item, inside)
        )
        for key, item in value.items()
    }


def _scalar(value: Any) -> Any:
    if isinstance(value, Enum):
        return encode_value(value.value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, ResultDigest):
        return {"$digest": [value.length, value.digest]}
    if isinstance(value, bytes | bytearray):
        return {"$bytes": b64encode(value).decode()}
    return encode_number(value)


def _container(value: Any, inside: tuple[int, ...]) -> Any:
    inside = (*inside, id(value))
    if isinstance(value, Mapping):
        return {_key(key): encode_value(item, inside) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode_value(item, inside) for item in value]
    if isinstance(value, set | frozenset):
        return {"$set": in_order([encode_value(_member(item), inside) for item in value])}
    kind: Any = type(value)
    names = field_names(kind)
    if names:
        return {_key(name): encode_value(getattr(value, name, None), inside) for name in names}
    return as_text(value)


def encode_number(value: float) -> Any:
    """Return a number, marked if it is not finite or takes more than 64 bits.

    Fast JSON libraries, and those of most other languages, read such a number as a float.
    """
    if type(value) is float and isfinite(value):
        return value
    if isinstance(value, float):
        number = float.__float__(value)
        return number if isfinite(number) else {"$float": repr(number)}
    if type(value) is int and -SMALL_INT < value < SMALL_INT:
        return value
    whole = int.__int__(value)
    return whole if _LEAST_INT <= whole <= _MOST_INT else {"$int": hex(whole)}


def in_order(items: list[Any]) -> list[Any]:
    """Return the encoded items of a set in the order of their JSON text.

    The order of a set itself differs from process to process.
    """
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def _member(value: Any) -> Any:
    """Return an item of a set as what can be hashed when it is read back."""
    if isinstance(value, tuple):
        return tuple([_member(item) for item in value])
    if value is None or isinstance(value, str | int | float | bytes | frozenset):
        return value
    return as_text(value)


@cache
def field_names(kind: Any) -> tuple[str, ...]:
    """Return the fields of a class of attrs or dataclasses; none for other classes."""
    if attrs.has(kind):
        return tuple(field.name for field in attrs.fields(kind))
    import dataclasses

    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return ()


def _key(key: Any) -> str:
    """Return a key as text; one that begins like a mark gets a second ``$``."""
    text = key if type(key) is str else as_text(key)
    return _MARK + text if text.startswith(_MARK) else text


def decode_value(value: Any) -> Any:
    """Return what `encode_value` was given, as far as JSON could hold it.

    Args:
        value: as parsed from JSON.

    Raises:
        ValueError: an object with one of the marks holds something else.
    """
    kind = type(value)
    if kind is list:
        return [decode_value(item) for item in value]
    if kind is not dict:
        return value
    if len(value) == 1:
        ((key, item),) = value.items()
        read = _MARKED.get(key)
        if read is not None:
            return _read_mark(read, key, item)
    return {
        key[1:] if key.startswith("$$") else key: decode_value(item) for key, item in value.items()
    }


def _read_mark(read: Callable[[Any], Any], mark: str, value: Any) -> Any:
    try:
        return read(value)
    except (TypeError, ValueError, AttributeError):
        raise ValueError(f"{mark} can't hold {shown(value)}") from None


def _digest(value: list[Any]) -> ResultDigest:
    length, digest = value
    bytes.fromhex(digest)
    if type(length) is not int or length < 0:
        raise ValueError("the length is no whole number from 0")
    return ResultDigest(length, digest)


def _float(value: str) -> float:
    return float(_FLOATS[_FLOATS.index(value)])


def _set(value: Any) -> frozenset[Any]:
    if type(value) is not list:
        raise TypeError("not a list")
    return frozenset([_hashable(item) for item in decode_value(value)])


def _hashable(value: Any) -> Any:
    return tuple([_hashable(item) for item in value]) if type(value) is list else value


_MARKED: dict[str, Callable[[Any], Any]] = {
    "$bytes": lambda value: b64decode(value, validate=True),
    "$digest": _digest,
    "$float": _float,
    "$int": lambda value: int(value, 16),
    "$set": _set,
}
