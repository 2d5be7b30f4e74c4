"""Writing a trace: records become events in their order, told on a bus, checked afterwards."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import attrs

from trimtab import SYSTEM_CLOCK, Clock, Event, Plan, ToolInvoked
from trimtab.events import ToolStarted, encode_value
from trimtab.text import plural
from trimtab_trace._envelope import (
    NO_REFERENCES,
    Damage,
    EventInvalid,
    References,
    TraceError,
    TraceEvent,
    UnknownEvent,
    Versions,
    new_event_id,
)
from trimtab_trace._secrets import Redactor
from trimtab_trace._store import Trace, TraceStore, is_database, torn_bytes
from trimtab_trace._types import EVENT_TYPES, EventTypes, payload_of, references_of

_MOST_CALLS = 10_000


@attrs.define
class StepTies:
    """Follows the plan of each run, and adds its steps to the references of calls."""

    _plans: dict[str, Plan] = attrs.field(factory=dict)
    _calls: dict[tuple[str, str], tuple[str, str]] = attrs.field(factory=dict)

    def tied(self, record: Any, payload: dict[str, Any], references: References) -> References:
        """Return the references of `record`, with its step if it is a call of one."""
        kind = type(record)
        if kind is ToolStarted:
            return self._started(record, payload, references)
        if kind is ToolInvoked:
            step = self._calls.pop((record.run_id, record.call_id), None)
            return references if step is None else _with(references, step)
        plan = record if kind is Plan else getattr(record, "plan", None)
        if isinstance(plan, Plan):
            self._plans[plan.run_id or getattr(record, "run_id", "")] = plan
        return references

    def _started(
        self, record: ToolStarted, payload: dict[str, Any], references: References
    ) -> References:
        plan = self._plans.get(record.run_id) or self._plans.get("")
        if plan is None or plan.status != "active":
            return references
        found = plan.step_for(record.tool)
        if found is None:
            return references
        if found.expected:
            payload["expected"] = found.expected
        step = (plan.plan_id, found.step_id)
        if len(self._calls) < _MOST_CALLS:
            self._calls[record.run_id, record.call_id] = step
        return _with(references, step)


def _with(references: References, step: tuple[str, str]) -> References:
    plan_id, step_id = step
    return attrs.evolve(references, plan_id=plan_id or None, step_id=step_id or None)


_MOST_LINES = 20


@attrs.define
class Report:
    """What a check found.

    Attributes:
        path: the file.
        events: intact events.
        writers: how often the trace was opened for writing, as far as its events show.
        types: intact events by type.
        unknown: events by type that no installed package offers.
        open_runs: runs that have not ended.
        damages: what is damaged or missing.
        torn: bytes of a last line that was cut short; its write was never acknowledged.
    """

    path: Path
    events: int = 0
    writers: int = 0
    types: Counter[str] = attrs.field(factory=Counter)
    unknown: Counter[str] = attrs.field(factory=Counter)
    open_runs: dict[str, None] = attrs.field(factory=dict)
    damages: list[Damage] = attrs.field(factory=list)
    torn: int = 0

    @property
    def intact(self) -> bool:
        """Whether every event is there and whole."""
        return not self.damages and not self.torn

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of text: of many of a kind the first 20, and how many more."""
        events, writers = plural(self.events, "event"), plural(self.writers, "writer")
        yield f"{self.path}: {events} intact, {writers}"
        if self.unknown:
            names = ", ".join(sorted(self.unknown))
            events = plural(self.unknown.total(), "event")
            yield f"{events} of types that are not installed: {names}"
        yield from _first([f"run {run_id} has not ended" for run_id in self.open_runs], "run")
        yield from _first([f"damaged: {damage}" for damage in self.damages], "damaged place")
        if self.torn:
            yield (
                f"damaged: the last line was cut short ({plural(self.torn, 'byte')}); the next "
                "writer removes it"
            )


def _first(lines: list[str], what: str) -> Iterator[str]:
    yield from lines[:_MOST_LINES]
    more = len(lines) - _MOST_LINES
    if more > 0:
        yield f"and {more:,} more {what}{'s' * (more > 1)}"


def verify(trace: Trace, types: EventTypes = EVENT_TYPES) -> Report:
    """Read a trace from end to end and report what is damaged.

    Args:
        trace: the trace.
        types: the known types of events.

    Raises:
        TraceError: the file can't be read, or is not a trace.
    """
    report = Report(trace.path)
    for item in trace.scan():
        if isinstance(item, Damage):
            report.damages.append(item)
        else:
            _count(report, item, types)
    if not is_database(trace.path):
        report.torn = torn_bytes(trace.path)
    return report


def _count(report: Report, event: TraceEvent, types: EventTypes) -> None:
    report.events += 1
    report.writers = max(report.writers, event.epoch + 1)
    report.types[event.event_type] += 1
    if event.event_type == "RunOpened":
        report.open_runs[event.run_id] = None
    elif event.event_type == "RunTerminated":
        report.open_runs.pop(event.run_id, None)
    if types.named(event.event_type) is None:
        report.unknown[event.event_type] += 1
        return
    try:
        types.load(event)
    except TraceError as error:
        report.damages.append(Damage(f"event {event.seq}", str(error), event.seq))


_REMEMBERED = 1024


