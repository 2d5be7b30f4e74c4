"""JSON Schema of records, and conversion from and to JSON."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping, Set as AbstractSet
from datetime import date, time
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Any, TypeVar
from uuid import UUID

from trimtab._types.annotations import type_of
from trimtab._types.errors import ToolError
from trimtab._types.json_types import MAX_PROBLEMS, Schema, words_of
from trimtab._types.text import field_names, shown

T = TypeVar("T")


def json_schema(cls: type[Any]) -> Schema:
    """Return the JSON Schema of a record, from its annotations.

    Records are attrs classes, dataclasses, TypedDicts, NamedTuples (by name), and pydantic models
    (by their own schema). ``Annotated[T, "text"]`` and a field's metadata
    ``{"description": "text"}`` describe fields; fields with a default are optional; records may
    nest but not contain themselves.

    Args:
        cls: the class.

    Raises:
        ToolError: an annotation has no counterpart in JSON, or can't be resolved.
    """
    made = type_of(cls).schema
    if made.get("type") != "object":
        raise ToolError(f"{shown(cls)} is no JSON object; use a record with fields")
    copied: Schema = _copied(made)
    return copied


def _copied(schema: Any) -> Any:
    # By hand: `copy.deepcopy` takes five times as long, and each request of a host asks.
    if type(schema) is dict:
        return {name: _copied(part) for name, part in schema.items()}
    return [_copied(part) for part in schema] if type(schema) is list else schema


def from_json(cls: type[T], value: Any, *, name: str) -> T:
    """Return `value`, decoded JSON, as an object of `cls`; nothing is converted silently.

    Each value that the schema of `cls` admits is converted: a whole float is an int, texts become
    dates, paths, UUIDs and members of enums, lists become tuples and sets. Validators may refuse
    it, and the message has their words. A pydantic model converts as it is configured to.

    Args:
        cls: a record, as for `json_schema`.
        value: decoded JSON.
        name: what the message calls `value`, e.g. ``"params"``.

    Raises:
        ValueError: it does not conform; the message lists the problems, in words for the model.
        ToolError: `cls` has no counterpart in JSON.
    """
    found: list[str] = []
    made = type_of(cls).read(value, name, found)
    if found:
        raise ValueError("; ".join(found[:MAX_PROBLEMS]))
    return made  # type: ignore[no-any-return]


def describe_fields(cls: type[Any]) -> str:
    """Return the fields of a record in one line: ``path (str), limit (int, optional)``."""
    schema = type_of(cls).schema
    needed = schema.get("required", ())
    return ", ".join(
        f"{name} ({words_of(field)}{'' if name in needed else ', optional'})"
        for name, field in schema.get("properties", {}).items()
    )


def to_json(value: Any) -> Any:
    """Return `value` in lists, dicts and plain values, as `from_json` reads them.

    What it does not know stays as it is.
    """
    if value is None or value.__class__ in (str, bool, int, float):
        return value
    kind: Any = type(value)
    if hasattr(kind, "__pydantic_validator__"):
        return _adapter(kind).dump_python(value, mode="json")
    if isinstance(value, Enum):
        return to_json(value.value)
    for kinds, write in _WRITTEN:
        if isinstance(value, kinds):
            return write(value)
    names = field_names(kind, init=True)
    return value if names is None else {name: to_json(getattr(value, name)) for name in names}


def _write_list(value: Any) -> Any:
    if hasattr(value, "_fields"):  # a NamedTuple: read by name
        return {name: to_json(getattr(value, name)) for name in value._fields}
    return [to_json(item) for item in value]


def _write_set(value: AbstractSet[Any]) -> list[Any]:
    # In one order: the hashes of texts differ from process to process.
    return sorted(map(to_json, value), key=lambda item: (type(item).__name__, str(item)))


_WRITTEN: tuple[tuple[tuple[type[Any], ...], Callable[[Any], Any]], ...] = (
    ((list, tuple, deque), _write_list),
    ((Mapping,), lambda value: {to_json(key): to_json(item) for key, item in value.items()}),
    ((AbstractSet,), _write_set),
    ((date, time), lambda value: value.isoformat()),
    ((PurePath, UUID, Decimal), str),
)


@lru_cache(maxsize=256)
def _adapter(cls: Any) -> Any:
    return sys.modules["pydantic"].TypeAdapter(cls)
