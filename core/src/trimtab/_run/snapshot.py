"""Sessions as JSON text: saved whole, restored whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Any

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
    ResultDigest,
    RunClosed,
    RunOpened,
    ToolInvoked,
    ToolStarted,
    UserMessage,
)
from trimtab._types.errors import SnapshotError
from trimtab._types.plan import Plan
from trimtab._types.text import as_text

_DIGEST = "$digest"
_MARK = "$"
_DEEPEST = 64
_MOST_BITS = 10_000  # Python reads no number of more than 4,300 digits back


def encode(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """Return what JSON can hold of `value`.

    Keys become text, sets become lists, records become mappings; what has no counterpart in
    JSON, is nested deeper than 64, or contains itself becomes its text.

    Args:
        inside: identities of the containers around it.
    """
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int) and value.bit_length() < _MOST_BITS:
        return value
    if isinstance(value, ResultDigest):
        return {_DIGEST: [value.length, value.digest]}
    if isinstance(value, Enum):
        return encode(value.value, inside)
    if len(inside) >= _DEEPEST or id(value) in inside:
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


VERSION = 1
_EVENT = "$event"
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
    """A snapshot, read back."""

    keep: int | None
    slices: Mapping[type[Any], list[Any]]
    states: list[dict[str, Any]]
    current: Mapping[str, str]


@cache
def _converter() -> Any:
    from cattrs.preconf.json import make_converter

    # One error is enough, and there is less code to make for what is read once.
    converter = make_converter(detailed_validation=False)
    converter.register_unstructure_hook_func(lambda kind: kind is Any, encode)
    converter.register_structure_hook_func(lambda kind: kind is Any, lambda v, _: decode(v))
    return converter


def dump(
    keep: int | None,
    slices: Mapping[type[Any], Any],
    states: Mapping[str, Any],
    current: Mapping[str, str],
) -> str:
    """Return the JSON text of a session.

    Raises:
        SnapshotError: two types of records share a name.
    """
    body = {
        "version": VERSION,
        "keep": keep,
        "slices": _dumped(slices),
        "runs": [_pack(state.state()) for state in states.values()],
        "current": dict(current),
    }
    return json.dumps(body, default=as_text)


def _dumped(slices: Mapping[type[Any], Any]) -> dict[str, list[Any]]:
    converter, dumped = _converter(), {}
    for kind, records in slices.items():
        name = kind.__name__
        if name in dumped:
            raise SnapshotError(f"two types of records are called {name!r}; rename one")
        if len(records):
            dumped[name] = [converter.unstructure(item) for item in records.all()]
    return dumped


def load(text: str, types: Iterable[type[Any]] = ()) -> Saved:
    """Read a snapshot back.

    Raises:
        SnapshotError: it is damaged, of another version, or holds a type that is not known.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"the snapshot is damaged: {error}") from None
    version = body.get("version") if isinstance(body, dict) else None
    if version != VERSION:
        raise SnapshotError(f"the snapshot has version {version!r}; this release reads {VERSION}")
    known = {kind.__name__: kind for kind in (*RECORDS, *types)}
    try:
        return Saved(
            body["keep"],
            {
                _known(known, name): _items(known[name], body["slices"][name])
                for name in body["slices"]
            },
            [_unpack(state, known) for state in body["runs"]],
            body["current"],
        )
    except SnapshotError:
        raise
    except Exception as error:
        raise SnapshotError(f"the snapshot is damaged: {type(error).__name__}: {error}") from error


def _known(known: Mapping[str, type[Any]], name: str) -> type[Any]:
    if name not in known:
        raise SnapshotError(
            f"the snapshot holds records of type {name!r}; pass it: restore(text, types=({name},))"
        )
    return known[name]


def _items(kind: type[Any], raw: list[Any]) -> list[Any]:
    return [_converter().structure(item, kind) for item in raw]


def _pack(value: Any) -> Any:
    """Mark the events inside a run's state with their type."""
    if isinstance(value, dict):
        return {escaped(as_text(key)): _pack(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(item) for item in value]
    if attrs.has(type(value)):
        return {_EVENT: type(value).__name__, "fields": _converter().unstructure(value)}
    return encode(value)


def _unpack(value: Any, known: Mapping[str, type[Any]]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, known) for item in value]
    if not isinstance(value, dict):
        return value
    if _EVENT in value:
        return _items(_known(known, value[_EVENT]), [value["fields"]])[0]
    return {unescaped(key): _unpack(item, known) for key, item in value.items()}
