"""Traces as ATIF 1.8, the agent trajectory interchange format: one document per trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from trimtab_trace._envelope import TraceEvent
from trimtab_trace._errors import MISFITS, TraceError, misfit

VERSION = "ATIF-v1.8"


def atif(events: Iterable[TraceEvent]) -> dict[str, Any]:
    """Return a trace as one ATIF document; the runs of subagents are embedded.

    Text that trimtab gave the agent becomes steps of the system, with ``extra.trimtab``.

    Args:
        events: of the trace, in order.

    Raises:
        TraceError: the trace holds no step of any run.
    """
    runs: dict[str, _Run] = {}
    for event in events:
        if event.run_id:
            run = runs.setdefault(event.run_id, _Run(event.run_id))
            handler = _HANDLERS.get(event.event_type)
            if handler is None:
                continue
            try:
                handler(run, event, event.payload)
            except MISFITS as error:
                raise misfit(event.seq, event.event_type, error) from error
    documents = [run.document() for run in runs.values() if run.steps]
    if not documents:
        raise TraceError("the trace holds no message, response or tool call to export")
    main, *others = documents
    return {**main, "subagent_trajectories": others} if others else main


@attrs.define
class _Run:
    """One run on the way to its document."""

    run_id: str
    agent: dict[str, Any] = attrs.field(factory=lambda: {"name": "agent", "version": "unknown"})
    steps: list[dict[str, Any]] = attrs.field(factory=list)
    totals: dict[str, float] = attrs.field(factory=dict)
    reason: str = ""
    _calls: dict[str, dict[str, Any]] = attrs.field(factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the run as an ATIF trajectory."""
        metrics: dict[str, Any] = {"total_steps": len(self.steps)}
        if self.totals:
            metrics["total_prompt_tokens"] = int(self.totals["input_tokens"])
            metrics["total_completion_tokens"] = int(self.totals["output_tokens"])
            metrics["total_cost_usd"] = self.totals["cost"]
        document = {
            "schema_version": VERSION,
            "session_id": self.run_id,
            "trajectory_id": self.run_id,
            "agent": self.agent,
            "steps": self.steps,
            "final_metrics": metrics,
        }
        return {**document, "extra": {"reason": self.reason}} if self.reason else document

    def add(self, event: TraceEvent, source: str, message: str, **more: Any) -> dict[str, Any]:
        """Add one step."""
        step = {
            "step_id": len(self.steps) + 1,
            "timestamp": event.timestamp.isoformat(),
            "source": source,
            "message": message,
            **{name: value for name, value in more.items() if value},
        }
        self.steps.append(step)
        return step

    def configured(self, event: TraceEvent, payload: Any) -> None:
        """Name the agent by its host; its version is that of the prompt."""
        name = payload.get("host", {}).get("name")
        self.agent["name"] = str(name or "agent")
        self.agent["version"] = event.references.prompt_version or "unknown"

    def rendered(self, event: TraceEvent, payload: Any) -> None:
        """The prompt as the agent read it."""
        self.add(event, "system", _text(payload.get("text")))

    def said(self, event: TraceEvent, payload: Any) -> None:
        """A message of the user, or of the harness in the user's place."""
        source = "system" if payload.get("notification") else "user"
        self.add(event, source, _text(payload.get("text")))

    def responded(self, event: TraceEvent, payload: Any) -> None:
        """A response of the model, with the calls that it asks for."""
        calls = [_call(call) for call in payload.get("tool_calls", ())]
        model = payload.get("model")
        if model:
            self.agent.setdefault("model_name", str(model))
        step = self.add(
            event,
            "agent",
            _text(payload.get("text")),
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
            step = self.add(event, "agent", "", tool_calls=calls, llm_call_count=None)
            step["llm_call_count"] = 0
        results = step.setdefault("observation", {"results": []})["results"]
        results.append(
            {
                "source_call_id": payload.get("call_id") or "call",
                "content": _text(payload.get("output", payload.get("error"))),
                "extra": _facts(payload, ("outcome", "error", "latency")),
            }
        )

    def guided(self, event: TraceEvent, payload: Any) -> None:
        """Guidance, as the agent read it."""
        facts = _facts(payload, ("provider_name", "decision_point", "delivery", "level"))
        text = _text(payload.get("injection", {}).get("content"))
        self.add(event, "system", text, extra={"trimtab": facts})

    def fed_back(self, event: TraceEvent, payload: Any) -> None:
        """Feedback of a provider."""
        facts = _facts(payload, ("provider_name", "severity", "observations", "suggestions"))
        self.add(event, "system", _text(payload.get("summary")), extra={"trimtab": facts})

    def checked(self, event: TraceEvent, payload: Any) -> None:
        """A completion check that sent the agent back."""
        if payload.get("status") == "incomplete":
            facts = _facts(payload, ("status", "attempt", "progress"))
            self.add(event, "system", _text(payload.get("feedback")), extra={"trimtab": facts})

    def compacted(self, event: TraceEvent, payload: Any) -> None:
        """The host shortened the model's history."""
        self.add(event, "system", _text(payload.get("summary")), extra={"compaction": True})

    def ended(self, _: TraceEvent, payload: Any) -> None:
        """The run ended."""
        self.reason = _text(payload.get("reason"))


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
    arguments = call.get("params")
    return {
        "tool_call_id": call.get("call_id") or "call",
        "function_name": _text(call.get("tool")),
        "arguments": arguments if isinstance(arguments, dict) else {"input": arguments},
    }


def _facts(payload: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: payload[name] for name in names if payload.get(name) not in (None, [], ())}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
