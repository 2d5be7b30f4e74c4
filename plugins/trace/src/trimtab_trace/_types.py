"""Types of events by name: how a record of a session becomes an event of a trace, and back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any

import attrs

from trimtab import Outcome, ProviderError
from trimtab.events import (
    RECORD_TYPES,
    Event,
    Feedback,
    Plan,
    RunClosed,
    ToolInvoked,
    ToolStarted,
    encode_value,
    installed_record_type,
    record_converter,
    structure_problems,
)
from trimtab_trace._envelope import References, TraceError, TraceEvent, UnknownEvent
from trimtab_trace._journal import (
    GuidanceStopped,
    JournalFull,
    JournalOpened,
    ResponseMeasured,
)
from trimtab_trace._settings import RunConfigured

_log = logging.getLogger("trimtab.trace")
_IN_ENVELOPE = ("prompt_name", "run_id", "at")
_REFERENCES = tuple(field.name for field in attrs.fields(References) if field.name != "corrects")


@attrs.frozen(slots=False)
class EventType:
    """One type of events.

    Args:
        name: the event type in the trace.
        kind: the class of its records.
        names: payload names that differ from the fields' own, by field.
        added: payload entries that are computed from a record, for readers of the trace.
    """

    name: str
    kind: type[Any]
    names: Mapping[str, str] = attrs.field(factory=dict)
    added: Callable[[Any], Mapping[str, Any]] | None = None

    # Made when they are first asked for: most types never are.

    @cached_property
    def unstructure(self) -> Callable[[Any], dict[str, Any]]:
        """Makes the payload of a record."""
        return _unstructure_of(self.kind, self.names)

    @cached_property
    def structure(self) -> Callable[..., Any]:
        """Makes a record of its fields and its class."""
        return _structure_of(self.kind, self.names)


class EventTypes:
    """The registry of types.

    Args:
        types: to begin with.
        discover: also look for types that installed packages offer (entry points of the group
            ``trimtab.events``), when one is met that is not registered.
    """

    def __init__(self, types: tuple[EventType, ...] = (), *, discover: bool = True) -> None:
        self._by_name: dict[str, EventType] = {}
        self._by_kind: dict[type[Any], EventType] = {}
        self._discover = discover
        for one in types:
            self.add(one)

    def register(self, name: str, kind: type[Any]) -> None:
        """Write records of `kind` to traces under `name`.

        Raises:
            TraceError: the name belongs to another class.
        """
        self.add(EventType(name, kind))

    def add(self, one: EventType) -> None:
        """Register a type with names of its own for the payload; see `register`."""
        known = self._by_name.get(one.name)
        if known is not None and known.kind is not one.kind:
            raise TraceError(
                f"event type {one.name!r} is {known.kind.__qualname__} of"
                f" {known.kind.__module__}; register {one.kind.__qualname__} by another name"
            )
        self._by_name[one.name] = one
        self._by_kind[one.kind] = one

    def of(self, kind: type[Any]) -> EventType:
        """Return the type of a record's class; the class's own name unless registered.

        Args:
            kind: the class.
        """
        found = self._by_kind.get(kind)
        if found is None:
            name = kind.__name__
            if name in self._by_name:
                name = f"{kind.__module__}.{kind.__qualname__}"
            found = self._by_kind[kind] = EventType(name, kind)
        return found

    def named(self, name: str) -> EventType | None:
        """Return the registered or installed type of that name, None if there is none."""
        found = self._by_name.get(name)
        if found is None and self._discover:
            kind = _installed(name)
            if kind is not None:
                found = self._by_name[name] = EventType(name, kind)
                self._by_kind[kind] = found
        return found

    def load(self, event: TraceEvent) -> Any:
        """Return the record that `event` holds, or an `UnknownEvent`.

        Raises:
            TraceError: its payload does not fit its type.
        """
        found = self.named(event.event_type)
        if found is None:
            return UnknownEvent(event)
        try:
            return _structured(found, event)
        except Exception as error:
            problem = next(structure_problems(error))
            raise TraceError(
                f"event {event.seq} does not fit its type {event.event_type}: {problem}"
            ) from error


def payload_of(one: EventType, record: Any) -> dict[str, Any]:
    payload: dict[str, Any] = one.unstructure(record)
    if one.added is not None:
        payload.update(one.added(record))
    return payload


def _unstructure_of(kind: type[Any], names: Mapping[str, str]) -> Callable[[Any], dict[str, Any]]:
    """Return a function that is made for one class: renames, and leaves out what is None."""
    if not attrs.has(kind):
        plain = not field_names(kind)
        return lambda record: {"value": encode_value(record)} if plain else encode_value(record)
    from cattrs.gen import make_dict_unstructure_fn, override

    overrides: dict[str, Any] = {}
    for field in attrs.fields(kind):
        hidden = issubclass(kind, Event) and field.name in _IN_ENVELOPE
        overrides[field.name] = override(
            omit=True if hidden else None,
            omit_if_default=field.default is None or None,
            rename=names.get(field.name),
        )
    return make_dict_unstructure_fn(kind, record_converter(), **overrides)


def field_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields of a record's class, of attrs or dataclasses; none for other classes."""
    if attrs.has(kind):
        return tuple(field.name for field in attrs.fields(kind))
    return tuple(getattr(kind, "__dataclass_fields__", ()))


