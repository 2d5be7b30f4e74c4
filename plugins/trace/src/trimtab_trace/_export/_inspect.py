"""Traces as logs of Inspect (inspect_ai), written by its own library."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs

from trimtab_trace._envelope import TraceError, TraceEvent, misfits_named
from trimtab_trace._export import arguments_of, started_at, whole_text

_MODULES = ("event", "log", "model", "tool")
_REASONS = {
    "end_turn": "stop",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "stop": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
}


def write_inspect_log(events: Iterable[TraceEvent], path: Path) -> int:
    """Write a trace as a log that ``inspect view`` shows: one sample for each run.

    The whole log is in memory while it is written, as the library wants it.
    """
    if path.suffix not in (".eval", ".json"):
        raise TraceError(f"{path} is no name for a log of Inspect: give one that ends in .eval")
    inspect = _library()
    log = _log(inspect, events)
    try:
        inspect.log.write_eval_log(log, path.resolve())
    except OSError as error:
        raise TraceError(f"can't write {path}: {error.strerror}") from error
    return len(log.samples or ())


@attrs.frozen
class _Library:
    """The modules of inspect_ai, which is imported when it is used."""

    event: Any
    log: Any
    model: Any
    tool: Any


def _library() -> _Library:
    try:
        return _Library(*(import_module(f"inspect_ai.{name}") for name in _MODULES))
    except ImportError:
        raise TraceError(
            "inspect_ai is not installed: pip install 'trimtab-trace[inspect]'"
        ) from None


def _log(inspect: _Library, events: Iterable[TraceEvent]) -> Any:
    runs: dict[str, _Run] = {}
    for event in events:
        if event.run_id:
            run = runs.setdefault(event.run_id, _Run(inspect, event.run_id, event.timestamp))
            _take(run, event)
    if not runs:
        raise TraceError("the trace holds no run to export")
    samples = [run.sample() for run in runs.values()]
    first = next(iter(runs.values()))
    ended = all(run.ended for run in runs.values())
    return inspect.log.EvalLog(
        status="success" if ended else "started",
        eval=inspect.log.EvalSpec(
            created=first.opened.isoformat(),
            task=first.prompt or "trimtab",
            dataset=inspect.log.EvalDataset(
                name="trimtab", samples=len(samples), sample_ids=[*runs]
            ),
            model=next((run.model for run in runs.values() if run.model), "unknown"),
            config=inspect.log.EvalConfig(),
        ),
        samples=samples,
    )


def _take(run: _Run, event: TraceEvent) -> None:
    handler = _HANDLERS.get(event.event_type)
    run.last = event.timestamp
    run.prompt = run.prompt or event.references.namespace or ""
    if handler is None:
        return
    with misfits_named(event):
        handler(run, event, event.payload)


@attrs.define
class _Run:
    """One run on the way to its sample: messages, and events with their times."""

    inspect: _Library
    run_id: str
    opened: datetime
    prompt: str = ""
    model: str = ""
    ended: bool = False
    reason: str = ""
    last: datetime | None = None
    _messages: list[Any] = attrs.field(factory=list)
    _events: list[Any] = attrs.field(factory=list)
    _open: dict[str, Any] = attrs.field(factory=dict)
    _usage: dict[str, list[Any]] = attrs.field(factory=dict)
    _begins: str = ""
    _sent: int = 0

    def sample(self) -> Any:
        usage = {
            model: sum(parts, self.inspect.model.ModelUsage())
            for model, parts in self._usage.items()
            if parts
        }
        last = self.last or self.opened
        return self.inspect.log.EvalSample(
            id=self.run_id,
            epoch=1,
            input=self._begins,
            target="",
            messages=self._messages,
            events=self._events,
            model_usage=usage,
            started_at=self.opened.isoformat(),
            completed_at=last.isoformat(),
            total_time=(last - self.opened).total_seconds(),
            metadata={"reason": self.reason} if self.reason else {},
        )

    def _stamp(self, event: TraceEvent) -> dict[str, Any]:
        seconds = (event.timestamp - self.opened).total_seconds()
        return {"timestamp": event.timestamp, "working_start": max(seconds, 0.0)}

    def rendered(self, _: TraceEvent, payload: Any) -> None:
        self._messages.append(
            self.inspect.model.ChatMessageSystem(content=whole_text(payload.get("text")))
        )

    def said(self, _: TraceEvent, payload: Any) -> None:
        """A message of the user, or of the harness in the user's place."""
        text = whole_text(payload.get("text"))
        self._begins = self._begins or text
        self._messages.append(self.inspect.model.ChatMessageUser(content=text))

    def responded(self, event: TraceEvent, payload: Any) -> None:
        model = "/".join(str(payload[name]) for name in ("provider", "model") if payload.get(name))
        self.model = self.model or model
        content: list[Any] = []
        if payload.get("reasoning"):
            content.append(
                self.inspect.model.ContentReasoning(reasoning=whole_text(payload["reasoning"]))
            )
        content.append(self.inspect.model.ContentText(text=whole_text(payload.get("text"))))
        calls = [
            self.inspect.tool.ToolCall(
                call.get("call_id") or "call", whole_text(call.get("tool")), arguments_of(call)
            )
            for call in payload.get("tool_calls") or ()
        ]
        message = self.inspect.model.ChatMessageAssistant(
            content=content if len(content) > 1 else content[0].text,
            tool_calls=calls or None,
            model=model or None,
            source="generate",
        )
        reason: Any = _REASONS.get(str(payload.get("stop_reason")), "unknown")
        usage = self._counted(model or "unknown", payload.get("usage"))
        output = self.inspect.model.ModelOutput(
            model=model or "unknown",
            choices=[self.inspect.model.ChatCompletionChoice(message=message, stop_reason=reason)],
            usage=usage,
        )
        begun = started_at(payload) or event.timestamp
        self._events.append(
            self.inspect.event.ModelEvent(
                model=model or "unknown",
                input=self._messages[self._sent :],
                tools=[],
                tool_choice="auto",
                config=self.inspect.model.GenerateConfig(),
                output=output,
                completed=event.timestamp,
                timestamp=begun,
                working_start=max((begun - self.opened).total_seconds(), 0.0),
            )
        )
        self._messages.append(message)
        self._sent = len(self._messages)

    def _counted(self, model: str, usage: Any) -> Any:

        if not usage:
            return None
        found = self.inspect.model.ModelUsage(
            input_tokens=usage["input_tokens"],
            output_tokens=usage["output_tokens"],
            total_tokens=usage["input_tokens"] + usage["output_tokens"],
            input_tokens_cache_read=usage.get("cached_tokens") or None,
        )
        self._usage.setdefault(model, []).append(found)
        return found

    def started(self, event: TraceEvent, payload: Any) -> None:
        self._open[str(payload.get("call_id"))] = event

    def returned(self, event: TraceEvent, payload: Any) -> None:
        call_id = str(payload.get("call_id") or "call")
        begun = self._open.pop(str(payload.get("call_id")), event)
        failed = not payload.get("success", True)
        told = whole_text(payload.get("error") or payload.get("outcome"))
        error = self.inspect.tool.ToolCallError("unknown", told) if failed else None
        output = whole_text(payload.get("output", payload.get("error")))
        tool = whole_text(payload.get("tool"))
        self._events.append(
            self.inspect.event.ToolEvent(
                id=call_id,
                function=tool,
                arguments=arguments_of({"params": payload.get("input")}),
                result=output,
                error=error,
                failed=failed or None,
                completed=event.timestamp,
                **self._stamp(begun),
            )
        )
        self._messages.append(
            self.inspect.model.ChatMessageTool(
                content=output, tool_call_id=call_id, function=tool, error=error
            )
        )

    def told(self, event: TraceEvent, payload: Any) -> None:
        source = str(payload.get("provider_name") or event.event_type)
        self._events.append(
            self.inspect.event.InfoEvent(
                source=f"trimtab {source}", data=payload, **self._stamp(event)
            )
        )

    def compacted(self, event: TraceEvent, _: Any) -> None:
        self._events.append(
            self.inspect.event.CompactionEvent(source="trimtab", **self._stamp(event))
        )

    def closed(self, _: TraceEvent, payload: Any) -> None:
        self.ended, self.reason = True, whole_text(payload.get("reason"))


_HANDLERS: dict[str, Callable[[_Run, TraceEvent, Any], None]] = {
    "PromptRendered": _Run.rendered,
    "UserMessage": _Run.said,
    "ModelResponded": _Run.responded,
    "ToolInvoked": _Run.started,
    "ToolReturned": _Run.returned,
    "GuidanceDelivered": _Run.told,
    "FeedbackDelivered": _Run.told,
    "CompletionChecked": _Run.told,
    "PlanAuthored": _Run.told,
    "PlanUpdated": _Run.told,
    "CompactionHappened": _Run.compacted,
    "RunTerminated": _Run.closed,
}
