"""OpenHands: a list of events, or eval output with the events in ``history``.

An observation names its action by ``cause``; calls of one response share ``model_response.id``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Row, Transcript
from trimtab_replay._values import as_dict, as_float, as_list, as_text, as_time, named

_NO_CALLS = {
    "system",
    "message",
    "recall",
    "null",
    "change_agent_state",
    "condensation",
    "condensation_request",
    "start",
    "pause",
    "resume",
}
_QUIET = {"agent_state_changed", "null", "recall"}
_RUNNING = -1.0


class OpenHands:
    """Reads OpenHands events and eval output."""

    name: ClassVar[str] = "openhands"

    def sniff(self, source: Transcript) -> float:
        """Look for events with a source, and an action or an observation."""
        sample = source.sample
        events = [*as_list(sample)[:20], *_history(sample)[:20], *source.first_rows]
        return float(any(map(_is_event, events)))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a document; events line by line are one recording."""
        if len(source.first_rows) > 1 and _is_event(source.first_rows[0]):
            yield self._recording(source, {}, (row.value for row in source.rows()), source.stem)
            return
        for row in source.documents_with("events", _has_events):
            yield self._documented(source, row)

    def _documented(self, source: Transcript, row: Row) -> Recording:
        events = row.value if isinstance(row.value, list) else _history(row.value)
        default = source.stem if row.line == 1 else f"{source.stem}:{row.line}"
        return self._recording(source, as_dict(row.value), iter(events), default)

    def _recording(
        self, source: Transcript, head: dict[str, Any], events: Iterator[Any], default: str
    ) -> Recording:
        error = as_text(head.get("error"))
        return Recording(
            id=named(head.get("instance_id")) or default,
            path=source.path,
            reader=self.name,
            entries=_Events(source).entries(events, [RunEnd(reason=error)] if error else []),
            profile="openhands",
            parallel_calls=True,
        )


def _has_events(document: Any) -> bool:
    head = as_dict(document)
    lists = (document, head.get("history"), head.get("trajectory"))
    return any(isinstance(each, list) for each in lists)


def _history(document: Any) -> list[Any]:
    """Return a document's events; older output pairs each action with its observation."""
    head = as_dict(document)
    history = as_list(head.get("history")) or as_list(head.get("trajectory"))
    return [event for each in history for event in (each if isinstance(each, list) else [each])]


def _is_event(value: Any) -> bool:
    event = as_dict(value)
    is_told = "args" in event or "extras" in event or "content" in event
    return "source" in event and is_told and ("action" in event or "observation" in event)


@attrs.define
class _Events:
    source: Transcript
    assembler: Assembler = attrs.field(factory=Assembler)
    calls: dict[str, str] = attrs.field(factory=dict)

    def entries(self, events: Iterator[Any], end: list[RunEnd]) -> Iterator[RecordedItem]:
        for number, event in enumerate(events):
            if _is_event(event):
                self._read(event, as_time(event.get("timestamp")))
            else:
                self.source.skip(f"event {number} has no source, or no action and no observation")
            yield from self.assembler.take()
        yield from self.assembler.finish(end)

    def _read(self, event: dict[str, Any], at: datetime | None) -> None:
        action = as_text(event.get("action"))
        if not action:
            self._observe(event, at)
        elif action == "message":
            self._message(event, at)
        elif action == "condensation":
            summary = as_text(as_dict(event.get("args")).get("summary"))
            self.assembler.compacted(summary, at)
        elif event.get("source") == "agent" and action not in _NO_CALLS:
            self._call(action, event, at)

    def _message(self, event: dict[str, Any], at: datetime | None) -> None:
        args = as_dict(event.get("args"))
        text = as_text(args.get("content", event.get("message")))
        if event.get("source") == "user":
            self.assembler.user(text, at)
        elif event.get("source") == "agent":
            waiting = args.get("wait_for_response") is True
            stop = StopRequest(awaiting_user=waiting)
            self.assembler.respond(text=text, at=at, stop=stop, presumed=not waiting)

    def _call(self, action: str, event: dict[str, Any], at: datetime | None) -> None:
        args, told = as_dict(event.get("args")), as_dict(event.get("tool_call_metadata"))
        response = named(as_dict(told.get("model_response")).get("id"))
        self.assembler.respond(key=response or None, text=as_text(args.get("thought")), at=at)
        tool = named(told.get("function_name")) or action
        params = {key: value for key, value in args.items() if key not in {"thought", "blocking"}}
        call_id = self.assembler.call(tool, params, named(told.get("tool_call_id")))
        self.calls[as_text(event.get("id"))] = call_id
        if action == "finish":
            self.assembler.answer(call_id, CallResult(result="", evidence=Evidence.UNKNOWN, at=at))
            self.assembler.add(StopRequest())

    def _observe(self, event: dict[str, Any], at: datetime | None) -> None:
        call_id = self.calls.pop(as_text(event.get("cause")), "")
        kind = as_text(event.get("observation"))
        if call_id:
            self.assembler.answer(call_id, _answer(event, kind, at))
        elif kind not in _QUIET:
            text = as_text(event.get("content", event.get("message")))
            self.assembler.user(text, at, notification=True)


def _answer(event: dict[str, Any], kind: str, at: datetime | None) -> CallResult:
    content = event.get("content")
    outcome, evidence = _outcome(event, kind, as_text(content))
    return CallResult(result=content, outcome=outcome, evidence=evidence, at=at)


def _outcome(event: dict[str, Any], kind: str, text: str) -> tuple[Outcome, Evidence]:
    if kind == "user_rejected":
        return Outcome.DENIED, Evidence.FLAG
    if kind == "error":
        return Outcome.ERROR, Evidence.FLAG
    extras = as_dict(event.get("extras"))
    code = as_float(extras.get("exit_code", as_dict(extras.get("metadata")).get("exit_code")))
    if code is not None:
        failed = code not in {0.0, _RUNNING}
        return Outcome.ERROR if failed else Outcome.OK, Evidence.DERIVED
    if text.startswith("ERROR:"):
        return Outcome.ERROR, Evidence.DERIVED
    return Outcome.OK, Evidence.UNKNOWN
