"""Formats for interchange: ATIF's trajectories, OpenTelemetry's spans about generative AI.

Read are the conventions of OpenTelemetry (``gen_ai.*``), and the spans of tools that
OpenInference and Traceloop write. A trace is one run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import MessageReader, Reader, flagged, used
from trimtab_replay._readers.openai import usage
from trimtab_replay._recording import RecordedItem, Recording
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_list,
    as_time,
    dicts,
    flattened,
    joined,
    named,
    said,
)

_HEADER = "__header__"
_IN_WORDS = re.compile(r"Tool result for (\S{1,200})$")


class Atif(MessageReader):
    """Reads ATIF 1.x."""

    name: ClassVar[str] = "atif"
    parallel_calls: ClassVar[bool | None] = None
    keys: ClassVar[tuple[str, ...]] = ("steps",)
    what: ClassVar[str] = "steps"
    unknown: ClassVar[str] = "step {} has no source"

    def sniff(self, source: Transcript) -> float:
        head = as_dict(source.sample)
        return float(self.is_told_by(source.sample) or _HEADER in (*head, head.get("type")))

    def knows(self, message: dict[str, Any]) -> bool:
        return isinstance(message.get("source"), str)

    def runs(self, document: Any) -> list[Any]:
        return document if isinstance(document, list) else [document]

    def messages(self, document: Any) -> list[Any] | None:
        is_ours = "schema_version" in as_dict(document) or "agent" in as_dict(document)
        return super().messages(document) if is_ours else None

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        head = as_dict(document.get(_HEADER)) or document
        agent = named(as_dict(head.get("agent")).get("name"))
        return {"name": named(head.get("session_id")), "profile": agent}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        is_known = self.knows(message)
        if is_known:
            _Step(assembler, message, as_time(message.get("timestamp"))).read()
        return is_known


@attrs.frozen
class _Step:
    assembler: Assembler
    step: dict[str, Any]
    at: datetime | None

    def read(self) -> None:
        if self.step["source"] == "user":
            self.assembler.user(said(self.step.get("message")), self.at)
        elif self.step["source"] == "agent" and not self._only_answers():
            self._respond()
        self._answers()

    def _only_answers(self) -> bool:
        """Some converters put each result into an agent's step of its own."""
        return bool(self._answered()) and not self.step.get("tool_calls")

    def _answered(self) -> str:
        answered = _IN_WORDS.match(said(self.step.get("message")))
        told = named(as_dict(self.step.get("extra")).get("tool_call_id"))
        return told or (answered[1] if answered else "")

    def _respond(self) -> None:
        told = as_dict(self.step.get("metrics"))
        cost = told.get("cost_usd")
        self.assembler.respond(
            text=said(self.step.get("message")),
            reasoning=named(self.step.get("reasoning_content")),
            usage=used(told, ["prompt_tokens"], "completion_tokens", cost),
            at=self.at,
            presumed=True,
        )
        for call in dicts(self.step.get("tool_calls")):
            name = named(call.get("function_name", call.get("name")))
            params = arguments(call.get("arguments"))
            self.assembler.call(name, params, named(call.get("tool_call_id", call.get("id"))))

    def _answers(self) -> None:
        observation = as_dict(self.step.get("observation"))
        results = dicts(observation.get("results"))
        if observation and "results" not in observation:
            results = [observation]
        elif not observation and self.step["source"] == "agent" and self._only_answers():
            results = [{"content": self.step.get("message")}]
        for result in results:
            call_id = named(result.get("source_call_id")) or self._answered()
            outcome = _outcome(result)
            answer = CallResult(
                result=flattened(result.get("content")),
                outcome=outcome or Outcome.OK,
                evidence=Evidence.UNKNOWN if outcome is None else Evidence.FLAG,
                at=self.at,
            )
            self.assembler.answer(call_id or self.assembler.oldest(), answer)


def _outcome(result: Any) -> Outcome | None:
    """Return how a call ended where the writer says it, as exports of trimtab do."""
    told = as_dict(result.get("extra")).get("outcome")
    return Outcome(told) if isinstance(told, str) and told in set(Outcome) else None


