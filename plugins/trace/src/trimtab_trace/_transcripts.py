"""Reads traces like any transcript, for ``trimtab replay``, ``backtest`` and ``report``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import attrs

from trimtab import Event, Plan, ToolCall, ToolInvoked
from trimtab.events import (
    CallOrigin,
    CompactionHappened,
    CompletionAsked,
    ModelResponded,
    RunClosed,
    ToolStarted,
    UserMessage,
)
from trimtab_replay import RecordedItem, Recording, RunEnd, Said, StopRequest, Transcript
from trimtab_trace._codec import scan_stream
from trimtab_trace._envelope import Damage, TraceError, TraceEvent
from trimtab_trace._journal.sessions import nudges_of
from trimtab_trace._sqlite import scan_database, traces_in
from trimtab_trace._types import EVENT_TYPES

_SQLITE = b"SQLite format 3\0"
_KEYS = frozenset({"event_id", "event_type", "seq", "payload", "_crc"})
_READ = frozenset(
    {
        "CompactionHappened",
        "CompletionAsked",
        "ModelResponded",
        "PlanRecorded",
        "RunTerminated",
        "ToolInvoked",
        "ToolReturned",
        "UserMessage",
    }
)


class TraceTranscripts:
    """Reads traces, JSON lines or SQLite: one recording per run."""

    name: ClassVar[str] = "trace"

    def sniff(self, source: Transcript) -> float:
        """Look for the envelope in the first line, or for the table of events."""
        if source.head.startswith(_SQLITE):
            return float(_is_store(source.file))
        return float(any(row.keys() >= _KEYS for row in source.first_rows[:1]))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield the runs in the order in which they were opened."""
        names: list[str | None] = [None]
        if source.head.startswith(_SQLITE):
            names = [*traces_in(source.file)]
        for name in names:
            for run in _runs(source, name):
                yield Recording(
                    id=run.run_id,
                    path=source.path,
                    reader=self.name,
                    entries=_Items(run.run_id).read(_events(source, name)),
                    agent_id=None if run.actor == "main" else run.actor,
                    profile=str(run.host.get("name") or ""),
                    parallel_calls=run.host.get("parallel_calls"),
                    tools=None if run.host.get("tools") is None else frozenset(run.host["tools"]),
                    said=tuple(run.said),
                    meta={} if run.deadline is None else {"deadline_s": run.deadline},
                )


def _is_store(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.execute("select trace, seq, body from event limit 1").fetchone()
    except sqlite3.Error:
        return False
    return True


def _events(source: Transcript, name: str | None, *, report: bool = False) -> Iterator[TraceEvent]:
    found = scan_database(source.file, name) if name is not None else _streamed(source)
    for item in found:
        if isinstance(item, TraceEvent):
            yield item
        elif report:
            source.skip(str(item))


def _streamed(source: Transcript) -> Iterator[TraceEvent | Damage]:
    with source.open() as stream:
        yield from scan_stream(stream)


@attrs.define
class _Run:
    """What a trace says about a run before its events are read."""

    run_id: str
    actor: str
    host: dict[str, Any] = attrs.field(factory=dict)
    deadline: float | None = None
    said: list[Said] = attrs.field(factory=list)


def _runs(source: Transcript, name: str | None) -> list[_Run]:
    runs: dict[str, _Run] = {}
    for event in _events(source, name, report=True):
        if not event.run_id:
            continue
        run = runs.setdefault(event.run_id, _Run(event.run_id, event.actor))
        if event.event_type == "RunConfigured" and isinstance(event.payload.get("host"), dict):
            run.host = event.payload["host"]
        run.said += [
            Said(
                provider=one.provider,
                state=one.state,
                text=one.words,
                reason=one.reason,
                turn=one.turn,
                call=one.call,
                at=one.at,
            )
            for one in nudges_of(event)
        ]
        limit = event.payload.get("deadline")
        if run.deadline is None and isinstance(limit, list) and limit:
            run.deadline = float(limit[0])
    return list(runs.values())


@attrs.define
class _Items:
    """Turns the events of one run into what a replay reads."""

    run_id: str
    call: int = -1
    stopped: bool = False
    plan: tuple[Any, ...] | None = None
    _announced: set[str] = attrs.field(factory=set)
    _started: list[ToolStarted] = attrs.field(factory=list)

    def read(self, events: Iterator[TraceEvent]) -> Iterator[RecordedItem]:
        """Yield the items of the run, in order."""
        for event in events:
            if event.event_type not in _READ or event.run_id not in ("", self.run_id):
                continue
            try:
                record = EVENT_TYPES.load(event)
            except TraceError:
                continue  # `trimtab trace verify` names it
            for item in self._items(record):
                yield RecordedItem(item, self.call)

    def _items(self, record: Any) -> Iterator[Any]:
        if isinstance(record, Plan):
            self.plan = record.steps
        elif isinstance(record, ToolStarted):
            if record.caller is CallOrigin.MODEL and record.call_id not in self._announced:
                self._started.append(record)
        elif isinstance(record, Event):
            yield from self._announcement(record)
            yield from self._item(record)

    def _announcement(self, record: Event) -> Iterator[ModelResponded]:
        """Calls that no response asked for get a response of their own, turn by turn."""
        started, self._started = self._started, []
        if isinstance(record, ToolInvoked) and record.caller is CallOrigin.MODEL:
            known = self._announced | {call.call_id for call in started}
            if record.call_id not in known:
                started.append(
                    ToolStarted(
                        tool=record.tool,
                        params=record.params,
                        call_id=record.call_id,
                        at=record.started,
                    )
                )
        if started:
            calls = tuple(ToolCall(one.tool, one.params, one.call_id) for one in started)
            self._announced.update(call.call_id for call in calls)
            yield ModelResponded(tool_calls=calls, at=started[0].at, elapsed=started[0].elapsed)

    def _item(self, record: Event) -> Iterator[Any]:
        if isinstance(record, ModelResponded):
            self.stopped = False
            self._announced.update(call.call_id for call in record.tool_calls)
            yield record
        elif isinstance(record, ToolInvoked):
            self.stopped = False
            self._announced.discard(record.call_id)
            self.call += 1
            yield record
        elif isinstance(record, UserMessage | CompactionHappened):
            yield record
        elif isinstance(record, CompletionAsked):
            yield from self._stop(record)
        elif isinstance(record, RunClosed):
            yield RunEnd(reason=record.reason, plan=self.plan, stop_seen=self.stopped)

    def _stop(self, asked: CompletionAsked) -> Iterator[StopRequest]:
        if asked.final:
            return
        self.stopped = True
        left = None if asked.deadline is None else asked.deadline[0] - asked.deadline[1]
        yield StopRequest(
            plan=self.plan,
            background_tasks=("recorded",) if asked.background_work else (),
            awaiting_user=asked.awaiting_user,
            deadline_remaining=left,
            api_error=asked.api_error,
        )
