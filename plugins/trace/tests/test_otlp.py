"""Traces sent to a collector: accepted by the schema of OpenTelemetry's protocol."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)

from trimtab import DecisionPoint, ManualClock, Prompt, Session, ToolCall, Usage
from trimtab.__main__ import main
from trimtab_trace import JsonlTrace

from .running import Repeats


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A run of two responses with a call between, and guidance."""
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    prompt: Prompt[Any] = Prompt(
        "agent",
        "main",
        guidance_providers=[Repeats(threshold=0)],
        recorders=[JsonlTrace(str(tmp_path))],
        config=None,
    )
    run: Any = Session(clock=clock).open_run(prompt, run_id="run-1")
    run.user_message("How many?")
    sent = clock.now()
    clock.advance(2)
    call = ToolCall("sql", {"q": "select 1"}, "c1")
    run.model_responded(
        tool_calls=[call], usage=Usage(100, 20), model="m-1", provider="acme", started=sent
    )
    run.tool_started("sql", call.params, "c1")
    clock.advance(1)
    run.tool_finished("c1", "3 rows")
    run.guide(DecisionPoint.PRE_TOOL_SELECTION)
    clock.advance(1)
    run.model_responded(text="Three.", stop_reason="stop", model="m-1", provider="acme")
    run.close("done")
    return tmp_path / "run-1.jsonl"


@contextmanager
def collector(status: int = 200) -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """Listen on a loopback port; yield the endpoint and what it takes, parsed by the schema."""
    taken: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            assert self.path == "/v1/traces"
            taken.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [plain(item) for item in found.values] if kind == "array_value" else found


def by_name(request: ExportTraceServiceRequest) -> dict[str, Any]:
    (spans,) = (scope.spans for res in request.resource_spans for scope in res.scope_spans)
    found: dict[str, Any] = {}
    for span in spans:
        found.setdefault(span.name, []).append(
            (span, {item.key: plain(item.value) for item in span.attributes})
        )
    return found


def test_a_collector_takes_chats_calls_and_guidance(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with collector() as (endpoint, taken):
        assert main(["trace", "export", str(trace), "--to", "otel", "--endpoint", endpoint]) == 0
    assert capsys.readouterr().out == f"4 spans sent to {endpoint}\n"
    (request,) = taken
    found = by_name(request)
    assert {name: len(spans) for name, spans in found.items()} == {
        "chat m-1": 2,
        "execute_tool sql": 1,
        "invoke_agent agent/main": 1,
    }
    ((agent, told),) = found["invoke_agent agent/main"]
    assert told["gen_ai.provider.name"] == "acme"
    assert [event.name for event in agent.events] == ["trimtab.guidance"]
    chat, attributes = found["chat m-1"][0]
    assert chat.parent_span_id == agent.span_id
    assert chat.end_time_unix_nano - chat.start_time_unix_nano == 2_000_000_000
    assert chat.kind == 3  # a client's
    assert attributes["gen_ai.operation.name"] == "chat"
    assert attributes["gen_ai.provider.name"] == "acme"
    assert attributes["gen_ai.response.model"] == "m-1"
    assert (attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"]) == (
        100,
        20,
    )
    assert found["chat m-1"][1][1]["gen_ai.response.finish_reasons"] == ["stop"]
    assert not any("messages" in name for _, told in found["chat m-1"] for name in told)
    assert b"3 rows" not in request.SerializeToString()


def test_with_content_messages_have_the_form_of_the_conventions(trace: Path) -> None:
    with collector() as (endpoint, taken):
        options = ["--to", "otel", "--endpoint", endpoint, "--content"]
        assert main(["trace", "export", str(trace), *options]) == 0
    chats = [told for _, told in by_name(taken[0])["chat m-1"]]
    assert [json.loads(told["gen_ai.input.messages"]) for told in chats] == [
        [{"role": "user", "parts": [{"type": "text", "content": "How many?"}]}],
        [
            {
                "role": "tool",
                "parts": [{"type": "tool_call_response", "id": "c1", "response": "3 rows"}],
            }
        ],
    ]
    (asked,), (answer,) = (json.loads(told["gen_ai.output.messages"]) for told in chats)
    arguments = {"q": "select 1"}
    assert asked["parts"] == [
        {"type": "tool_call", "id": "c1", "name": "sql", "arguments": arguments}
    ]
    assert answer["parts"] == [{"type": "text", "content": "Three."}]
    assert answer["finish_reason"] == "stop"
    ((_, whole),) = by_name(taken[0])["invoke_agent agent/main"]
    assert whole["gen_ai.input.messages"] == chats[0]["gen_ai.input.messages"]
    assert whole["gen_ai.output.messages"] == chats[1]["gen_ai.output.messages"]


def test_the_file_is_otlp_json(trace: Path, tmp_path: Path) -> None:
    from google.protobuf.json_format import Parse

    path = tmp_path / "spans.json"
    assert main(["trace", "export", str(trace), "--to", "otel", "-o", str(path)]) == 0
    (line,) = path.read_text().splitlines()
    ids = re.findall(r'"(?:traceId|spanId|parentSpanId)": "([^"]*)"', line)
    assert all(re.fullmatch(r"[0-9a-f]{16}|[0-9a-f]{32}", item) for item in ids)
    # Protobuf's own JSON has base64 there; hexadecimal text is base64, too, so that it parses.
    assert len(by_name(Parse(line, ExportTraceServiceRequest()))["chat m-1"]) == 2


def test_what_is_read_back_is_the_same_run(trace: Path, tmp_path: Path) -> None:
    replaying = pytest.importorskip("trimtab_replay")
    pytest.importorskip("trimtab_doom_loop")
    path = tmp_path / "spans.jsonl"
    options = ["--to", "otel", "--content", "-o", str(path)]
    assert main(["trace", "export", str(trace), *options]) == 0
    job = replaying.Job(selection=replaying.enabled(["doom-loop"]), keep_calls=True)
    (read,) = replaying.replay_all([path], job, replaying.ReadStats())
    assert [(call.tool, call.result) for call in read.steps] == [("sql", "3 rows")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--endpoint", "collector"], "is no endpoint; give a URL"),
        (["--endpoint", "http://127.0.0.1:1", "-o", "x"], "without --output"),
    ],
)
def test_wrong_options_say_what_to_do(
    trace: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "export", str(trace), "--to", "otel", *options]) == 2
    assert words in capsys.readouterr().err


def test_a_collector_that_refuses_is_an_error(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with collector(400) as (endpoint, _):
        assert main(["trace", "export", str(trace), "--to", "otel", "--endpoint", endpoint]) == 2
    assert "took 0 spans and no more" in capsys.readouterr().err
