"""Replaying a trace: the same decisions, texts and order; the same session at any point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from trimtab import (
    Budget,
    DecisionPoint,
    Feedback,
    GuidanceDelivered,
    GuidanceProviderConfig,
    Host,
    ManualClock,
    Outcome,
    Plan,
    Prompt,
    Run,
    Session,
    TaskCompletionResult,
    ToolCall,
    ToolInvoked,
    load_configuration,
)
from trimtab.events import CompletionChecked, ProviderFaulted, ProviderSlow, StopRequested
from trimtab_testing import Checker, Speaker
from trimtab_trace import (
    JsonlStore,
    JsonlTrace,
    SessionTrace,
    SqliteTrace,
    TraceError,
    TraceEvent,
    TraceWriter,
    open_trace,
    replay,
    session_at,
    session_of,
)

from .running import Repeats, drive, prompt, step


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Session, Path]:
    session = drive(prompt(JsonlTrace(str(tmp_path))))
    return session, tmp_path / "run-1.jsonl"


def again(threshold: int = 3) -> dict[str, Prompt]:
    return {"agent/main": prompt(threshold=threshold)}


def test_a_replay_decides_the_same_and_ends_with_the_same_session(
    recorded: tuple[Session, Path],
) -> None:
    session, path = recorded
    done = replay(open_trace(path), prompts=again())
    assert done.difference is None
    assert done.decisions >= 15
    for kind in (GuidanceDelivered, Feedback, CompletionChecked, ProviderFaulted):
        assert len(session[kind]), kind
        assert done.session[kind].all() == session[kind].all()
    assert done.session.snapshot() == session.snapshot()


def test_what_a_database_holds_replays_alike(tmp_path: Path) -> None:
    session = drive(prompt(SqliteTrace(str(tmp_path / "runs.db"))))
    done = replay(open_trace(tmp_path / "runs.db"), prompts=again())
    assert done.identical
    assert done.session.snapshot() == session.snapshot()


def test_two_recordings_of_one_run_hold_the_same_events(tmp_path: Path) -> None:
    from trimtab_trace._page import first_difference

    for name in ("a", "b"):
        drive(prompt(JsonlTrace(str(tmp_path / name))))
    one, other = (open_trace(tmp_path / name / "run-1.jsonl") for name in ("a", "b"))
    assert first_difference(one, other) is None


def test_another_setting_is_reported_at_the_first_event_that_differs(
    recorded: tuple[Session, Path],
) -> None:
    _, path = recorded
    done = replay(open_trace(path), prompts=again(threshold=2))
    assert done.difference is not None
    assert not done.identical
    early = done.difference
    first = next(e for e in open_trace(path) if e.event_type == "GuidanceDelivered")
    assert early.seq < first.seq
    assert early.recorded is None
    assert early.replayed is not None
    assert "2 failures in a row" in str(early)
    late = replay(open_trace(path), prompts=again(threshold=4)).difference
    assert late is not None
    assert late.seq == first.seq
    assert late.replayed is None


def test_a_changed_text_is_a_difference(recorded: tuple[Session, Path], tmp_path: Path) -> None:
    _, path = recorded
    changed = []
    for event in open_trace(path):
        if event.event_type == "FeedbackDelivered":
            payload = {**event.payload, "summary": "300.0 seconds are left!"}
            changed.append(attrs.evolve(event, payload=payload))
        else:
            changed.append(event)
    difference = replay(changed, prompts=again()).difference
    assert difference is not None
    assert changed[difference.seq].event_type == "FeedbackDelivered"


def test_a_missing_decision_at_the_end_is_a_difference(recorded: tuple[Session, Path]) -> None:
    _, path = recorded
    events = list(open_trace(path))
    last = max(i for i, e in enumerate(events) if e.event_type == "CompletionChecked")
    difference = replay(events[:last], prompts=again()).difference
    assert difference is not None
    assert difference.seq == last


def test_a_provider_that_was_given_as_an_object_is_named(recorded: tuple[Session, Path]) -> None:
    _, path = recorded
    with pytest.raises(TraceError, match="'repeats' of prompt 'agent/main' was given as an object"):
        replay(open_trace(path))


def test_the_installed_providers_are_built_from_the_trace(tmp_path: Path) -> None:
    pytest.importorskip("trimtab_doom_loop")
    pytest.importorskip("trimtab_deadline_feedback")
    from trimtab import enable

    session = drive(
        Prompt(
            "agent",
            "main",
            config=None,
            recorders=[JsonlTrace(str(tmp_path))],
            guidance_providers=[enable("doom-loop", max_repetitions=2)],
            feedback_providers=[enable("deadline-feedback", warning_threshold_seconds=295)],
        )
    )
    assert len(session[GuidanceDelivered])
    assert len(session[Feedback])
    done = replay(open_trace(tmp_path / "run-1.jsonl"))
    assert done.identical
    assert done.session.snapshot() == session.snapshot()


def test_session_at_is_the_session_as_it_was(tmp_path: Path) -> None:
    clock = ManualClock()
    session = Session(clock=clock)
    run = session.open_run(prompt(JsonlTrace(str(tmp_path))), run_id="run-1")
    path = tmp_path / "run-1.jsonl"
    seen: list[tuple[int, int, int]] = []
    for number in range(6):
        step(run, number, clock, fails=True)
        last = list(open_trace(path))[-1].seq
        seen.append((last, run.state.calls, run.state.turns))
    for last, calls, turns in seen:
        state = session_at(open_trace(path), last).runs()["run-1"]
        assert (state.calls, state.turns, state.open_turn) == (calls, turns, None)


def test_a_session_of_a_trace_holds_the_recorded_events(recorded: tuple[Session, Path]) -> None:
    session, path = recorded
    folded = session_of(open_trace(path))
    for kind in (ToolInvoked, GuidanceDelivered, Feedback, CompletionChecked):
        assert folded[kind].all() == session[kind].all()
    assert folded.runs()["run-1"].usage == session.runs()["run-1"].usage


def test_a_run_that_goes_on_in_another_process_continues_its_trace(tmp_path: Path) -> None:
    clock = ManualClock()
    first = Session(clock=clock)
    run = first.open_run(prompt(JsonlTrace(str(tmp_path))), run_id="run-1")
    for number in range(3):
        step(run, number, clock, fails=True)
    run._stop_recording()  # the process ends here
    clock.advance(60)
    second = Session.restore(first.snapshot(), clock=clock)
    run = second.open_run(prompt(JsonlTrace(str(tmp_path))), run_id="run-1")
    for number in range(3, 6):
        step(run, number, clock, fails=True)
    run.close()
    path = tmp_path / "run-1.jsonl"
    assert {event.epoch for event in open_trace(path)} == {0, 1}
    folded = session_of(open_trace(path))
    assert folded.runs()["run-1"].calls == 6
    assert folded[ToolInvoked].all() == second[ToolInvoked].all()


def test_runs_of_one_session_may_share_a_file(tmp_path: Path) -> None:
    clock = ManualClock()
    session = Session(clock=clock)
    trace = SessionTrace(tmp_path / "session.jsonl")
    main = session.open_run(prompt(), run_id="main", recorders=[trace])
    clock.advance(3.7)
    sub = session.open_run(prompt(key="sub"), "helper", run_id="sub", recorders=[trace])
    for number in range(5):
        for run in (main, sub):
            step(run, number, clock, fails=True)
    session.dispatch(Plan())
    sub.close()
    main.close()
    trace.close()
    events = list(open_trace(tmp_path / "session.jsonl"))
    assert [event.event_type for event in events].count("PlanRecorded") == 1
    assert {event.actor for event in events} == {"main", "helper"}
    done = replay(events, prompts={"agent/main": prompt(), "agent/sub": prompt(key="sub")})
    assert done.identical, str(done.difference)
    assert done.session.snapshot() == session.snapshot()


def test_events_of_unknown_types_are_left_out_and_counted(
    recorded: tuple[Session, Path], tmp_path: Path
) -> None:
    session, path = recorded
    copy = TraceWriter(JsonlStore(tmp_path / "copy.jsonl"))
    for event in open_trace(path):
        copy.append(event)
        if event.event_type == "ToolReturned":
            copy.write("StageOfAGonePackage", {"x": 1}, run_id=event.run_id)
    copy.close()
    done = replay(open_trace(tmp_path / "copy.jsonl"), prompts=again())
    assert done.identical
    assert done.unknown == 9
    assert done.session.snapshot() == session.snapshot()


def test_keep_removes_the_oldest_traces_of_the_folder(tmp_path: Path) -> None:
    for number in range(5):
        drive(prompt(JsonlTrace(str(tmp_path), keep=3)), run_id=f"run-{number}")
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["run-2", "run-3", "run-4"]
    with pytest.raises(TraceError, match="keep"):
        JsonlTrace(str(tmp_path), keep=0)


def test_keep_leaves_alone_what_the_recorder_did_not_write_or_still_writes(tmp_path: Path) -> None:
    mine = JsonlTrace(str(tmp_path), keep=1)
    others = {"train.jsonl": "{}\n", "empty.jsonl": "", "run-x.jsonl": "[]"}
    for name, text in others.items():
        (tmp_path / name).write_text(text)
    drive(prompt(mine), run_id="copied")
    (tmp_path / "copied.jsonl").rename(tmp_path / "best.jsonl")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "train.jsonl")
    session = Session()
    still = session.open_run(prompt(mine), run_id="still")
    for number in range(3):
        drive(prompt(mine), run_id=f"run-{number}")
    still.user_message("Go on.")
    still.close()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*others, "best.jsonl", "link.jsonl", "still.jsonl", "run-2.jsonl"}
    assert "Go on." in (tmp_path / "still.jsonl").read_text()


def test_without_a_folder_the_trace_lies_in_the_state_folder_of_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "trimtab.toml").write_text("[prompts.'a/b']\nrecorders = ['jsonl-trace']")
    configuration = load_configuration(tmp_path / "trimtab.toml")
    near: Prompt = Prompt("a", "b", config=configuration, environment={})
    home: Prompt = Prompt(
        "a", "b", config=configuration, environment={"TRIMTAB_HOME": str(tmp_path / "home")}
    )

    for prompt_, run_id in ((near, "near"), (home, "home")):
        Session().open_run(prompt_, run_id=run_id).close()

    assert (tmp_path / ".trimtab" / "traces" / "near.jsonl").exists()
    assert (tmp_path / "home" / "traces" / "home.jsonl").exists()


def test_a_run_id_can_not_leave_the_folder(tmp_path: Path) -> None:
    run: Run = Session().open_run(
        prompt(JsonlTrace(str(tmp_path / "traces"))), run_id="../../etc/passwd\0"
    )
    run.close()
    (path,) = (tmp_path / "traces").iterdir()
    assert path.name.startswith("_.._etc_passwd_-")


def test_a_full_disk_is_an_event_and_the_run_goes_on(tmp_path: Path) -> None:
    from .test_stores import file_size_limit

    with file_size_limit(6_000):
        session = drive(prompt(JsonlTrace(str(tmp_path), durability="none")))
    faults = [fault for fault in session[ProviderFaulted].all() if fault.hook == "record"]
    assert len(faults) == 3
    assert "free some space" in faults[0].error
    assert len(session[ToolInvoked]) == 9
    events: list[TraceEvent] = list(open_trace(tmp_path / "run-1.jsonl"))
    assert [event.seq for event in events] == list(range(len(events)))


def test_a_slow_provider_in_the_trace_is_no_difference(tmp_path: Path) -> None:
    import time

    @attrs.define
    class Slow:
        name: str = "slow"

        def check(self, context: object) -> TaskCompletionResult:
            time.sleep(0.06)
            return TaskCompletionResult.incomplete("not yet")

    slow = Prompt(
        "a", "b", config=None, completion_checkers=[Slow()], recorders=[JsonlTrace(str(tmp_path))]
    )
    session = Session()
    run = session.open_run(slow, run_id="run-1")
    run.check_completion()
    run.close()
    assert len(session[ProviderSlow])
    done = replay(open_trace(tmp_path / "run-1.jsonl"), prompts={"a/b": slow})
    assert done.identical
    assert len(list(tmp_path.iterdir())) == 1  # the replay wrote no trace of its own


def test_decisions_that_other_threads_recorded_in_between_are_no_difference(
    recorded: tuple[Session, Path],
) -> None:
    _, path = recorded
    events = list(open_trace(path))
    first = next(i for i, e in enumerate(events) if e.event_type == "GuidanceDelivered")
    assert events[first - 1].event_type == "GuidanceAsked"
    said = TraceEvent(
        event_type="UserMessage",
        payload={"text": "meanwhile", "notification": True, "elapsed": 4.0},
        event_id="meanwhile",
        run_id="run-1",
        timestamp=events[first].timestamp,
        references=events[first].references,
        seq=events[first].seq,
    )
    assert replay([*events[:first], said, *events[first:]], prompts=again()).difference is None


def test_a_replay_knows_the_limits_of_turns_and_calls(tmp_path: Path) -> None:
    def limited(*recorders: object) -> Prompt:
        near = Speaker("near", text="Two.", verdict=lambda context: context.turns_left == 2)
        parts = {"guidance_providers": [near], "recorders": recorders}
        return Prompt("agent", "main", config=None, **parts)

    session = Session(clock=ManualClock())
    limits = {"host": Host(max_turns=4), "budget": Budget(max_calls=2)}
    run = session.open_run(limited(JsonlTrace(str(tmp_path))), run_id="run-1", **limits)
    for number in range(4):
        run.guide(DecisionPoint.PRE_TOOL_SELECTION)
        run.model_responded(tool_calls=[ToolCall("look", {}, f"c{number}")])
        run.tool_finished(f"c{number}", "seen")
    run.check_completion(extra=[Checker(answer=TaskCompletionResult.incomplete("more"))])
    run.close()

    done = replay(open_trace(tmp_path / "run-1.jsonl"), prompts={"agent/main": limited()})
    assert done.difference is None
    [said] = done.session[GuidanceDelivered].all()
    assert said.turn == 1
    [checked] = done.session[CompletionChecked].all()
    assert checked.reason == "the budget is used up: max_calls"


@pytest.mark.parametrize("use", ["jsonl", "sqlite"])
@pytest.mark.parametrize("after", [0, 2])
def test_a_run_resumed_from_an_older_snapshot_replays_identically(
    tmp_path: Path, use: str, after: int
) -> None:
    """`after`: turns that the first writer made after the snapshot."""
    path = tmp_path / ("run-1.jsonl" if use == "jsonl" else "traces.db")
    clock = ManualClock()

    def made() -> Prompt[Any]:
        recorder = JsonlTrace(str(tmp_path)) if use == "jsonl" else SqliteTrace(str(path))
        return Prompt("a", "b", guidance_providers=[Repeats()], recorders=[recorder], config=None)

    def played(run: Any, numbers: range) -> None:
        for number in numbers:
            clock.advance(1)
            run.guide(DecisionPoint.PRE_TOOL_SELECTION)
            call = ToolCall("sql", {}, f"c{number}")
            run.model_responded(tool_calls=[call])
            clock.advance(1)
            run.tool_started("sql", {}, call.call_id)
            run.tool_finished(call.call_id, "no such host", outcome=Outcome.ERROR)

    session = Session(clock=clock)
    run: Any = session.open_run(made(), run_id="run-1")
    played(run, range(3))
    snapshot = session.snapshot()
    clock.advance(1)
    played(run, range(3, 3 + after))
    run.close("killed")
    again = Session.restore(snapshot, clock=clock)
    resumed: Any = again.open_run(made(), run_id="run-1")
    played(resumed, range(10, 14))
    resumed.close("done")

    events = list(open_trace(path))
    for given in (events, open_trace(path), iter(events)):
        done = replay(given, prompts={"a/b": made()})
        assert done.difference is None, str(done.difference)
        assert done.decisions > 0
    rebuilt = session_of(open_trace(path))
    assert rebuilt[ToolInvoked].all() == again[ToolInvoked].all()
    first = [event.seq for event in events if event.epoch == 0][-1]
    assert len(session_at(open_trace(path), first)[ToolInvoked]) == 3 + after


def test_a_replay_asks_the_host_to_end_the_turn_at_the_same_moment(tmp_path: Path) -> None:
    def stuck(*recorders: object) -> Prompt:
        speaker = Speaker("stuck", text=lambda context: f"number {context.turn_count}")
        limited = GuidanceProviderConfig(speaker, stop_after=2, cooldown_turns=1)
        parts = {"guidance_providers": [limited], "recorders": recorders}
        return Prompt("agent", "main", config=None, **parts)

    session = Session(clock=ManualClock())
    run = session.open_run(stuck(JsonlTrace(str(tmp_path))), run_id="run-1", host=Host(stops=True))
    for number in range(5):
        run.model_responded(tool_calls=[ToolCall("look", {}, f"c{number}")])
        run.tool_finished(f"c{number}", "seen")
        run.guide(DecisionPoint.PRE_TOOL_SELECTION)
    run.close()

    done = replay(open_trace(tmp_path / "run-1.jsonl"), prompts={"agent/main": stuck()})
    assert done.difference is None
    assert done.session[StopRequested].all() == session[StopRequested].all()
    assert len(session[StopRequested]) == 1


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("shared", [False, True])
def test_a_fork_replays_behind_what_it_has_in_common_with_its_parent(
    tmp_path: Path, calls: int | None, shared: bool
) -> None:
    recorder: Any = SessionTrace(tmp_path / "all.jsonl") if shared else JsonlTrace(str(tmp_path))
    prompt = Prompt("agent", "main", guidance_providers=[Repeats()], config=None)
    session = Session()
    parent = session.open_run(prompt, run_id="parent", recorders=[recorder])
    for number in range(4):
        _fail(parent, f"p{number}")
    fork = session.fork_run(parent, calls=calls, run_id="fork", recorders=[recorder])
    for number in range(2):
        _fail(fork, f"f{number}")
        _fail(parent, f"q{number}")
    fork.close()
    parent.close()
    if shared:
        recorder.close()

    path = tmp_path / ("all.jsonl" if shared else "fork.jsonl")
    done = replay(open_trace(path), prompts={prompt.name: prompt})

    assert done.difference is None
    said = [event.injection.content for event in session[GuidanceDelivered].all()]
    assert len(said) >= 3
    assert done.session.runs()["fork"].calls == (calls or 4) + 2


def _fail(run: Run, call_id: str) -> None:
    run.model_responded(tool_calls=[ToolCall("read", {"path": "a"}, call_id)])
    run.tool_started("read", {"path": "a"}, call_id)
    run.tool_finished(call_id, "no such file", outcome=Outcome.ERROR)
    run.guide(DecisionPoint.PRE_TOOL_SELECTION)


def test_a_fork_without_the_trace_of_its_parent_says_what_is_missing(tmp_path: Path) -> None:
    recorder = JsonlTrace(str(tmp_path))
    session = Session()
    prompt = Prompt("agent", "main", config=None)
    parent = session.open_run(prompt, run_id="parent", recorders=[recorder])
    session.fork_run(parent, run_id="fork", recorders=[recorder]).close()
    (tmp_path / "parent.jsonl").unlink()

    with pytest.raises(TraceError, match=r"forked from 'parent'.* put parent\.jsonl there"):
        replay(open_trace(tmp_path / "fork.jsonl"))