_CHATS = {"chat", "generate_content", "text_completion"}
_TOOL_KINDS = ("openinference.span.kind", "traceloop.span.kind")
_NAMES = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name")
_PARAMS = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "input.value",
    "tool.parameters",
    "traceloop.entity.input",
)
_RESULTS = ("gen_ai.tool.call.result", "tool_response", "output.value", "traceloop.entity.output")
_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_ERROR = 2
_FAILED = {"ERROR", "STATUS_CODE_ERROR"}
_NANOSECONDS = 1e9


@attrs.frozen
class _Span:
    trace: str
    started: float
    ended: float
    attributes: dict[str, Any]
    failed: bool
    message: str

    @property
    def operation(self) -> str:
        return named(self.attributes.get("gen_ai.operation.name"))

    @property
    def is_tool(self) -> bool:
        kinds = (named(self.attributes.get(key)).lower() for key in _TOOL_KINDS)
        return self.operation == "execute_tool" or "tool" in kinds

    @property
    def is_chat(self) -> bool:
        return self.operation in _CHATS


class OpenTelemetry(Reader):
    """Reads spans of agents."""

    name: ClassVar[str] = "otel"
    parallel_calls: ClassVar[bool | None] = None

    def sniff(self, source: Transcript) -> float:
        values = list(source.first_rows) or [source.document]
        return float(any(_is_ours(span) for value in values for span in _spans(value)))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a trace, in the order in which they began."""
        traces: dict[str, list[_Span]] = {}
        for row in source.documents():
            found = [span for span in _spans(row.value) if _is_ours(span)]
            for span in found:
                traces.setdefault(span.trace, []).append(span)
        for trace, spans in sorted(
            traces.items(), key=lambda each: min(s.started for s in each[1])
        ):
            ids = (named(span.attributes.get("gen_ai.conversation.id")) for span in spans)
            entries = _otel_entries(sorted(spans, key=lambda span: span.started))
            name = next(filter(None, ids), trace)
            yield self.recording(source, entries, name, meta={"trace": trace})


def _is_ours(span: _Span) -> bool:
    return span.is_tool or span.is_chat


def _spans(value: Any) -> Iterator[_Span]:
    """Yield the spans in an OTLP export, a list of spans, or a span."""
    if isinstance(value, list):
        for each in value:
            yield from _spans(each)
        return
    head = as_dict(value)
    groups = dicts(head.get("resourceSpans")) or dicts(head.get("resource_spans"))
    for group in groups:
        scopes = dicts(group.get("scopeSpans")) or dicts(group.get("scope_spans"))
        for scope in scopes or dicts(group.get("instrumentationLibrarySpans")):
            yield from map(_span, dicts(scope.get("spans")))
    if "attributes" in head and not groups:
        yield _span(head)


def _span(told: dict[str, Any]) -> _Span:
    context, status = as_dict(told.get("context")), as_dict(told.get("status"))
    attributes = _attributes(told.get("attributes"))
    code = status.get("code", status.get("status_code"))
    trace = told.get("traceId", told.get("trace_id", context.get("trace_id")))
    started = told.get("startTimeUnixNano", told.get("start_time"))
    ended = told.get("endTimeUnixNano", told.get("end_time"))
    return _Span(
        trace=named(trace),
        started=_seconds(started),
        ended=_seconds(ended),
        attributes=attributes,
        failed=code == _ERROR or named(code) in _FAILED or "error.type" in attributes,
        message=named(status.get("message", status.get("description"))) or _exception(told),
    )


def _exception(told: dict[str, Any]) -> str:
    for event in dicts(told.get("events")):
        message = named(_attributes(event.get("attributes")).get("exception.message"))
        if message:
            return message
    return ""


def _attributes(told: Any) -> dict[str, Any]:
    if isinstance(told, dict):
        return told
    return {named(each.get("key")): _plain(each.get("value")) for each in dicts(told)}


def _plain(value: Any) -> Any:
    """Return a value of OTLP, which stands under the name of its type."""
    told = as_dict(value)
    if "arrayValue" in told:
        return [_plain(each) for each in as_list(as_dict(told["arrayValue"]).get("values"))]
    if "kvlistValue" in told:
        return _attributes(as_dict(told["kvlistValue"]).get("values"))
    if isinstance(told.get("intValue"), str) and told["intValue"].isdecimal():
        return int(told["intValue"])
    return next(iter(told.values()), None)


def _seconds(value: Any) -> float:
    if isinstance(value, str) and not value.isdecimal():
        time = as_time(value)
        return time.timestamp() if time is not None else 0.0
    try:
        return int(value) / _NANOSECONDS
    except (TypeError, ValueError, OverflowError):
        return 0.0


def _otel_entries(spans: list[_Span]) -> Iterator[RecordedItem]:
    assembler, heard = Assembler(), 0
    for span in spans:
        if span.is_chat:
            heard = _chat(assembler, span, heard)
        else:
            _tool(assembler, span)
        yield from assembler.take()
    yield from assembler.finish()


def _chat(assembler: Assembler, span: _Span, heard: int) -> int:
    """Read what is new in a request, then the response; return how many messages were heard."""
    messages = dicts(_structured(span.attributes.get(_INPUT)))
    new = messages[heard:] if len(messages) > heard else messages[-1:] if heard else messages
    for message in new:
        _listen(assembler, message, span)
    for message in dicts(_structured(span.attributes.get(_OUTPUT)))[:1]:
        _respond(assembler, message, span)
    return len(messages) + 1


def _structured(value: Any) -> Any:
    return arguments(value) if isinstance(value, str) else value


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    parts = dicts(message.get("parts"))
    return parts or ([{"type": "text", "content": content}] if isinstance(content, str) else [])


def _texts(parts: list[dict[str, Any]], kind: str) -> str:
    return joined(
        part.get("content", part.get("text")) for part in parts if part.get("type") == kind
    )


def _listen(assembler: Assembler, message: dict[str, Any], span: _Span) -> None:
    parts = _parts(message)
    for part in parts:
        call_id = named(part.get("id"))
        if part.get("type") == "tool_call_response" and assembler.waits(call_id):
            told = part.get("response", part.get("result"))
            assembler.answer(call_id, flagged(flattened(told)))
    text = _texts(parts, "text")
    if message.get("role") == "user" and text:
        assembler.user(text, as_time(span.started) if span.started else None)


def _respond(assembler: Assembler, message: dict[str, Any], span: _Span) -> None:
    parts = _parts(message)
    used = {
        "input_tokens": span.attributes.get("gen_ai.usage.input_tokens"),
        "output_tokens": span.attributes.get("gen_ai.usage.output_tokens"),
    }
    assembler.respond(
        text=_texts(parts, "text"),
        reasoning=_texts(parts, "reasoning"),
        usage=usage(used) if any(used.values()) else None,
        at=as_time(span.ended) if span.ended else None,
        presumed=True,
    )
    for part in parts:
        if part.get("type") == "tool_call":
            params, call_id = arguments(part.get("arguments")), named(part.get("id"))
            assembler.call(named(part.get("name")), params, call_id)


def _tool(assembler: Assembler, span: _Span) -> None:
    """Read a tool's span: the answer to a call that waits, else a call of its own."""
    name = _first(span, _NAMES) or "tool"
    call_id = named(span.attributes.get("gen_ai.tool.call.id")) or assembler.oldest(name)
    if not assembler.waits(call_id):
        assembler.respond(at=as_time(span.started) if span.started else None)
        call_id = assembler.call(name, arguments(_first(span, _PARAMS)), call_id)
    result = _first(span, _RESULTS)
    assembler.answer(
        call_id,
        CallResult(
            result=result if result is not None else span.message or None,
            outcome=Outcome.ERROR if span.failed else Outcome.OK,
            at=as_time(span.ended) if span.ended else None,
            duration=max(0.0, span.ended - span.started) if span.started and span.ended else None,
        ),
    )


def _first(span: _Span, keys: tuple[str, ...]) -> Any:
    return next((span.attributes[key] for key in keys if key in span.attributes), None)
