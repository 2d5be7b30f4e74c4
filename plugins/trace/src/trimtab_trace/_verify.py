"""Checking a trace: gaps, checksums, order, and events of one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from trimtab import Plan, ToolInvoked
from trimtab.events import ToolStarted
from trimtab.text import plural
from trimtab_trace._envelope import Damage, References, TraceError, TraceEvent
from trimtab_trace._jsonl import torn_bytes
from trimtab_trace._store import Trace, is_database
from trimtab_trace._types import EVENT_TYPES, EventTypes

_MOST_CALLS = 10_000


@attrs.define
class StepTies:
    """Follows the plan of each run, and adds its steps to the references of calls."""

    _plans: dict[str, Plan] = attrs.field(factory=dict)
    _calls: dict[tuple[str, str], tuple[str, str]] = attrs.field(factory=dict)

    def tied(self, record: Any, payload: dict[str, Any], references: References) -> References:
        """Return the references of `record`, with its step if it is a call of one.

        Args:
            record: what is written; plans are remembered.
            payload: of the event; a call gains ``expected``, the outcome that its step expects.
            references: as read from the record.
        """
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
