"""Writing a trace: records become events, events get their identifiers and their order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from threading import Lock
from typing import Any

import attrs

from trimtab import SYSTEM_CLOCK, Clock, Event
from trimtab.events import encode_value
from trimtab_trace._envelope import (
    NO_REFERENCES,
    EventInvalid,
    References,
    TraceEvent,
    UnknownEvent,
    Versions,
    new_event_id,
)
from trimtab_trace._secrets import Redactor
from trimtab_trace._store import TraceStore
from trimtab_trace._types import EVENT_TYPES, EventTypes, payload_of, references_of
from trimtab_trace._verify import StepTies

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
