"""Sessions read back from JSON text."""

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
from trimtab._run.saving import EVENT, VERSION
from trimtab._run.values import decode, unescaped
from trimtab._session.retention import FACTS, HEAD, OldCalls
from trimtab._types.errors import ProviderError, SnapshotError
from trimtab._types.plan import Plan
from trimtab._types.text import shown

_READ = (2, VERSION)
"""Version 2 held old calls like all others."""

_NOT_FINITE = frozenset({"nan", "inf", "-inf"})
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


def load(text: str, types: Iterable[type[Any]] = ()) -> Saved:
    """Read a snapshot back.

    Args:
        text: what `saving.dump` returned.
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
    return (*plain, _digest(result), params, _digest(large))


def _digest(raw: list[Any] | None) -> tuple[int, str] | None:
    if raw is None:
        return None
    length, digest = raw
    bytes.fromhex(digest)  # raises where it is none
    return length, digest


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


def _unpack(value: Any, known: dict[str, type[Any]]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, known) for item in value]
    if not isinstance(value, dict):
        return value
    if EVENT in value:
        kind: Any = _known(known, value[EVENT])
        return _maker(kind)(value["fields"])
    return {unescaped(key): _unpack(item, known) for key, item in value.items()}
