"""Traces as ATIF 1.8, the agent trajectory interchange format: one document per trace."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

import attrs

from trimtab_trace._envelope import TraceError, TraceEvent, misfits_named
from trimtab_trace._export import arguments_of, whole_text

VERSION = "ATIF-v1.8"


_STEPS = """
create table step (run integer, number integer, body text, primary key (run, number)) without rowid
"""
_RESULTS = """
create table result (
    run integer, step integer, number integer, body text, primary key (run, step, number)
) without rowid
"""
_READ_STEPS = "select number, body from step where run = ? order by number"
_READ_RESULTS = "select body from result where run = ? and step = ? order by number"


def atif(events: Iterable[TraceEvent]) -> dict[str, Any]:
    """Return a trace as one ATIF document; the runs of subagents are embedded.

    Text that trimtab gave the agent becomes steps of the system, with ``extra.trimtab``.

    Args:
        events: of the trace, in order.

    Raises:
        TraceError: the trace holds no step of any run.
    """
    document: dict[str, Any] = json.loads("".join(atif_lines(events)))
    return document


def atif_lines(events: Iterable[TraceEvent]) -> Iterator[str]:
    """Yield the lines of the document that `atif` returns, one step in each.

    Steps wait in a temporary file for their results, so memory does not grow with the trace.

    Raises:
        TraceError: the trace holds no step of any run, or there is no room for the file.
    """
    runs: dict[str, _Run] = {}
    try:
        with closing(sqlite3.connect("", isolation_level=None)) as waiting:
            for statement in ("pragma journal_mode = off", "begin", _STEPS, _RESULTS):
                waiting.execute(statement)
            for event in events:
                _take(runs, event, waiting)
            documents = [run for run in runs.values() if run.steps]
            if not documents:
                raise TraceError("the trace holds no message, response or tool call to export")
            yield from _document(documents[0], documents[1:])
    except sqlite3.Error as error:
        raise TraceError(f"can't keep the steps in a temporary file: {error}") from error


def _take(runs: dict[str, _Run], event: TraceEvent, waiting: sqlite3.Connection) -> None:
    if not event.run_id:
        return
    run = runs.get(event.run_id)
    if run is None:
        run = runs[event.run_id] = _Run(event.run_id, len(runs), waiting)
    handler = _HANDLERS.get(event.event_type)
    if handler is None:
        return
    with misfits_named(event):
        handler(run, event, event.payload)


def _document(run: _Run, others: Sequence[_Run] = ()) -> Iterator[str]:
    before, after = json.dumps(run.before()), json.dumps(run.after())
    yield f'{before[:-1]}, "steps": ['
    for number, body in run.written():
        yield body if number == run.steps else f"{body},"
    if others:
        yield f'], {after[1:-1]}, "subagent_trajectories": ['
        for other in others:
            yield from _document(other)
            if other is not others[-1]:
                yield ","
        yield "]}"
    else:
        yield f"], {after[1:]}"


@attrs.define
class _Run:
    """One run on the way to its document."""

    run_id: str
    number: int
    waiting: sqlite3.Connection
    agent: dict[str, Any] = attrs.field(factory=lambda: {"name": "agent", "version": "unknown"})
    steps: int = 0
    totals: dict[str, float] = attrs.field(factory=dict)
    reason: str = ""
    _results: int = 0
    _calls: dict[str, int] = attrs.field(factory=dict)

    def before(self) -> dict[str, Any]:
        return {
            "schema_version": VERSION,
            "session_id": self.run_id,
            "trajectory_id": self.run_id,
            "agent": self.agent,
        }

    def after(self) -> dict[str, Any]:
        metrics: dict[str, Any] = {"total_steps": self.steps}
        if self.totals:
            metrics["total_prompt_tokens"] = int(self.totals["input_tokens"])
            metrics["total_completion_tokens"] = int(self.totals["output_tokens"])
            metrics["total_cost_usd"] = self.totals["cost"]
        after: dict[str, Any] = {"final_metrics": metrics}
        return {**after, "extra": {"reason": self.reason}} if self.reason else after

    def written(self) -> Iterator[tuple[int, str]]:
        """Yield each step with the results of its calls, as JSON."""
        for number, body in self.waiting.execute(_READ_STEPS, (self.number,)):
            found = self.waiting.execute(_READ_RESULTS, (self.number, number))
            results = ", ".join(result for (result,) in found)
            observation = f', "observation": {{"results": [{results}]}}' if results else ""
            yield number, f"{body[:-1]}{observation}}}"

    def add(self, event: TraceEvent, source: str, message: str, **more: Any) -> int:
        """Add one step; return its number."""
        step = {
            "step_id": self.steps + 1,
            "timestamp": event.timestamp.isoformat(),
            "source": source,
            "message": message,
            **{name: value for name, value in more.items() if value not in (None, "", [], {})},
        }
        row = (self.number, self.steps + 1, json.dumps(step))
        self.waiting.execute("insert into step values (?, ?, ?)", row)
        self.steps += 1
        return self.steps

    def configured(self, event: TraceEvent, payload: Any) -> None:
        """Name the agent by its host; its version is that of the prompt."""
        name = payload.get("host", {}).get("name")
        self.agent["name"] = str(name or "agent")
        self.agent["version"] = event.references.prompt_version or "unknown"

    def rendered(self, event: TraceEvent, payload: Any) -> None:
        self.add(event, "system", whole_text(payload.get("text")))

    def said(self, event: TraceEvent, payload: Any) -> None:
        """A message of the user, or of the harness in the user's place."""
        source = "system" if payload.get("notification") else "user"
        self.add(event, source, whole_text(payload.get("text")))

    def responded(self, event: TraceEvent, payload: Any) -> None:
        calls = [_call(call) for call in payload.get("tool_calls", ())]
        model = payload.get("model")
        if model:
            self.agent.setdefault("model_name", str(model))
        step = self.add(
            event,
            "agent",
            whole_text(payload.get("text")),
            model_name=str(model) if model else None,
            reasoning_content=payload.get("reasoning"),
            tool_calls=calls,
            metrics=self._metrics(payload.get("usage")),
        )
        self._calls.update({call["tool_call_id"]: step for call in calls})

    def _metrics(self, usage: Any) -> dict[str, Any]:
        if not usage:
            return {}
        for name in ("input_tokens", "output_tokens", "cost"):
            self.totals[name] = self.totals.get(name, 0) + usage[name]
        return {
            "prompt_tokens": usage["input_tokens"],
            "completion_tokens": usage["output_tokens"],
            "cost_usd": usage["cost"],
        }

    def returned(self, event: TraceEvent, payload: Any) -> None:
        """The result of a call goes to the step that asked for it."""
        step = self._calls.pop(payload.get("call_id", ""), None)
        if step is None:
            calls = [_call({**payload, "params": payload.get("input")})]
            step = self.add(event, "agent", "", tool_calls=calls, llm_call_count=0)
        result = {
            "source_call_id": payload.get("call_id") or "call",
            "content": whole_text(payload.get("output", payload.get("error"))),
            "extra": _facts(payload, ("outcome", "error", "latency")),
        }
        self._results += 1
        row = (self.number, step, self._results, json.dumps(result))
        self.waiting.execute("insert into result values (?, ?, ?, ?)", row)

    def guided(self, event: TraceEvent, payload: Any) -> None:
        facts = _facts(payload, ("provider_name", "decision_point", "delivery", "level"))
        text = whole_text(payload.get("injection", {}).get("content"))
        self.add(event, "system", text, extra={"trimtab": facts})

    def fed_back(self, event: TraceEvent, payload: Any) -> None:
        facts = _facts(payload, ("provider_name", "severity", "observations", "suggestions"))
        self.add(event, "system", whole_text(payload.get("summary")), extra={"trimtab": facts})

    def checked(self, event: TraceEvent, payload: Any) -> None:
        if payload.get("status") == "incomplete":
            facts = _facts(payload, ("status", "attempt", "progress"))
            self.add(event, "system", whole_text(payload.get("feedback")), extra={"trimtab": facts})

    def compacted(self, event: TraceEvent, payload: Any) -> None:
        self.add(event, "system", whole_text(payload.get("summary")), extra={"compaction": True})

    def ended(self, _: TraceEvent, payload: Any) -> None:
        self.reason = whole_text(payload.get("reason"))


_HANDLERS: dict[str, Callable[[_Run, TraceEvent, Any], None]] = {
    "RunConfigured": _Run.configured,
    "PromptRendered": _Run.rendered,
    "UserMessage": _Run.said,
    "ModelResponded": _Run.responded,
    "ToolReturned": _Run.returned,
    "GuidanceDelivered": _Run.guided,
    "FeedbackDelivered": _Run.fed_back,
    "CompletionChecked": _Run.checked,
    "CompactionHappened": _Run.compacted,
    "RunTerminated": _Run.ended,
}


def _call(call: Any) -> dict[str, Any]:
    return {
        "tool_call_id": call.get("call_id") or "call",
        "function_name": whole_text(call.get("tool")),
        "arguments": arguments_of(call),
    }


def _facts(payload: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: payload[name] for name in names if payload.get(name) not in (None, [], ())}
