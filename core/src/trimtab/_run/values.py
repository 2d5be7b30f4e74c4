"""Values of any kind as JSON, and back: tools take and return what they like."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import attrs

from trimtab._events.run import ResultDigest
from trimtab._types.text import as_text
from trimtab._types.values import DEEPEST, reduced

_DIGEST = "$digest"
_MARK = "$"


def encode(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """Return what JSON can hold of `value`.

    Keys become text, sets become lists, records become mappings; what has no counterpart in
    JSON, is nested deeper than 64, or contains itself becomes its text.

    Args:
        inside: identities of the containers around it.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Enum):
        return encode(value.value, inside)
    if isinstance(value, int | float):
        return reduced(value)
    if isinstance(value, ResultDigest):
        return {_DIGEST: [value.length, value.digest]}
    if len(inside) >= DEEPEST or id(value) in inside:
        return as_text(value)
    return _container(value, (*inside, id(value)))


def _container(value: Any, inside: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return {escaped(as_text(key)): encode(item, inside) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item, inside) for item in value]
    if isinstance(value, set | frozenset):
        return [encode(item, inside) for item in sorted(value, key=as_text)]
    names = _field_names(value)
    if names:
        return {name: encode(getattr(value, name, None), inside) for name in names}
    return as_text(value)


def _field_names(value: Any) -> tuple[str, ...]:
    cls = type(value)
    if attrs.has(cls):
        return tuple(field.name for field in attrs.fields(cls))
    import dataclasses

    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    return ()


def escaped(key: str) -> str:
    """Return a key that can't be taken for a mark of ours, such as ``$digest``."""
    return _MARK + key if key.startswith(_MARK) else key


def unescaped(key: str) -> str:
    """Undo `escaped`."""
    return key.removeprefix(_MARK)


def decode(value: Any) -> Any:
    """Return what `encode` was given, as far as JSON could hold it."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if _DIGEST in value:
        return ResultDigest(*value[_DIGEST])
    return {unescaped(key): decode(item) for key, item in value.items()}