class TraceWriter:
    """Appends records of a session, and events of your own, to one trace.

    Args:
        store: where they go.
        clock: tells the time of records that bear none.
        types: the registry of types.
        redact: replaces what must not be written; called with each payload.

    Attributes:
        versions: of prompts, by name; the events of their runs refer to them.
    """

    def __init__(
        self,
        store: TraceStore,
        *,
        clock: Clock = SYSTEM_CLOCK,
        types: EventTypes = EVENT_TYPES,
        redact: Redactor | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self._types = types
        self._redact = redact
        self._lock = Lock()
        self._ties = StepTies()
        self.versions: dict[str, Versions] = {}
        self._written: OrderedDict[str, TraceEvent] = OrderedDict()

    def record(self, record: Any, *, references: References | None = None) -> TraceEvent:
        """Append one record, such as a session dispatches; return the event.

        Args:
            record: an event of a session, or any other record.
            references: what it refers to; read from the record's attributes where None.

        Raises:
            EventInvalid: it can't be encoded.
            TraceWriteError: it was not written.
        """
        kind = type(record)
        if kind is UnknownEvent or kind is TraceEvent:
            return self.append(record.event if kind is UnknownEvent else record)
        one = self._types.of(kind)
        try:
            payload = payload_of(one, record)
            found = references or self._ties.tied(record, payload, references_of(record))
        except Exception as error:
            raise EventInvalid(
                f"a {one.name} record can't be encoded: {type(error).__name__}: {error}"
            ) from error
        known = self.versions.get(found.namespace or "")
        if known is not None:
            found = known.added(found, record)
        at, run_id, agent = None, "", None
        if isinstance(record, Event):
            at, run_id, agent = record.at, record.run_id, record.agent_id
        with self._lock:
            event = TraceEvent(
                event_type=one.name,
                payload=payload,
                event_id=new_event_id(),
                run_id=run_id,
                timestamp=at or self.clock.now(),
                actor=agent or "main",
                references=found,
                seq=self.store.next_seq,
                epoch=self.store.epoch,
            )
            return self._store(event, durable=False)

    def write(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        *,
        run_id: str = "",
        actor: str = "main",
        references: References = NO_REFERENCES,
        timestamp: datetime | None = None,
        event_id: str | None = None,
        durable: bool = False,
    ) -> TraceEvent:
        """Append an event of your own; return it.

        Args:
            event_type: the name of its type.
            payload: its fields; values that JSON lacks are marked or become text.
            run_id: the run that it belongs to; empty for none.
            actor: who caused it, e.g. the name of a subagent.
            references: ids of the events that it refers to.
            timestamp: when it happened, aware UTC; now if None.
            event_id: give it to retry a write that failed: the event is written at most once.
            durable: sync to the disk before returning.

        Raises:
            EventInvalid: it can't be encoded.
            TraceWriteError: it was not written.
        """
        event = TraceEvent(
            event_type=event_type,
            payload=encode_value(payload),
            event_id=event_id or new_event_id(),
            run_id=run_id,
            timestamp=timestamp or self.clock.now(),
            actor=actor,
            references=references,
        )
        if event_id is not None:
            return self.append(event, durable=durable)
        with self._lock:
            return self._store(event, durable=durable)

    def append(self, event: TraceEvent, *, durable: bool = False) -> TraceEvent:
        """Append an event as it is; return it.

        If one of the last 1,024 events has the same `event_id`, or one that was in the trace when
        it was opened, that one is returned.

        Args:
            event: the event.
            durable: sync to the disk before returning.
        """
        with self._lock:
            known = self._written.get(event.event_id) or self.store.find(event.event_id)
            if known is None:
                known = self._store(event, durable=durable)
                self._written[event.event_id] = known
                if len(self._written) > _REMEMBERED:
                    self._written.popitem(last=False)
        return known

    def correct(
        self, event: TraceEvent, payload: Mapping[str, Any], *, reason: str = ""
    ) -> TraceEvent:
        """Append a correction of an earlier event, which stays as it is.

        Args:
            event: the event that was wrong.
            payload: what it should have held.
            reason: why.
        """
        return self.write(
            "EventCorrected",
            {"event_type": event.event_type, "payload": payload, "reason": reason},
            run_id=event.run_id,
            actor=event.actor,
            references=References(corrects=event.event_id, namespace=event.references.namespace),
        )

    def _store(self, event: TraceEvent, *, durable: bool) -> TraceEvent:
        if self._redact is not None:
            event = attrs.evolve(event, payload=dict(self._redact(event.payload)))
        return self.store.append(event, durable=durable)

    def close(self) -> None:
        """Close the store; closing twice is harmless."""
        self.store.close()


T = TypeVar("T")
_log = logging.getLogger("trimtab.trace")


class InProcessEventBus:
    """Hands published events to subscribers, in the order of their subscription.

    A subscriber that raises is logged; the others are called all the same.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._subscribers: tuple[tuple[type[Any], Callable[[Any], object]], ...] = ()

    def subscribe(self, kind: type[T], handler: Callable[[T], object]) -> Callable[[], None]:
        """Call `handler` with every published event that is a `kind`.

        Returns:
            a function that ends the subscription.
        """
        entry = (kind, handler)
        with self._lock:
            self._subscribers = (*self._subscribers, entry)
        return lambda: self._end(entry)

    def _end(self, entry: tuple[type[Any], Callable[[Any], object]]) -> None:
        with self._lock:
            self._subscribers = tuple(one for one in self._subscribers if one is not entry)

    def publish(self, event: object) -> None:
        """Call the subscribers of the event's type, one after the other, in this thread."""
        for kind, handler in self._subscribers:
            if isinstance(event, kind):
                try:
                    handler(event)
                except Exception:  # noqa: BLE001 - others are called all the same
                    _log.exception("a subscriber to %s raised", kind.__name__)
