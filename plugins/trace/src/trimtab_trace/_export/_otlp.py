"""Traces in the protocol of OpenTelemetry, as JSON or sent to a collector, afterwards or live."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import attrs

from trimtab_trace._envelope import TraceError, TraceEvent
from trimtab_trace._export._otel import Spans
from trimtab_trace._recorder import Recording, begin
from trimtab_trace._writer import TraceWriter

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import TracerProvider

    from trimtab import RecorderContext

_BATCH = 512
_IDS = ("traceId", "spanId", "parentSpanId")
_PATH = "/v1/traces"
_MISSING = "the OTLP exporter is not installed: pip install 'trimtab-trace[otel]'"


def otlp_lines(events: Iterable[TraceEvent], *, content: bool = False) -> Iterator[str]:
    """Yield the spans of a trace as OTLP/JSON, up to 512 in a line, in the order of their ends.

    This is what the file exporter of OpenTelemetry writes, and what its receiver reads.
    """
    try:
        from google.protobuf.json_format import MessageToDict
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    except ImportError:
        raise TraceError(_MISSING) from None
    for spans in _batches(_spans(events, content=content)):
        request = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
        yield json.dumps(_with_hex_ids(request), ensure_ascii=False)


def send(events: Iterable[TraceEvent], endpoint: str, *, content: bool = False) -> int:
    """Send the spans of a trace to a collector by OTLP over HTTP; return how many.

    Headers, certificates and time limits are those of the environment variables
    ``OTEL_EXPORTER_OTLP_…``.
    """
    url = _url(endpoint)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import SpanExportResult
    except ImportError:
        raise TraceError(_MISSING) from None
    exporter: Any = OTLPSpanExporter(endpoint=url)
    sent = 0
    try:
        for spans in _batches(_spans(events, content=content)):
            if exporter.export(spans) is not SpanExportResult.SUCCESS:
                raise TraceError(
                    f"the collector at {url} took {sent} spans and no more; see its log, and"
                    " whether the endpoint is right"
                )
            sent += len(spans)
    finally:
        exporter.shutdown()
    return sent


def _url(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise TraceError(
            f"{endpoint[:200]!r} is no endpoint; give a URL such as http://127.0.0.1:4318"
        )
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") or _PATH))


def _spans(events: Iterable[TraceEvent], *, content: bool) -> Iterator[ReadableSpan]:
    """Yield spans soon after they end: of a long trace, only the open ones are kept."""
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    except ImportError:
        raise TraceError(_MISSING) from None
    ended = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "trimtab"}))
    provider.add_span_processor(SimpleSpanProcessor(ended))
    spans = Spans(provider, content=content)
    try:
        for count, event in enumerate(events, 1):
            spans.add(event)
            if count % _BATCH == 0:
                yield from ended.get_finished_spans()
                ended.clear()
        spans.close()
        yield from ended.get_finished_spans()
    finally:
        provider.shutdown()


def _batches(spans: Iterator[ReadableSpan]) -> Iterator[list[ReadableSpan]]:
    while batch := list(islice(spans, _BATCH)):
        yield batch


def _with_hex_ids(value: Any) -> Any:
    """Return a message as OTLP/JSON wants it: ids are hexadecimal there, not base64."""
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: b64decode(item).hex() if name in _IDS and item else _with_hex_ids(item)
        for name, item in value.items()
    }


class _SpanStore:
    """Takes the events of a trace and keeps none of them."""

    path = Path("otel")
    epoch = 0

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

    def open(self, context: RecorderContext) -> Recording:
        """Start to record a run."""
        store = _SpanStore(Spans(self._provider, content=self._content))
        writer = TraceWriter(store, clock=context.session.clock)
        begin(writer, context)
        return Recording(writer)
