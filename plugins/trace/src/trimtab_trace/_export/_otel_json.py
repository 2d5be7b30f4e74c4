"""OpenTelemetry spans as lines of JSON, in the SDK's own form."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab_trace._envelope import TraceEvent
from trimtab_trace._errors import TraceError
from trimtab_trace._export._otel import export_spans


def span_lines(events: Iterable[TraceEvent], *, content: bool = False) -> list[str]:
    """Return the spans of a trace, one line each, in the order of their ends.

    Raises:
        TraceError: the OpenTelemetry SDK is not installed.
    """
    try:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    except ImportError:
        raise TraceError(
            "the OpenTelemetry SDK is not installed: pip install 'trimtab-trace[otel]'"
        ) from None
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    export_spans(events, provider, content=content)
    provider.shutdown()
    return [span.to_json(indent=None) for span in exporter.get_finished_spans()]
