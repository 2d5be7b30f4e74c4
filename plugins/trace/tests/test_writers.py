"""What a writer notices: other files, other processes, events that were written before."""

from __future__ import annotations

import os

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab import (
    Deadline,
    FeedbackProviderConfig,
    FeedbackTrigger,
    ManualClock,
    MarkdownSection,
    Prompt,
    Session,
    Tool,
    ToolResult,
    enable,
)
from trimtab.events import ProviderFaulted
from trimtab_trace import (
    JsonlStore,
    JsonlTrace,
    SqliteStore,
    TraceWriteError,
    TraceWriter,
    open_trace,
    replay,
    verify,
)
from trimtab_trace._recorder import file_name


@attrs.frozen
class Query:
    q: str = ""


@pytest.fixture(params=[JsonlStore, SqliteStore])
def store(request, tmp_path):
    return lambda: request.param(tmp_path / "run")


def test_an_id_is_written_at_most_once_over_restarts(store, tmp_path):
    for number in range(3):
        writer = TraceWriter(store())
        first = writer.write("X", {"n": 1}, event_id='one "id"')
        writer.write("X", {"n": number, "event_id": f"other-{number}"}, event_id=f"new-{number}")
        again = writer.write("X", {"n": 1}, event_id='one "id"')
        writer.close()
        assert first == again
        assert first.seq == 0
    names = [event.event_id for event in open_trace(tmp_path / "run")]

    assert names == ['one "id"', "new-0", "new-1", "new-2"]


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps open files where they are")
@pytest.mark.parametrize("change", ["removed", "renamed", "replaced"])
def test_a_file_that_is_gone_is_a_failure_that_is_seen(tmp_path, change):
    path = tmp_path / "run.jsonl"
    writer = TraceWriter(JsonlStore(path))
    writer.write("X", {})
    path.rename(tmp_path / "old.jsonl") if change == "renamed" else path.unlink()
    if change == "replaced":
        path.write_text("")

    with pytest.raises(TraceWriteError, match="was removed or renamed while it was written"):
        writer.write("X", {})


def test_a_recorder_whose_file_is_gone_is_on_record(tmp_path):
    prompt = Prompt("a", "b", recorders=[JsonlTrace(str(tmp_path))], config=None)
    session = Session()
    run = session.open_run(prompt)
    (path,) = tmp_path.glob("*.jsonl")
    path.rename(tmp_path / "moved")
    run.user_message("Go on.")

    assert "removed or renamed" in session[ProviderFaulted].latest().error


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_write_into_the_trace_of_its_parent(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    writer = TraceWriter(JsonlStore(path))
    writer.write("X", {})
    parent = os.getpid()
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: parent + 1)
        with pytest.raises(TraceWriteError, match="opened by another process, which forked"):
            writer.write("X", {})
    writer.write("X", {})
    writer.close()

    assert verify(open_trace(path, strict=False)).intact
    assert len(list(open_trace(path))) == 2


def test_a_trace_is_repaired_and_continued_where_there_is_no_pread(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "pread", raising=False)
    path = tmp_path / "run.jsonl"
    with_torn_line = None
    for number in range(3):
        writer = TraceWriter(JsonlStore(path))
        writer.write("X", {"text": "x" * 70_000 if number else ""})
        writer.close()
        with path.open("ab") as file:
            file.write(b'{"torn')
        with_torn_line = path.stat().st_size
    JsonlStore(path).close()

    assert path.stat().st_size == with_torn_line - len(b'{"torn')
    assert [event.seq for event in open_trace(path)] == [0, 1, 2]


@given(st.lists(st.text(min_size=1, max_size=150), min_size=2, max_size=8, unique=True))
def test_names_of_files_do_not_collide_where_case_counts_or_not(run_ids):
    names = {file_name(run_id).lower() for run_id in run_ids}

    assert len(names) == len(run_ids)
    assert all(name.isascii() and "/" not in name and len(name) < 200 for name in names)


@pytest.mark.parametrize(
    "pair", [("a/b", "a:b"), ("A", "a"), ("x" * 130, "x" * 131), ("a_b", "a/b"), (".", "..")]
)
def test_names_that_look_alike_differ(pair):
    one, other = map(file_name, pair)

    assert one.lower() != other.lower()
    assert file_name("0190-plain.id_1") == "0190-plain.id_1"


@pytest.mark.parametrize("seconds", [90, 90.0, 30, 100])
def test_a_run_with_a_deadline_replays_identically(tmp_path, seconds):
    pytest.importorskip("trimtab_deadline_feedback")
    clock = ManualClock()
    session = Session(clock=clock)
    feedback = FeedbackProviderConfig(
        enable("deadline-feedback"), FeedbackTrigger(every_n_seconds=30)
    )
    prompt = Prompt(
        "a", "b", feedback_providers=[feedback], recorders=[JsonlTrace(str(tmp_path))], config=None
    )
    run = session.open_run(prompt, deadline=Deadline(seconds, clock))
    for number in range(4):
        clock.advance(31)
        run.tool_started("sql", {}, f"c{number}")
        run.tool_finished(f"c{number}", "ok")
        run.feedback()
    run.close()
    (path,) = tmp_path.glob("*.jsonl")
    done = replay(list(open_trace(path)), prompts={prompt.name: prompt})

    assert done.difference is None, str(done.difference)
    assert done.decisions > 0


def test_events_refer_to_the_versions_of_the_prompt_and_of_the_tool(tmp_path):
    def played(folder, *, template="Do it.", description="Query."):
        tool = Tool("sql", description, Query, lambda params, *, context: ToolResult.ok("x"))
        section = MarkdownSection(key="task", title="Task", template=template, tools=[tool])
        prompt = Prompt(
            "a", "b", [section], recorders=[JsonlTrace(str(tmp_path / folder))], config=None
        )
        run = Session().open_run(prompt, run_id="r")
        run.tool_started("sql", {}, "c1")
        run.tool_finished("c1", "ok")
        run.tool_finished("c2", "ok", tool="other", params={})
        run.close()
        events = list(open_trace(tmp_path / folder / "r.jsonl"))
        (version,) = {event.references.prompt_version for event in events}
        calls = [event for event in events if event.event_type == "ToolReturned"]
        return version, [event.references.tool_version for event in calls]

    version, (sql, other) = played("first")
    assert version
    assert sql
    assert other is None
    assert played("same") == (version, [sql, None])
    reworded, (same, _) = played("reworded", template="Do it now.")
    assert reworded != version
    assert same == sql
    assert played("described", description="Query rows.")[1][0] != sql
