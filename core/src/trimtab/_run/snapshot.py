"""Sessions as JSON text: saved whole, restored whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import attrs

from trimtab._events.guidance import GuidanceDelivered, GuidanceSuppressed
from trimtab._events.providers import (
    CompletionChecked,
    Feedback,
    FeedbackSuppressed,
    ObserverFaulted,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
    ProviderSlow,
)
from trimtab._events.run import (
    CompactionHappened,
    ModelResponded,
    RunClosed,
    RunOpened,
    ToolInvoked,
    ToolStarted,
    UserMessage,
)
from trimtab._run.values import decode, encode, escaped, unescaped
from trimtab._session.retention import FACTS, HEAD, OldCalls, ToolLog
from trimtab._session.slices import Slice
from trimtab._types.errors import ProviderError, SnapshotError
from trimtab._types.plan import Plan
from trimtab._types.text import as_text, shown
from trimtab._types.values import reduced

VERSION = 3
_READ = (2, VERSION)
"""Version 2 held old calls like all others."""

_EVENT = "$event"
_NOT_FINITE = frozenset({"nan", "inf", "-inf"})
_DEEPEST = 200
_PLAIN = (str, int, float, bool, type(None))
RECORDS: tuple[type[Any], ...] = (
    RunOpened,
    RunClosed,
    UserMessage,
    ModelResponded,
    ToolStarted,
    ToolInvoked,
    CompactionHappened,
    GuidanceDelivered,
    GuidanceSuppressed,
    FeedbackSuppressed,
    Feedback,
    CompletionChecked,
    ProviderSkipped,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSlow,
    ObserverFaulted,
    Plan,
)


@attrs.frozen
class Saved:
    """A snapshot, read back.

    Attributes:
        keep: the session's `keep`.
        slices: the records by type, and how many were dropped before them.
        old: the calls before those in `slices`, None if there are none.
        states: the runs' states.
        current: the run that is current, by prompt name.
    """

    keep: int | None
    slices: Mapping[type[Any], tuple[list[Any], int]]
    old: OldCalls | None
    states: list[dict[str, Any]]
    current: Mapping[str, str]


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
    body = {
        "version": VERSION,
        "keep": keep,
        "slices": _dumped(slices),
        "runs": [_pack(state) for state in states],
        "current": dict(current),
    }
    try:
        return json.dumps(body, default=_as_json, allow_nan=False)
    except ValueError:  # in a field of a record, or in the state of a provider
        plain = reduced(body, deepest=_DEEPEST)
        return json.dumps(plain, default=_as_json, allow_nan=False)


def _as_json(value: Any) -> str:
    return value.hex() if value.__class__ is bytes else as_text(value)


def _dumped(slices: Mapping[type[Any], Slice[Any]]) -> dict[str, Any]:
    dumped: dict[str, Any] = {}
    for kind, records in slices.items():
        name = kind.__name__
        if name in dumped:
            raise SnapshotError(f"two types of records are called {name!r}; rename one")
        if isinstance(records, ToolLog) and len(records):
            dumped[name] = _dumped_calls(records)
        elif len(records) or records.dropped:
            items = [_fields_of(item) for item in records.all()]
            dumped[name] = {"items": items, "dropped": records.dropped}
    return dumped


def _dumped_calls(log: ToolLog) -> dict[str, Any]:
    """Return the calls of a session; old ones as they are packed, for there may be 100,000."""
    old, recent = log.parted()
    dumped: dict[str, Any] = {"items": [_fields_of(call) for call in recent], "dropped": 0}
    if old.rows:
        dumped["old"] = {"head": HEAD, "facts": FACTS, "heads": old.heads, "rows": old.rows}
    return dumped


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


def load(text: str, types: Iterable[type[Any]] = ()) -> Saved:
    """Read a snapshot back.

    Args:
        text: what `dump` returned.
        types: record types beyond core's own and those of installed plugins.

    Raises:
        SnapshotError: it is damaged, of another version, or holds a type that is not known.
    """
    if not isinstance(text, str | bytes | bytearray):
        raise SnapshotError(f"the snapshot must be text, not {shown(text)}")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"the snapshot is damaged: {error}") from None
    version = body.get("version") if isinstance(body, dict) else None
    if version not in _READ:
        raise SnapshotError(f"the snapshot has version {version!r}; this release reads {VERSION}")
    known = {kind.__name__: kind for kind in (*RECORDS, *types)}
    try:
        return Saved(
            body["keep"],
            {
                _known(known, name): _read(known[name], body["slices"][name])
                for name in body["slices"]
            },
            _old_calls(body["slices"].get(ToolInvoked.__name__, {}).get("old")),
            [_unpack(state, known) for state in body["runs"]],
            body["current"],
        )
    except SnapshotError:
        raise
    except Exception as error:
        raise SnapshotError(f"the snapshot is damaged: {type(error).__name__}: {error}") from error


def _read(kind: Any, raw: Mapping[str, Any]) -> tuple[list[Any], int]:
    make = _maker(kind)
    return [make(item) for item in raw["items"]], int(raw["dropped"])


def _old_calls(raw: Mapping[str, Any] | None) -> OldCalls | None:
    if raw is None:
        return None
    hints = get_type_hints(ToolInvoked)
    makers = [_maker(hints[name]) for name in HEAD]
    heads = [
        tuple([make(value) for make, value in zip(makers, head, strict=True)])
        for head in raw["heads"]
    ]
    rows = [(number, _facts(facts)) for number, facts in raw["rows"]]
    if len(set(heads)) < len(heads) or any(not 0 <= number < len(heads) for number, _ in rows):
        raise ValueError("an old call has no head of its own")
    return OldCalls(heads, rows)


def _facts(facts: list[Any]) -> tuple[Any, ...]:
    if len(facts) != len(FACTS):
        raise ValueError("an old call has other facts than these: " + ", ".join(FACTS))
    *plain, result, params, large = facts
    result, large = (
        None if one is None else (one[0], bytes.fromhex(one[1])) for one in (result, large)
    )
    return (*plain, result, params, large)


def _known(known: dict[str, type[Any]], name: str) -> type[Any]:
    if name not in known:
        kind = _installed(name)
        if kind is None:
            raise SnapshotError(
                f"the snapshot holds records of type {name!r}; pass it: "
                f"restore(text, types=({name},))"
            )
        known[name] = kind
    return known[name]


def _installed(name: str) -> type[Any] | None:
    """Return the record type that an installed plugin offers in the group ``trimtab.events``."""
    from trimtab._plugins.discovery import discover
    from trimtab._plugins.loading import load as load_entry

    for entry in discover().of("events"):
        if entry.attr == name:
            try:
                kind = load_entry(entry)
            except ProviderError as error:
                raise SnapshotError(f"records of type {name!r} can't be read: {error}") from error
            return kind if isinstance(kind, type) else None
    return None


@cache
def _maker(kind: Any) -> Callable[[Any], Any]:
    """Return the function that makes a value of a field's type from JSON."""
    arguments = get_args(kind)
    if get_origin(kind) is tuple:
        item = _maker(arguments[0])
        return lambda values: tuple([item(value) for value in values])
    if type(None) in arguments:
        rest = [argument for argument in arguments if argument is not type(None)]
        inner = _maker(rest[0]) if len(rest) == 1 else decode
        return lambda value: None if value is None else inner(value)
    if kind is datetime:
        return datetime.fromisoformat
    if kind is float:
        return lambda value: float(value) if value in _NOT_FINITE else value
    return _class_maker(kind) if isinstance(kind, type) else decode


