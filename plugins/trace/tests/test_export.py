"""Traces in the formats of others, checked with what those others publish."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tracemalloc
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from trimtab import Prompt, Session, ToolCall
from trimtab.__main__ import main
from trimtab_trace import (
    JsonlTrace,
    OtelRecorder,
    TraceEvent,
    atif,
    cloudevents,
    export_spans,
    open_trace,
)
from trimtab_trace._export._otlp import otlp_lines

from .making import records, write
from .running import drive, prompt


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    drive(prompt(JsonlTrace(str(tmp_path))))
    return tmp_path / "run-1.jsonl"


def test_cloudevents_have_what_their_specification_requires(trace: Path) -> None:
    found = list(cloudevents(open_trace(trace)))
    events = list(open_trace(trace))
    assert len(found) == len(events)
    for one, event in zip(found, events, strict=True):
        assert one["specversion"] == "1.0"
        assert all(isinstance(one[name], str) and one[name] for name in ("id", "source", "type"))
        assert one["id"] == event.event_id
        assert one["data"]["payload"] == event.payload
        assert all(name.isalnum() and name.islower() for name in one)
    assert [one["sequence"] for one in found] == sorted(one["sequence"] for one in found)
    assert len({(one["source"], one["id"]) for one in found}) == len(found)


def test_atif_numbers_steps_and_ties_results_to_their_calls(trace: Path) -> None:
    document = atif(open_trace(trace))
    steps = document["steps"]
    assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
    assert document["schema_version"] == "ATIF-v1.8"
    results = 0
    for step in steps:
        calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        for result in step.get("observation", {"results": ()})["results"]:
            assert result["source_call_id"] in calls
            results += 1
        if step["source"] != "agent":
            assert not {"tool_calls", "metrics", "reasoning_content"} & set(step)
    assert results == 9
    assert document["final_metrics"]["total_prompt_tokens"] == 900
    said = [step for step in steps if "trimtab" in step.get("extra", {})]
    assert any("failures in a row" in step["message"] for step in said)


@pytest.mark.e2e
def test_atif_is_valid_by_the_models_of_harbor(trace: Path, tmp_path: Path) -> None:
    from trimtab_test_servers.interpreters import find_python

    document = tmp_path / "trace.json"
    document.write_text(json.dumps(atif(open_trace(trace))))
    # In an environment of its own: it needs a newer Python, and pins clients that others need.
    python = find_python(12)
    if python is None and not os.environ.get("CI"):
        pytest.skip("harbor needs Python 3.12 or newer, and none that runs was found")
    assert python, "harbor needs Python 3.12 or newer"
    uv = [sys.executable, "-m", "uv", "run", "--quiet", "--isolated", "--no-project"]
    done = subprocess.run(
        [*uv, "--python", python, "--with", "harbor>=0.20", "python", "-c", VALIDATE, document],
        capture_output=True,
        text=True,
        timeout=110,
        env={**os.environ, "UV_PYTHON_DOWNLOADS": "never"},
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 9


@pytest.mark.e2e
def test_inspect_reads_its_log_and_bundles_its_viewer(trace: Path, tmp_path: Path) -> None:
    # In an environment of its own: it needs some 170 packages, at versions that others exclude.
    uv = [sys.executable, "-m", "uv", "run", "--quiet", "--isolated", "--no-project"]
    with_it = ["--python", sys.executable, "--with", "inspect_ai>=0.3.200"]
    here = sysconfig.get_path("purelib")
    done = subprocess.run(
        [*uv, *with_it, "python", "-c", INSPECT, here, str(trace), str(tmp_path / "logs")],
        capture_output=True,
        text=True,
        timeout=180,
        env={**os.environ, "UV_PYTHON_DOWNLOADS": "never"},
    )
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout.splitlines()[-1])
    assert read["status"] == "success"
    assert read["task"] == "agent/main"
    assert read["id"] == "run-1"
    assert read["events"]["model"] == read["events"]["tool"] == 9
    assert read["events"]["info"] >= 2
    assert read["tokens"] == 900
    assert read["failed"] == 7
    assert "failures in a row" in read["told"]
    assert read["bundle"] == ["index.html", "logs"]


INSPECT = """
import collections, json, pathlib, site, sys
here, trace, logs = sys.argv[1:]
site.addsitedir(here)  # behind what inspect_ai needs
from trimtab.__main__ import main
folder = pathlib.Path(logs)
folder.mkdir()
log = str(folder / "run.eval")
assert main(["trace", "export", trace, "--to", "inspect", "-o", log]) == 0
from inspect_ai.log import bundle_log_dir, read_eval_log
read = read_eval_log(log)
(sample,) = read.samples
bundle_log_dir(logs, logs + "-page")
tools = [event for event in sample.events if event.event == "tool"]
print()
print(json.dumps({
    "status": read.status, "task": read.eval.task, "id": sample.id,
    "events": collections.Counter(event.event for event in sample.events),
    "tokens": sum(usage.input_tokens for usage in sample.model_usage.values()),
    "failed": sum(event.error is not None for event in tools),
    "told": str([event.data for event in sample.events if event.event == "info"]),
    "bundle": sorted(p.name for p in pathlib.Path(logs + "-page").glob("[il]*")),
}))
"""


def test_an_inspect_log_needs_its_library_and_a_file(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["trace", "export", str(trace), "--to", "inspect"]
    assert main(arguments) == 2
    assert "name it with --output FILE.eval" in capsys.readouterr().err
    assert main([*arguments, "-o", str(tmp_path / "run.txt")]) == 2
    assert "one that ends in .eval" in capsys.readouterr().err
    if find_spec("inspect_ai") is None:
        assert main([*arguments, "-o", str(tmp_path / "run.eval")]) == 2
        assert "pip install 'trimtab-trace[inspect]'" in capsys.readouterr().err


VALIDATE = """
import sys, pathlib
from harbor.models.trajectories import Trajectory
text = pathlib.Path(sys.argv[1]).read_text()
print(len(Trajectory.model_validate_json(text).steps))
"""


def spans_of(session_or_trace: Path | None, *, content: bool = False) -> list[object]:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    if session_or_trace is None:
        live: Session = drive(prompt(OtelRecorder(content=content, provider=provider)))
        assert live.runs()["run-1"].closed
    else:
        export_spans(open_trace(session_or_trace), provider, content=content)
    return list(exporter.get_finished_spans())


@pytest.mark.parametrize("live", [False, True])
def test_spans_reach_opentelemetry_by_the_names_of_its_conventions(trace: Path, live: bool) -> None:
    spans = spans_of(None if live else trace)
    tools = [span for span in spans if span.name == "execute_tool bash"]
    (agent,) = (span for span in spans if span.name == "invoke_agent agent/main")
    assert len(tools) == 9
    assert {span.parent.span_id for span in tools} == {agent.context.span_id}
    assert agent.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert agent.attributes["gen_ai.agent.name"] == "agent/main"
    assert agent.attributes["gen_ai.conversation.id"] == "run-1"
    assert dict(tools[0].attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.id": "call-0",
        "gen_ai.tool.type": "function",
        "error.type": "error",
    }
    assert tools[0].end_time - tools[0].start_time == 1_300_000_000
    names = [event.name for event in agent.events]
    chats = [span for span in spans if span.name == "chat"]
    assert {span.parent.span_id for span in chats} == {agent.context.span_id}
    assert {span.attributes["gen_ai.provider.name"] for span in chats} == {"local"}
    assert len(chats) == 9
    assert "trimtab.guidance" in names
    assert "trimtab.feedback" in names
    results = [event for event in agent.events if event.name == "gen_ai.evaluation.result"]
    assert {event.attributes["gen_ai.evaluation.score.label"] for event in results} >= {
        "incomplete",
        "unverified",
    }
    assert agent.attributes["trimtab.termination.reason"] == "done"


def test_texts_leave_the_machine_only_where_asked_for(trace: Path) -> None:
    without = json.dumps([span.to_json() for span in spans_of(trace)])
    assert "make 0" not in without
    assert "failures in a row" not in without
    content = json.dumps([span.to_json() for span in spans_of(trace, content=True)])
    assert "make 0" in content
    assert "failures in a row" in content


def test_an_atif_export_names_the_model_and_keeps_failures(tmp_path: Path) -> None:
    replaying = pytest.importorskip("trimtab_replay")
    pytest.importorskip("trimtab_doom_loop")
    run: Any = Session().open_run(
        Prompt("a", "b", recorders=[JsonlTrace(str(tmp_path))], config=None), run_id="r"
    )
    run.model_responded(tool_calls=[ToolCall("sql", {}, "c1")], model="m-1", provider="acme")
    run.tool_started("sql", {}, "c1")
    run.tool_finished("c1", "all is well", outcome="error")
    run.close()
    document = atif(open_trace(tmp_path / "r.jsonl"))
    assert document["agent"]["model_name"] == document["steps"][0]["model_name"] == "m-1"
    path = tmp_path / "r.atif.json"
    path.write_text(json.dumps(document))
    job = replaying.Job(selection=replaying.enabled(["doom-loop"]), keep_calls=True)
    (read,) = replaying.replay_all([path], job, replaying.ReadStats())
    assert [(call.tool, call.outcome) for call in read.steps] == [("sql", "error")]


def test_spans_are_written_while_the_trace_is_read(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    path = write(tmp_path / "run.jsonl", records(700), durability="none")
    read: list[str] = []

    def events() -> Iterator[TraceEvent]:
        for event in open_trace(path):
            read.append(event.event_type)
            yield event

    lines = otlp_lines(events())
    batches = [len(read) for _ in lines]
    assert len(read) == 2103
    assert batches[0] <= 1_024  # 512 spans in a line, of 3 events for 2 spans
    assert batches == sorted(set(batches))


def test_steps_do_not_wait_in_memory(tmp_path: Path) -> None:
    peaks = []
    for calls in (5, 50, 450):  # the first only imports
        path = write(tmp_path / f"{calls}.jsonl", records(calls, size=20_000), durability="none")
        tracemalloc.start()
        try:
            arguments = ["trace", "export", str(path), "--to", "atif"]
            assert main([*arguments, "-o", str(tmp_path / "out")]) == 0
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    grown = (tmp_path / "450.jsonl").stat().st_size - (tmp_path / "50.jsonl").stat().st_size
    assert peaks[2] - peaks[1] < grown / 10


def test_a_result_that_comes_late_stands_at_the_step_that_asked_for_it(tmp_path: Path) -> None:
    run: Any = Session().open_run(
        Prompt("a", "b", recorders=[JsonlTrace(str(tmp_path))], config=None), run_id="r"
    )
    run.model_responded(text="I begin.", tool_calls=[ToolCall("build", {}, "c1")])
    run.tool_started("build", {}, "c1")
    run.model_responded(text="Meanwhile.")
    run.tool_finished("c1", "built")
    run.close()
    steps = atif(open_trace(tmp_path / "r.jsonl"))["steps"]
    assert [step["message"] for step in steps] == ["I begin.", "Meanwhile."]
    assert steps[0]["observation"]["results"][0]["content"] == "built"
    assert "observation" not in steps[1]


def test_a_trace_that_can_not_be_exported_leaves_no_file(tmp_path: Path) -> None:
    path = write(tmp_path / "empty.jsonl", records(0)[:1])
    out = tmp_path / "out.json"
    assert main(["trace", "export", str(path), "--to", "atif", "-o", str(out)]) == 2
    assert not out.exists()