def references_of(record: Any) -> References:
    """Return what a record refers to, by the names of its attributes."""
    kind: Any = type(record)
    names = _attributes(kind)
    found = (getattr(record, name, None) for name in names)
    values = tuple(value if isinstance(value, str) and value else None for value in found)
    prompt = record.prompt_name if isinstance(record, Event) else None
    return _built(names, values, prompt or None)


@lru_cache(maxsize=1024)
def _built(
    names: tuple[str, ...], values: tuple[str | None, ...], prompt: str | None
) -> References:
    found = dict(zip(names, values, strict=True))
    if prompt is not None:
        found["namespace"] = prompt
    return References(**found)


@cache
def _attributes(kind: Any) -> tuple[str, ...]:
    return tuple(name for name in _REFERENCES if hasattr(kind, name) or name in field_names(kind))


def _structured(one: EventType, event: TraceEvent) -> Any:
    fields = dict(event.payload)
    if issubclass(one.kind, Event):
        fields["prompt_name"] = event.references.namespace or ""
        fields["run_id"] = event.run_id
        fields["at"] = event.timestamp
    return one.structure(fields, one.kind)


def _structure_of(kind: type[Any], names: Mapping[str, str]) -> Callable[..., Any]:
    if not names:
        return record_converter().get_structure_hook(kind)
    from cattrs.gen import make_dict_structure_fn, override

    renames: dict[str, Any] = {name: override(rename=to) for name, to in names.items()}
    return make_dict_structure_fn(kind, record_converter(), **renames)


@cache
def _installed(name: str) -> type[Any] | None:
    try:
        return installed_record_type(name)
    except ProviderError as error:  # a broken package must not hide the trace
        _log.warning("event type %s can't be loaded: %s", name, error)
        return None


def _returned(record: ToolInvoked) -> Mapping[str, Any]:
    return {"success": record.outcome is Outcome.OK}


_TERMINATIONS = {
    "success": "success",
    "completed": "success",
    "manual_stop": "manual_stop",
    "interrupted": "manual_stop",
    "guardrail_violation": "guardrail_violation",
}


def _terminated(record: RunClosed) -> Mapping[str, Any]:
    return {"termination": _TERMINATIONS.get(record.reason.partition(":")[0].strip())}


_CALL = {"params": "input"}
_NAMED_ANEW = (
    EventType("RunTerminated", RunClosed, {}, _terminated),
    EventType("ToolInvoked", ToolStarted, _CALL),
    EventType(
        "ToolReturned",
        ToolInvoked,
        {**_CALL, "result": "output", "duration": "latency"},
        _returned,
    ),
    EventType("FeedbackDelivered", Feedback),
    EventType("PlanRecorded", Plan),
)
"""Those that the specification calls otherwise than core."""

_ABOUT_SESSIONS = (JournalOpened, JournalFull, ResponseMeasured, GuidanceStopped)
_OWN_NAMES = {one.kind: one for one in _NAMED_ANEW}
EVENT_TYPES = EventTypes(
    tuple(
        _OWN_NAMES.get(kind) or EventType(kind.__name__, kind)
        for kind in (*RECORD_TYPES, RunConfigured, *_ABOUT_SESSIONS)
    )
)