def _class_maker(kind: Any) -> Callable[[Any], Any]:
    if issubclass(kind, Enum):
        return kind  # type: ignore[no-any-return]
    return _record_maker(kind) if attrs.has(kind) else decode


def _record_maker(kind: Any) -> Callable[[Any], Any]:
    hints = get_type_hints(kind)
    makers = {
        field.name: (field.alias, _maker(hints.get(field.name, Any)))
        for field in attrs.fields(kind)
        if field.init
    }

    def make(raw: Mapping[str, Any]) -> Any:
        values = {}
        for name, value in raw.items():
            alias, maker = makers[name]
            values[alias] = maker(value)
        return kind(**values)

    return make


def _pack(value: Any) -> Any:
    """Mark the events inside a run's state with their type."""
    if isinstance(value, dict):
        return {escaped(as_text(key)): _pack(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(item) for item in value]
    if attrs.has(type(value)):
        return {_EVENT: type(value).__name__, "fields": _fields_of(value)}
    return encode(value)


def _unpack(value: Any, known: dict[str, type[Any]]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, known) for item in value]
    if not isinstance(value, dict):
        return value
    if _EVENT in value:
        kind: Any = _known(known, value[_EVENT])
        return _maker(kind)(value["fields"])
    return {unescaped(key): _unpack(item, known) for key, item in value.items()}
