"""Sessions as JSON text, to be read back by `trimtab._run.snapshot`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import attrs

from trimtab._run.values import encode, escaped
from trimtab._session.retention import FACTS, HEAD, ToolLog
from trimtab._session.slices import Slice
from trimtab._types.errors import SnapshotError
from trimtab._types.text import as_text
from trimtab._types.values import reduced

VERSION = 3
EVENT = "$event"
_DEEPEST = 200
_PLAIN = (str, int, float, bool, type(None))


def dump(
    keep: int | None,
    slices: Mapping[type[Any], Slice[Any]],
    states: Iterable[Mapping[str, Any]],
    current: Mapping[str, str],
) -> str:
    """Return the JSON text of a session.

    Args:
        keep: the session's `keep`.
        slices: copies that nobody changes any more.
        states: what the runs' `state()` returned.
        current: the run that is current, by prompt name.

    Raises:
        SnapshotError: two types of records share a name.
    """
    return _object(
        {
            "version": _text(VERSION),
            "keep": _text(keep),
            "slices": _object(_dumped(slices)),
            "runs": _text([_pack(state) for state in states]),
            "current": _text(dict(current)),
        }
    )


def _object(fields: Mapping[str, str]) -> str:
    """Return the object whose fields hold these JSON texts."""
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in fields.items()) + "}"


def _text(value: Any) -> str:
    try:
        return json.dumps(value, default=as_text, allow_nan=False)
    except ValueError:  # in a field of a record, or in the state of a provider
        plain = reduced(value, deepest=_DEEPEST)
        return json.dumps(plain, default=as_text, allow_nan=False)


def _dumped(slices: Mapping[type[Any], Slice[Any]]) -> dict[str, str]:
    dumped: dict[str, str] = {}
    for kind, records in slices.items():
        name = kind.__name__
        if name in dumped:
            raise SnapshotError(f"two types of records are called {name!r}; rename one")
        if isinstance(records, ToolLog) and len(records):
            dumped[name] = _dumped_calls(records)
        elif len(records) or records.dropped:
            items = [_fields_of(item) for item in records.all()]
            dumped[name] = _text({"items": items, "dropped": records.dropped})
    return dumped


def _dumped_calls(log: ToolLog) -> str:
    """Return the calls of a session; old ones as they are packed, for there may be 100,000."""
    heads, batches, recent = log.parted()
    dumped = {"items": _text([_fields_of(call) for call in recent]), "dropped": "0"}
    # Encoded one by one: all the rows at once would take a third more time, and much memory.
    rows = ", ".join([_text(batch)[1:-1] for batch in batches])
    if rows:
        facts = {"head": _text(HEAD), "facts": _text(FACTS), "heads": _text(heads)}
        dumped["old"] = _object({**facts, "rows": f"[{rows}]"})
    return _object(dumped)


def _fields_of(record: Any) -> Any:
    """Return a record as JSON, without the fields that have their defaults."""
    names = _field_defaults(record.__class__)
    if names is None:
        return encode(record)
    found = {}
    for name, default in names:
        value = getattr(record, name)
        if value is default or (value.__class__ in _PLAIN and value == default):
            continue
        found[name] = value if value.__class__ in _PLAIN else _field(value)
    return found


def _field(value: Any) -> Any:
    if value.__class__ is datetime:
        return value.isoformat()
    if attrs.has(value.__class__) and not hasattr(value, "digest"):
        return _fields_of(value)
    if value.__class__ is tuple:
        return [_field(item) for item in value]
    return encode(value)


@cache
def _field_defaults(kind: type[Any]) -> tuple[tuple[str, Any], ...] | None:
    if not attrs.has(kind):
        return None
    unset = object()
    return tuple(
        (field.name, unset if isinstance(field.default, attrs.Factory) else field.default)  # type: ignore[arg-type]
        for field in attrs.fields(kind)
    )


def _pack(value: Any) -> Any:
    """Mark the events inside a run's state with their type."""
    if isinstance(value, dict):
        return {escaped(as_text(key)): _pack(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(item) for item in value]
    if attrs.has(type(value)):
        return {EVENT: type(value).__name__, "fields": _fields_of(value)}
    return encode(value)
