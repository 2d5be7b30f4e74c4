"""Sessions read back from JSON text, and the types of records that snapshots and traces name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set as AbstractSet
from sys import float_info, maxsize
from types import GenericAlias, ModuleType
from typing import Any, get_type_hints

import attrs

from trimtab import _events as events
from trimtab._events import Event, Question, ToolInvoked, guidance
from trimtab._events.guidance import ProviderEvent
from trimtab._run.saving import VERSION, SavedRun
from trimtab._session import FACTS, HEAD, OldCalls
from trimtab._session.codec import read_digest, record_converter, structure_problems
from trimtab._types.errors import ProviderError, SnapshotError
from trimtab._types.plan import Plan
from trimtab._types.text import sanitize, shown

_BASES = (Event, ProviderEvent, Question)


def _defined_in(module: ModuleType) -> list[type[Any]]:
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type)]
    ours = [kind for kind in kinds if issubclass(kind, Event) and kind not in _BASES]
    return [kind for kind in ours if kind.__module__ == module.__name__]


RECORD_TYPES: tuple[type[Any], ...] = (
    *(kind for module in (events, guidance) for kind in _defined_in(module)),
    Plan,
)
"""All event classes of core, and plans. Only recorders see what hosts ask."""


def installed_record_type(name: str) -> type[Any] | None:
    """Return the record type that an installed package offers, None if none does.

    Packages offer their types as entry points of the group ``trimtab.events``.

    Args:
        name: of the class.

    Raises:
        ProviderError: the package offers it and can't be imported, or may not be loaded.
    """
    from trimtab._plugins.discovery import discover
    from trimtab._plugins.loading import load

    for entry in discover().of("events"):
        if entry.attr == name:
            kind = load(entry)
            return kind if isinstance(kind, type) else None
    return None


_FIELDS = frozenset({"version", "keep", "slices", "runs", "current"})
_NUMBER: frozenset[type[Any]] = frozenset({int, float, type(None)})
_WHOLE: frozenset[type[Any]] = frozenset({int, type(None)})
_LIST: frozenset[type[Any]] = frozenset({list, type(None)})
_FACT_TYPES: dict[str, frozenset[type[Any]]] = {
    "call_id": frozenset({str}),
    "turn": _WHOLE,
    "elapsed": _NUMBER,
    "duration": _NUMBER,
    "at": _NUMBER,
    "started": _NUMBER,
    "error": frozenset({str, type(None)}),
    "result": _LIST,
    "params_digest": _LIST,
}
# What a datetime can hold, in seconds since 1970.
_YEAR_1, _YEAR_10000 = -62_135_596_800, 253_402_300_800


@attrs.frozen
class Saved:
    keep: int | None
    slices: Mapping[type[Any], tuple[list[Any], int]]
    old: OldCalls | None
    runs: tuple[SavedRun, ...]
    current: Mapping[str, str]


def load(text: str, types: Iterable[type[Any]] = ()) -> Saved:
    """Read a snapshot back."""
    if not isinstance(text, str | bytes | bytearray):
        raise SnapshotError(f"the snapshot must be text, not {shown(text)}")
    if not text.strip():
        raise damaged("it is empty")
    try:
        body = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise damaged(f"it is no JSON: {error}") from None
    version = body.get("version") if isinstance(body, dict) else None
    if type(version) is not int:
        raise damaged(f"it says no version: {shown(body)}")
    if version != VERSION:
        raise SnapshotError(
            f"the snapshot has version {version}, and this release of trimtab reads {VERSION}: "
            "install the release that wrote it, or begin anew with Session()"
        )
    _check_fields(body, _FIELDS)
    known = {kind.__name__: kind for kind in (*RECORD_TYPES, *types)}
    slices = _slices(body["slices"])
    old = slices.get(ToolInvoked.__name__, {}).pop("old", None)
    saved = Saved(
        _keep(body["keep"]),
        {_known(known, name): _records(known[name], raw) for name, raw in slices.items()},
        None if old is None else _old_calls(old),
        structured(body["runs"], tuple[SavedRun, ...], "runs"),
        structured(body["current"], dict[str, str], "current"),
    )
    _check_runs(saved)
    return saved


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def damaged(problem: str) -> SnapshotError:
    return SnapshotError(
        f"the snapshot is damaged: {problem}. Pass all that Session.snapshot() returned, or begin "
        "anew with Session()"
    )


def structured(value: Any, kind: Any, place: str) -> Any:
    """Return a value of the snapshot as one of the type that it must have.

    Raises:
        SnapshotError: it does not fit; names the place in the snapshot.
    """
    try:
        return record_converter(strict=True, short=True).structure(value, kind)
    except Exception as error:
        found = list(structure_problems(error, place))
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise damaged(f"{found[0]}{more}") from error


def _check_fields(raw: Any, names: AbstractSet[str], place: str = "") -> None:
    if type(raw) is not dict:
        raise damaged(f"{place}: expected {', '.join(sorted(names))}, not {shown(raw)}")
    inside = f"{place}." if place else ""
    for name in sorted(names - raw.keys()):
        raise damaged(f"{inside}{name}: is missing")
    for name in sorted(raw.keys() - names):
        raise damaged(f"{inside}{sanitize(name)}: unknown field")


def _slices(raw: Any) -> dict[str, dict[str, Any]]:
    if type(raw) is not dict:
        raise damaged(f"slices: expected records by type, not {shown(raw)}")
    for name, records in raw.items():
        if type(records) is not dict or not name.isidentifier():
            raise damaged(f"slices.{sanitize(name)}: expected records of a type")
    return raw


def _keep(raw: Any) -> int | None:
    keep: int | None = structured(raw, int | None, "keep")
    if keep is not None and not 1 <= keep <= maxsize:
        raise damaged(f"keep: {shown(keep)} is not 1 or more")
    return keep


def _records(kind: type[Any], raw: dict[str, Any]) -> tuple[list[Any], int]:
    place = f"slices.{kind.__name__}"
    _check_fields(raw, {"items", "dropped"}, place)
    dropped = structured(raw["dropped"], int, f"{place}.dropped")
    if dropped < 0:
        raise damaged(f"{place}.dropped: {dropped} is less than 0")
    return structured(raw["items"], list[kind], f"{place}.items"), dropped  # type: ignore[valid-type]


def _old_calls(raw: Any) -> OldCalls:
    place = "slices.ToolInvoked.old"
    _check_fields(raw, {"head", "facts", "heads", "rows"}, place)
    for name, expected in (("head", HEAD), ("facts", FACTS)):
        if raw[name] != list(expected):
            raise damaged(f"{place}.{name}: this release expects {', '.join(expected)}")
    hints = get_type_hints(ToolInvoked)
    head = GenericAlias(tuple, tuple(hints[name] for name in HEAD))
    heads = structured(raw["heads"], GenericAlias(list, (head,)), f"{place}.heads")
    if len(set(heads)) < len(heads):
        raise damaged(f"{place}.heads: two are equal")
    if type(raw["rows"]) is not list:
        raise damaged(f"{place}.rows: not a list: {shown(raw['rows'])}")
    rows, fit = [], set[tuple[type, ...]]()
    for index, row in enumerate(raw["rows"]):
        try:
            rows.append(_row(row, len(heads), fit))
        except (TypeError, ValueError) as error:
            raise damaged(f"{place}.rows[{index}]: {error}") from None
    return OldCalls(heads, rows)


def _row(row: Any, heads: int, fit: set[tuple[type, ...]]) -> tuple[int, tuple[Any, ...]]:
    """Return an old call; read by hand, as there may be 100,000 of them."""
    number, facts = row
    if type(number) is not int or not 0 <= number < heads:
        raise ValueError(f"there is no head {shown(number)}")
    kinds = tuple(map(type, facts))
    if kinds not in fit:
        _check_types(facts)
        fit.add(kinds)
    call_id, turn, elapsed, duration, at, started, error, result, params, large = facts
    for seconds in (at, started):
        if seconds is not None and not _YEAR_1 <= seconds < _YEAR_10000:
            raise ValueError(f"there is no time {shown(seconds)} seconds after 1970")
    result, large = (raw if raw is None else read_digest(raw) for raw in (result, large))
    return number, (
        call_id, turn, elapsed, duration, at, started, error, result, params, large
    )  # fmt: skip


def _check_types(facts: Any) -> None:
    if type(facts) is not list or len(facts) != len(FACTS):
        raise ValueError(f"expected {', '.join(FACTS)}")
    for name, value in zip(FACTS, facts, strict=True):
        if name != "params" and type(value) not in _FACT_TYPES[name]:
            raise TypeError(f"{name} can't be {shown(value)}")


def _known(known: dict[str, type[Any]], name: str) -> type[Any]:
    if name not in known:
        try:
            kind = installed_record_type(name)
        except ProviderError as error:
            raise SnapshotError(f"records of type {name!r} can't be read: {error}") from error
        if kind is None:
            raise SnapshotError(
                f"the snapshot holds records of type {name!r}; pass it: "
                f"restore(text, types=({name},))"
            )
        known[name] = kind
    return known[name]


def _check_runs(saved: Saved) -> None:
    """Check what is not a matter of types: which run refers to which."""
    seen: set[str] = set()
    for index, run in enumerate(saved.runs):
        place = f"runs[{index}]"
        if run.run_id in seen:
            raise damaged(f"{place}.run_id: {shown(run.run_id)} is there twice")
        if run.origin is not None and run.origin.run_id not in seen:
            raise damaged(f"{place}.origin: no run {shown(run.origin.run_id)} before it")
        if not 0 <= run.active_seconds <= float_info.max:
            raise damaged(f"{place}.active_seconds: {shown(run.active_seconds)}")
        if run.open_turn is not None and not 0 <= run.open_turn < run.turns:
            raise damaged(f"{place}.open_turn: {run.open_turn} of {run.turns} turns")
        seen.add(run.run_id)
    for name, run_id in saved.current.items():
        if run_id not in seen:
            raise damaged(f"current[{name!r}]: there is no run {shown(run_id)}")
