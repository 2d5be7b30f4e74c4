"""Sessions as text: saved whole, read back whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import attrs

from trimtab.completion.types import CompletionChecked
from trimtab.errors import SnapshotError
from trimtab.feedback.types import Feedback
from trimtab.guidance.types import GuidanceDelivered, GuidanceSuppressed
from trimtab.plugins.events import (
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
    ProviderSlow,
)
from trimtab.session.events import (
    CompactionHappened,
    ModelResponded,
    ResultDigest,
    RunClosed,
    RunOpened,
    ToolInvoked,
    ToolStarted,
    UserMessage,
)

VERSION = 1
_DIGEST = "$digest"
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
    Feedback,
    CompletionChecked,
    ProviderSkipped,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSlow,
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

    converter = make_converter()
    converter.register_unstructure_hook(ResultDigest, lambda d: {_DIGEST: [d.length, d.digest]})
    return converter


def dump(
    keep: int | None,
    slices: Mapping[type[Any], Any],
    states: Mapping[str, Any],
    current: Mapping[str, str],
) -> str:
    """Return the JSON text of a session."""
    converter = _converter()
    body = {
        "version": VERSION,
        "keep": keep,
        "slices": {
            kind.__name__: [converter.unstructure(item) for item in records.all()]
            for kind, records in slices.items()
            if len(records)
        },
        "runs": [_pack(state.state()) for state in states.values()],
        "current": dict(current),
    }
    return json.dumps(body, default=_as_text, ensure_ascii=False)


def _as_text(value: object) -> str:
    return repr(value)


def load(text: str, types: Iterable[type[Any]] = ()) -> Saved:
    """Read a snapshot back.

    Raises:
        SnapshotError: it is damaged, of another version, or holds a type that is not known.
    """
    try:
        body = json.loads(text)
    except ValueError as error:
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
    return [_restore_result(_converter().structure(item, kind)) for item in raw]


def _restore_result(item: Any) -> Any:
    result = getattr(item, "result", None)
    if isinstance(item, ToolInvoked) and isinstance(result, dict) and set(result) == {_DIGEST}:
        return attrs.evolve(item, result=ResultDigest(*result[_DIGEST]))
    return item


def _pack(value: Any) -> Any:
    """Mark the events inside a run's state with their type."""
    if isinstance(value, dict):
        return {key: _pack(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(item) for item in value]
    if attrs.has(type(value)):
        return {_EVENT: type(value).__name__, "fields": _converter().unstructure(value)}
    return value


def _unpack(value: Any, known: Mapping[str, type[Any]]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, known) for item in value]
    if not isinstance(value, dict):
        return value
    if _EVENT in value:
        return _items(_known(known, value[_EVENT]), [value["fields"]])[0]
    return {key: _unpack(item, known) for key, item in value.items()}
