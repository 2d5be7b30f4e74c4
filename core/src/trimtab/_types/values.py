"""Values as a record keeps them: copied from the caller's, none that JSON can't hold, digests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import isfinite
from typing import Any

import attrs

from trimtab._types.errors import is_interruption
from trimtab._types.text import as_text

__all__ = ["blake2b"]


try:
    from _blake2 import blake2b
except ImportError:  # not CPython
    from hashlib import blake2b


MOST_BITS = 10_000  # Python neither writes nor reads a number of more than 4,300 digits
DEEPEST = 64
"""Containers in each other: arguments nest less, and Python allows some 1,000 frames."""
SMALL_INT = 1 << 62
"""Far below `MOST_BITS`, and cheaper to compare with."""
_AS_THEY_ARE = frozenset({str, bool, type(None)})
_EXACT = _AS_THEY_ARE | {int, float}


def exact(value: Any) -> Any:
    """Return a text or number without what a subclass adds; anything else as it is."""
    if type(value) in _EXACT:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def digest_of(text: str, size: int = 8) -> str:
    """Return a digest of any text, halves of characters included, in hexadecimal."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


@cache
def field_names(kind: Any) -> tuple[str, ...] | None:
    """Return the fields of a class of attrs or dataclasses; None for other classes."""
    if attrs.has(kind):
        return tuple(field.name for field in attrs.fields(kind))
    import dataclasses  # imported by whoever has made one

    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return None


def reduced(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """Return `value` as a record keeps it; nothing that the caller changes later reaches it.

    Dicts, lists and tuples are copied. Sets become lists in one order, as their own order
    differs from process to process. A whole number of more than 10,000 bits, a number
    that is not finite, and what is nested too deep or contains itself become text. So does a
    container whose own methods raise. Other objects stay as they are.
    """
    kind = value.__class__
    if kind is dict:
        for item in value.values():  # texts and small numbers, as arguments mostly are
            kind = item.__class__
            if kind is not str and (kind is not int or not -SMALL_INT < item < SMALL_INT):
                return _copied(value, dict, inside)
        return value.copy()
    if kind in _AS_THEY_ARE:
        return value
    if kind is int or kind is float:
        return _number(value)
    if kind is list or kind is tuple:
        return _copied(value, kind, inside)
    return _odd(value, inside)


def _copied(value: Any, kind: type[Any], inside: tuple[int, ...]) -> Any:
    if len(inside) >= DEEPEST or id(value) in inside:
        return as_text(value)
    inside = (*inside, id(value))
    if kind is dict:
        return {
            key: (item if item.__class__ is str else reduced(item, inside))
            for key, item in value.items()
        }
    items = [item if item.__class__ is str else reduced(item, inside) for item in value]
    return items if kind is list else tuple(items)


def _odd(value: Any, inside: tuple[int, ...]) -> Any:
    """Return what is kept of a value of no plain class; foreign methods may raise."""
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return str.__str__(value)  # a plain one: JSON can't tell, and repr would
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return value
    if id(value) in inside:
        return as_text(value)
    try:
        return _foreign(value, (*inside, id(value)))
    except BaseException as error:
        if is_interruption(error):
            raise
        return as_text(value)


def _foreign(value: Any, inside: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return _copied(dict(value.items()), dict, inside)
    if isinstance(value, list):
        return _copied(list(value), list, inside)
    if isinstance(value, tuple):
        return _copied(tuple(value), tuple, inside)
    return sorted([reduced(item, inside) for item in value], key=_rank)


def _rank(item: Any) -> tuple[str, str]:
    """Return where an item of a set stands: items of any types can be compared by this."""
    return type(item).__name__, as_text(item)


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else float.__str__(value)
    bits = int.bit_length(value)
    if bits < MOST_BITS:
        return value
    raw = int.to_bytes(value, bits // 8 + 1, "big", signed=True)
    return f"<int of {bits:,} bits, {blake2b(raw, digest_size=8).hexdigest()}>"
