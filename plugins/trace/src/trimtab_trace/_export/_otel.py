"""Traces as OpenTelemetry spans, with the names of the GenAI conventions (in development)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from trimtab_trace._envelope import TraceError, TraceEvent, misfits_named
from trimtab_trace._export import (
    LONGEST,
    answer,
    messages,
    nanoseconds,
    provider_of,
    started_at,
    text_of,
)

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

_MOST_MESSAGES = 100


def export_spans(
    events: Iterable[TraceEvent],
    provider: TracerProvider | None = None,
    *,
    content: bool = False,
) -> None:
    """Hand a trace to OpenTelemetry as spans with their recorded times.

    Args:
        events: of the trace, in order.
        provider: where the spans go; the global tracer provider where None.
        content: also export arguments, results and texts, which may be confidential.

    Raises:
        TraceError: OpenTelemetry is not installed.
    """
    spans = Spans(provider, content=content)
    for event in events:
        spans.add(event)
    spans.close()


def _opentelemetry() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        raise TraceError(
            "OpenTelemetry is not installed: pip install 'trimtab-trace[otel]'"
        ) from None
    return trace


@attrs.define
class _OpenRun:
    """A run whose span is open, with the spans inside."""

    span: Span
    host: str = ""
    provider: str = ""
    inside: dict[str, Span] = attrs.field(factory=dict)
    last: int = 0
    said: list[dict[str, Any]] = attrs.field(factory=list)
    asked: str = ""
    answered: str = ""

    def end(self) -> None:
        """End the spans; that of the run shows what was asked first and answered last."""
        for span in reversed(self.inside.values()):
            span.end(self.last)
        for name, value in (("input", self.asked), ("output", self.answered)):
            if value:
                self.span.set_attribute(f"gen_ai.{name}.messages", value)
        self.span.end(self.last)


class Spans:
    """Makes spans of events, one after the other.

    A run is a span ``invoke_agent``, a response of the model a span ``chat``, a tool call a span
    ``execute_tool``, a stage a span ``invoke_workflow``, a new plan a span ``plan``; guidance,
    feedback and completion checks are events of the run's span.

    Args:
        provider: where the spans go; the global tracer provider where None.
        content: also export arguments, results and texts.
    """

    def __init__(self, provider: TracerProvider | None = None, *, content: bool = False) -> None:
        self._trace = _opentelemetry()
        self._tracer = self._trace.get_tracer("trimtab_trace", tracer_provider=provider)
        self._content = content
        self._runs: dict[str, _OpenRun] = {}
        self._hosts: dict[str, str] = {}

    def add(self, event: TraceEvent) -> None:
        """Take one event."""
        handler = self._HANDLERS.get(event.event_type)
        if handler is None:
            return
        with misfits_named(event):
            handler(self, event)

    def close(self) -> None:
        """End all open spans at the time of the last event of their run."""
        for run in self._runs.values():
            run.end()
        self._runs.clear()

    # Runs.

    def _configured(self, event: TraceEvent) -> None:
        self._hosts[event.run_id] = str(event.payload.get("host", {}).get("name", ""))

    def _run(self, event: TraceEvent) -> _OpenRun:
        run = self._runs.get(event.run_id)
        if run is None:
            host = self._hosts.pop(event.run_id, "")
            run = self._runs[event.run_id] = _OpenRun(self._open(event, host), host)
        run.last = max(run.last, nanoseconds(event.timestamp))
        return run

    def _open(self, event: TraceEvent, host: str) -> Span:
        name = event.references.namespace or event.actor
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.conversation.id": event.run_id,
            "trimtab.actor": event.actor,
            "trimtab.host": host,
            "trimtab.prompt.version": event.references.prompt_version,
        }
        return self._start(f"invoke_agent {name}", event, attributes, None)

    def _start(
        self,
        name: str,
        event: TraceEvent,
        attributes: Mapping[str, Any],
        parent: Span | None,
        *,
        client: bool = False,
        start: int | None = None,
    ) -> Span:
        context = None if parent is None else self._trace.set_span_in_context(parent)
        kept = {key: value for key, value in attributes.items() if value not in (None, "")}
        span: Span = self._tracer.start_span(
            name[:200],
            context=context,
            kind=self._trace.SpanKind.CLIENT if client else self._trace.SpanKind.INTERNAL,
            attributes=kept,
            start_time=nanoseconds(event.timestamp) if start is None else start,
        )
        return span

    def _opened(self, event: TraceEvent) -> None:
        """Open the span of a run, or go on with it."""
        self._run(event)

    def _ended(self, event: TraceEvent) -> None:
        run = self._run(event)
        del self._runs[event.run_id]
        reason = event.payload.get("reason")
        if reason:
            run.span.set_attribute("trimtab.termination.reason", str(reason)[:LONGEST])
        run.end()

    # Inside a run.

    def _started(self, event: TraceEvent) -> None:
        payload, run = event.payload, self._run(event)
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": payload.get("tool"),
            "gen_ai.tool.call.id": payload.get("call_id"),
            "gen_ai.tool.type": "function",
            "trimtab.tool.version": event.references.tool_version,
            "trimtab.plan.step": event.references.step_id,
        }
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = text_of(payload.get("input"))
        name = f"execute_tool {payload.get('tool')}"
        run.inside[f"call:{payload.get('call_id')}"] = self._start(
            name, event, attributes, run.span
        )

    def _returned(self, event: TraceEvent) -> None:
        payload, run = event.payload, self._run(event)
        span = run.inside.pop(f"call:{payload.get('call_id')}", None)
        if span is None:
            self._started(event)
            span = run.inside.pop(f"call:{payload.get('call_id')}")
        if self._content:
            result = text_of(payload.get("output"))
            span.set_attribute("gen_ai.tool.call.result", result)
            part = {"type": "tool_call_response", "id": payload.get("call_id"), "response": result}
            self._said(run, "tool", part)
        if not payload.get("success", True):
            error = str(payload.get("error") or payload.get("outcome"))
            span.set_attribute("error.type", str(payload.get("outcome")))
            described = error[:LONGEST] if self._content else str(payload.get("outcome"))
            span.set_status(self._trace.StatusCode.ERROR, described)
        span.end(nanoseconds(event.timestamp))

    def _user_spoke(self, event: TraceEvent) -> None:
        """Keep what the user said for the span of the response to it."""
        run = self._run(event)
        if self._content:
            self._said(run, "user", {"type": "text", "content": text_of(event.payload.get("text"))})
            run.asked = run.asked or messages(run.said[-1:])

    def _said(self, run: _OpenRun, role: str, part: Mapping[str, Any]) -> None:
        if len(run.said) < _MOST_MESSAGES:
            run.said.append({"role": role, "parts": [part]})

    def _responded(self, event: TraceEvent) -> None:
        """Add the span of a response: from its request, or what happened before, to its end."""
        payload, known = event.payload, self._runs.get(event.run_id)
        before = 0 if known is None else known.last
        run = self._run(event)
        end = nanoseconds(event.timestamp)
        model = str(payload.get("model") or "")
        run.provider = str(payload.get("provider") or "") or run.provider or provider_of(run.host)
        usage = payload.get("usage") or {}
        reason = payload.get("stop_reason")
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": run.provider,
            "gen_ai.conversation.id": event.run_id,
            "gen_ai.request.model": model,
            "gen_ai.response.model": model,
            "gen_ai.response.finish_reasons": [str(reason)] if reason else None,
            "gen_ai.usage.input_tokens": usage.get("input_tokens"),
            "gen_ai.usage.output_tokens": usage.get("output_tokens"),
            "gen_ai.usage.cache_read.input_tokens": usage.get("cached_tokens") or None,
            "trimtab.usage.cost": usage.get("cost") or None,
        }
        if self._content:
            attributes["gen_ai.input.messages"] = messages(run.said)
            attributes["gen_ai.output.messages"] = run.answered = messages([answer(payload)])
        run.said.clear()
        asked = started_at(payload)
        start = min(nanoseconds(asked) if asked else before or end, end)
        span = self._start(
            f"chat {model}".strip(), event, attributes, run.span, client=True, start=start
        )
        span.end(end)
        told = {"gen_ai.provider.name": run.provider, "gen_ai.request.model": model}
        run.span.set_attributes({name: value for name, value in told.items() if value})

    def _guided(self, event: TraceEvent) -> None:
        payload = event.payload
        attributes = {
            "trimtab.provider": payload.get("provider_name"),
            "trimtab.decision_point": payload.get("decision_point"),
            "trimtab.delivery": payload.get("delivery"),
            "trimtab.level": payload.get("level"),
        }
        if self._content:
            attributes["trimtab.text"] = text_of(payload.get("injection", {}).get("content"))
        self._event(event, "trimtab.guidance", attributes)

    def _fed_back(self, event: TraceEvent) -> None:
        attributes = {
            "trimtab.provider": event.payload.get("provider_name"),
            "trimtab.severity": event.payload.get("severity"),
        }
        if self._content:
            attributes["trimtab.text"] = text_of(event.payload.get("summary"))
        self._event(event, "trimtab.feedback", attributes)

    def _checked(self, event: TraceEvent) -> None:
        payload = event.payload
        names = [source.get("name", "") for source in payload.get("sources", ())]
        attributes = {
            "gen_ai.evaluation.name": ", ".join(names) or "completion",
            "gen_ai.evaluation.score.label": payload.get("status"),
        }
        if self._content:
            why = payload.get("feedback") or payload.get("reason")
            attributes["gen_ai.evaluation.explanation"] = text_of(why)
        self._event(event, "gen_ai.evaluation.result", attributes)

    def _planned(self, event: TraceEvent) -> None:
        """Add a span for a plan that was made, or an event for a change."""
        run = self._run(event)
        attributes = {
            "gen_ai.operation.name": "plan",
            "trimtab.plan.id": event.references.plan_id,
            "trimtab.event": event.event_type,
        }
        if self._content:
            attributes["trimtab.plan"] = text_of(event.payload)
        span = self._start("plan", event, attributes, run.span)
        span.end(nanoseconds(event.timestamp))

    def _stage_started(self, event: TraceEvent) -> None:
        run, name = self._run(event), _stage(event)
        attributes = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": name}
        run.inside[f"stage:{name}"] = self._start(
            f"invoke_workflow {name}", event, attributes, run.span
        )

    def _stage_completed(self, event: TraceEvent) -> None:
        span = self._run(event).inside.pop(f"stage:{_stage(event)}", None)
        if span is not None:
            span.end(nanoseconds(event.timestamp))

    def _event(self, event: TraceEvent, name: str, attributes: Mapping[str, Any]) -> None:
        kept = {key: value for key, value in attributes.items() if value not in (None, "")}
        self._run(event).span.add_event(name, kept, nanoseconds(event.timestamp))

    _HANDLERS: ClassVar[Mapping[str, Callable[..., None]]] = {
        "RunConfigured": _configured,
        "RunOpened": _opened,
        "RunTerminated": _ended,
        "ToolInvoked": _started,
        "ToolReturned": _returned,
        "ModelResponded": _responded,
        "UserMessage": _user_spoke,
        "GuidanceDelivered": _guided,
        "FeedbackDelivered": _fed_back,
        "CompletionChecked": _checked,
        "PlanAuthored": _planned,
        "PlanUpdated": _planned,
        "StageStarted": _stage_started,
        "StageCompleted": _stage_completed,
    }


def _stage(event: TraceEvent) -> str:
    return str(event.payload.get("stage") or event.payload.get("name") or "stage")
