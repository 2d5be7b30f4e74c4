"""The recorder ``otel``: a run as OpenTelemetry spans while it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from trimtab_trace._envelope import TraceEvent
from trimtab_trace._export._otel import Spans
from trimtab_trace._recorder import begin
from trimtab_trace._writer import TraceWriter

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from trimtab import RecorderContext


class _SpanStore:
    """Takes the events of a trace and keeps none of them."""

    path = Path("otel")
    epoch = 0
    repaired = 0

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self.next_seq = 0

    def append(self, event: TraceEvent, *, durable: bool = False) -> TraceEvent:  # noqa: ARG002
        if event.seq != self.next_seq:
            event = attrs.evolve(event, seq=self.next_seq)
        self.next_seq += 1
        self._spans.add(event)
        return event

    def find(self, event_id: str) -> TraceEvent | None:  # noqa: ARG002
        return None

    def close(self) -> None:
        self._spans.close()


class _LiveRun:
    def __init__(self, writer: TraceWriter) -> None:
        self._writer = writer

    def record(self, event: Any) -> None:
        self._writer.record(event)

    def close(self) -> None:
        self._writer.close()


class OtelRecorder:
    """The recorder ``otel``: hands runs to OpenTelemetry as they go on.

    Args:
        content: also export arguments, results and texts, which may be confidential.
        provider: where the spans go; the global tracer provider where None.

    Raises:
        TraceError: OpenTelemetry is not installed.
    """

    name = "otel"

    def __init__(self, *, content: bool = False, provider: TracerProvider | None = None) -> None:
        Spans(provider)  # fails here, where a prompt is built, and not in a run
        self._content = content
        self._provider = provider

    def open(self, context: RecorderContext) -> _LiveRun:
        """Start to record a run."""
        store = _SpanStore(Spans(self._provider, content=self._content))
        writer = TraceWriter(store, clock=context.session.clock)
        begin(writer, context)
        return _LiveRun(writer)
