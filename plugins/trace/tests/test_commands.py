"""The command ``trimtab trace``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab.__main__ import main
from trimtab_trace import JsonlStore, JsonlTrace, SqliteTrace, TraceWriter, open_trace

from .running import drive, prompt


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    drive(prompt(JsonlTrace(str(tmp_path))))
    return tmp_path / "run-1.jsonl"


def run(*arguments: object) -> int:
    return main(["trace", *map(str, arguments)])


def test_show_lists_every_event(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", trace) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list(open_trace(trace)))
    assert lines[0].split()[2] == "RunConfigured"
    assert run("show", trace, "--type", "GuidanceDelivered", "--json") == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {event["event_type"] for event in shown} == {"GuidanceDelivered"}


def test_show_obeys_no_character_of_a_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = TraceWriter(JsonlStore(tmp_path / "run.jsonl"))
    writer.write("\x1b[2J", {"text": "\x1b]0;title\x07\u202e"}, actor="\x1b[31m\nx")
    writer.write("UserMessage", {"text": "\x1b[31mred\n\n"})
    writer.close()
    assert run("show", tmp_path / "run.jsonl") == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 2
    assert all(character.isprintable() for character in out.replace("\n", ""))


def test_show_and_verify_name_what_is_damaged(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("verify", trace) == 0
    assert "events intact, 1 writer" in capsys.readouterr().out
    data = bytearray(trace.read_bytes())
    data[len(data) // 2] ^= 1
    trace.write_bytes(data)
    assert run("verify", trace) == 1
    out = capsys.readouterr().out
    assert "damaged: line" in out
    assert run("show", trace) == 1
    assert "byte" in capsys.readouterr().err
    trace.write_bytes(data[:-20])
    assert run("verify", trace) == 1
    assert "cut short" in capsys.readouterr().out


def test_verify_names_payloads_that_do_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = TraceWriter(JsonlStore(tmp_path / "run.jsonl"))
    writer.write("ToolReturned", {"nothing": "fits"}, run_id="r")
    writer.write("RunOpened", {}, run_id="r")
    writer.write("Gone", {})
    writer.close()
    assert run("verify", tmp_path / "run.jsonl") == 1
    out = capsys.readouterr().out
    assert "event 0 does not fit its type ToolReturned" in out
    assert "1 event of types that are not installed: Gone" in out
    assert "run r has not ended" in out


def test_at_shows_the_session_then(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("at", trace, 12) == 0
    assert "run run-1 of agent/main: open" in capsys.readouterr().out
    assert run("at", trace, 12, "--json") == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["run_id"] == "run-1"


def test_diff_shows_the_first_pair_that_differs(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drive(prompt(JsonlTrace(str(tmp_path / "same"))), run_id="another")
    assert run("diff", trace, tmp_path / "same" / "another.jsonl") == 0
    drive(prompt(JsonlTrace(str(tmp_path / "other")), threshold=2))
    capsys.readouterr()
    assert run("diff", trace, tmp_path / "other" / "run-1.jsonl") == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line[:2] for line in lines] == ["A:", "B:"]
    assert "GuidanceDelivered" in lines[1]


def test_replay_of_a_provider_object_says_what_to_do(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("replay", trace) == 2
    assert "given as an object" in capsys.readouterr().err


def test_export_writes_each_format(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("export", trace, "--to", "atif", "-o", tmp_path / "a.json") == 0
    assert json.loads((tmp_path / "a.json").read_text())["steps"]
    assert run("export", trace, "--to", "cloudevents") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list(open_trace(trace)))
    assert run("export", trace, "--to", "atif", "-o", tmp_path / "no" / "a.json") == 2
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    capsys.readouterr()
    assert run("export", trace, "--to", "otel") == 0
    (line,) = capsys.readouterr().out.splitlines()
    spans = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert {"invoke_agent agent/main", "execute_tool bash"} <= {span["name"] for span in spans}


def test_a_database_with_several_runs_asks_for_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.db"
    for name in ("one", "two"):
        drive(prompt(SqliteTrace(str(path))), run_id=name)
    assert run("verify", path) == 2
    assert "name one of: one, two" in capsys.readouterr().err
    assert run("verify", path, "--name", "two") == 0


@pytest.mark.parametrize("content", [b"", b"{}\n", b"\xff\xfe\x00", b"[1]\n[2]\n"])
def test_what_is_no_trace_is_named(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    for verb in (["show"], ["verify"], ["at"], ["replay"]):
        status = run(*verb, path, *(["3"] if verb == ["at"] else []))
        assert status in (1, 2)
    assert run("show", tmp_path / "missing.jsonl") == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"\x00\xff\xfe{", b'{"seq":1'])
def test_show_names_a_file_that_holds_no_whole_event(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes(content)

    assert run("show", path) == 1
    assert "it holds no whole event" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verb", "status"),
    [
        (["show"], 1),
        (["show", "--json"], 1),
        (["verify"], 1),
        (["at", "0"], 2),
        (["replay"], 2),
        (["export", "--to", "atif"], 2),
    ],
)
@pytest.mark.parametrize("content", [b"", b'{"seq":1'])
def test_a_trace_without_events_is_a_problem_whatever_is_asked(
    verb: list[str],
    status: int,
    content: bytes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(content)
    assert run(verb[0], path, *verb[1:]) == status
    shown = capsys.readouterr()
    assert "identical" not in shown.out
    assert "no whole event" in shown.err


def test_two_empty_traces_are_not_called_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"")
    assert run("diff", tmp_path / "a", tmp_path / "b") == 2
    assert "no whole event" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seq", "what"),
    [
        ("-1", "'-1' is not the number of an event: 0 or more"),
        ("x", "'x' is not the number of an event"),
        ("9" * 50, "is not the number of an event"),
        ("9999", "the trace has no event 9999: its events are 0 to "),
    ],
)
def test_at_refuses_a_number_that_no_event_has(
    seq: str, what: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status: object = run("at", trace, seq)
    except SystemExit as error:  # argparse's way
        status = error.code
    assert status == 2
    shown = capsys.readouterr()
    assert what in shown.err
    assert shown.out == ""


def test_at_takes_the_first_and_the_last_event(trace: Path) -> None:
    events = len(list(open_trace(trace)))
    assert run("at", trace, 0) == 0
    assert run("at", trace, events - 1) == 0
    assert run("at", trace, events) == 2


def test_show_names_a_type_of_which_there_is_no_event(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", trace, "--type", "ToolReturnd") == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "no event is of type 'ToolReturnd'. Did you mean 'ToolReturned'? It holds" in shown.err
    assert run("show", trace, "--type", "ProviderSkipped") == 0
    assert "no event is of type 'ProviderSkipped'" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["show", "verify"])
def test_a_long_file_of_something_else_is_not_spread_over_the_screen(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "access.log"
    path.write_text("GET / 200\n" * 20_000)
    assert run(verb, path) == 1
    shown = capsys.readouterr()
    lines = (shown.out + shown.err).splitlines()
    assert len(lines) < 30
    assert any("and 19,980 more damaged places" in line for line in lines)
    assert any("is it a trace?" in line for line in lines)
