"""The records of the calls of a run, and what they look like so far."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given, settings, strategies as st

from trimtab import DecisionPoint, Outcome, Prompt, Session, ToolInvoked, ToolProfile
from trimtab.events import CallOrigin, UserMessage, encode_value
from trimtab_signals import Calls


def call(tool="read", x=1, result="text", turn=None, **more):
    return ToolInvoked(tool=tool, params={"x": x}, result=result, turn=turn, **more)


def failing(error, turn=None, **more):
    return call(result=error, turn=turn, outcome=Outcome.ERROR, **more)


class Played:
    """A run with the events that a test dispatches."""

    def __init__(self, profiles=()):
        self.session = Session()
        self.run = self.session.open_run(Prompt("a", "b", [], tool_profiles=profiles))
        self.run.trajectory.follow(Calls)

    def play(self, events):
        for event in events:
            self.session.dispatch(event)
        return self

    def restart(self):
        """Save the session and go on with what is restored."""
        self.session = Session.restore(self.session.snapshot())
        self.run = self.session.open_run(self.run.prompt, run_id=self.run.run_id)
        return self

    @property
    def calls(self):
        return self.run.trajectory.follow(Calls)

    @property
    def counts(self):
        return self.run.trajectory.calls, self.run.trajectory.turns


def played(events, profiles=()):
    """Return the run after `events`, its last turn closed."""
    run = Played(profiles).play(events)
    run.run.guide(DecisionPoint.PRE_TOOL_SELECTION)
    return run


def after(events, profiles=()):
    return played(events, profiles).calls


def test_a_new_run_has_nothing_to_tell():
    assert played([]).counts == (0, 0)
    fresh = after([])
    assert (fresh.repeats, fresh.consecutive_errors) == (0, 0)
    assert fresh.tool_frequency == {}
    assert fresh.recent(5) == ()


def test_turns_are_batches():
    assert played([call(x=i, turn=i // 3) for i in range(9)]).counts == (9, 3)


def test_a_call_without_a_turn_is_a_turn_of_its_own():
    assert played([call(x=i) for i in range(4)]).counts == (4, 4)


def test_a_late_answer_stays_in_the_open_turn():
    assert played([call(turn=1), call(turn=2), call(x=2, turn=1)]).counts == (3, 2)


def test_repeats_count_equal_turns_whatever_their_order():
    a, b = {"x": 1}, {"x": 2}
    events = [
        ToolInvoked(tool="read", params=params, result="same", turn=turn)
        for turn, batch in enumerate([(a, b), (b, a), (a, b)])
        for params in batch
    ]
    calls = after(events)
    assert calls.repeats == 3


def test_chance_details_of_an_answer_do_not_end_a_repeat():
    calls = after([call(result=f"timed out after {i}.5s, pid {i}") for i in range(3)])
    assert calls.repeats == 3


def test_another_answer_ends_a_repeat():
    assert after([call(result=f"{i} failed") for i in range(3)]).repeats == 1


def test_errors_are_counted_by_turn():
    batch = [failing("groupby must not be empty", turn=0, x=i) for i in range(8)]
    calls = after(batch)
    assert calls.consecutive_errors == 1


def test_a_turn_in_which_something_works_ends_the_errors():
    events = [failing("a", turn=0), failing("b", turn=1), call(turn=2), failing("c", turn=2)]
    assert after(events).consecutive_errors == 0
    assert after(events[:2]).consecutive_errors == 2


def test_a_user_message_ends_every_count():
    calls = after([failing("a"), failing("a"), UserMessage(text="go on")])
    assert (calls.consecutive_errors, calls.repeats) == (0, 0)
    notified = after([failing("a"), UserMessage(text="done", notification=True), failing("a")])
    assert notified.consecutive_errors == 2


@pytest.mark.parametrize(
    ("event", "fails"),
    [
        (failing("x"), True),
        (call(outcome=Outcome.INVALID), True),
        (call(outcome=Outcome.DENIED), False),
        (failing("The user doesn't want to proceed with this tool use."), False),
        (failing("exec command rejected by user"), False),
        (failing("login rejected by user database"), True),
        (call(outcome=Outcome.INTERRUPTED), False),
        (call(result="Error: bad"), False),
        (call(result={"exit_code": 3, "output": ""}), True),
        (call(result={"exit_code": 0}), False),
        (call(result={"success": False}), True),
        (call(result='{"ok": false}'), True),
        (call(result='{"ok": fal'), False),
        (call(result={"error": "no such thing"}), True),
        (call(result={"error": None}), False),
        (call(result={"errors": ["x"]}), False),
        (call(result={"status": "error", "message": "x"}), True),
        (call(result={"status": "failed"}), False),
        (call(result="Exit code: 1"), False),
        (call(result=[{"type": "text", "text": "fine"}]), False),
    ],
)
def test_failures_are_flags_statuses_and_fields(event, fails):
    assert after([event]).consecutive_errors == int(fails)


def command(text, result, **more):
    return ToolInvoked(tool="bash", params={"command": text}, result=result, **more)


@pytest.mark.parametrize(
    ("event", "fails"),
    [
        (command("make", "x\nExit code: 2"), True),
        (command("make", "<returncode>1</returncode>\n<output>"), True),
        (command("make", "the docs say: exit code 1 means no"), False),
        (command("grep x a", "Exit code 1", outcome=Outcome.ERROR), False),
        (command("grep x a", "(exit 1, no output)", outcome=Outcome.ERROR), False),
        (command("grep x a", "(exit 2, no such file)", outcome=Outcome.ERROR), True),
        (command("grep x a", "Exit code 2", outcome=Outcome.ERROR), True),
        (command("cat log", "Exit code: 0"), False),
    ],
)
def test_a_shell_states_its_status_in_words(event, fails):
    assert after([event]).consecutive_errors == int(fails)


def test_profiles_declare_failures():
    profile = ToolProfile(names="read", error_pattern=r"\AError: ", expected_exit_codes=(7,))
    profiles = [profile]
    assert after([call(result="Error: bad")], profiles=profiles).consecutive_errors == 1
    assert after([call(result={"exit_code": 7})], profiles=profiles).consecutive_errors == 0


def test_the_harness_own_calls_are_left_out():
    assert played([call(caller=CallOrigin.HARNESS)] * 3).counts == (0, 0)


def test_the_users_calls_count_but_signals_skip_their_turns():
    run = played([call(caller=CallOrigin.USER, turn=i) for i in range(3)])
    assert run.counts == (3, 3)
    assert (run.calls.repeats, run.calls.consecutive_errors) == (0, 0)


def test_recent_calls_and_frequency():
    earlier = [call(tool=f"t{i % 2}", x=i) for i in range(100)]
    calls = Played().play([*earlier, call(tool="open", turn=999)]).calls
    assert [record.tool for record in calls.recent(3)] == ["t0", "t1", "open"]
    assert len(calls.recent(1000)) == 64
    assert calls.recent(0) == ()
    assert calls.tool_frequency == {"t0": 50, "t1": 50, "open": 1}


def test_names_beyond_the_256th_are_counted_together():
    frequency = after([call(tool=f"t{i}") for i in range(300)]).tool_frequency
    assert len(frequency) == 257
    assert frequency["…"] == 44


def test_a_record_tells_what_a_detector_needs():
    profiles = [ToolProfile(names="bash", command_params="command")]
    event = command("ls", "x" * 5000, elapsed=9.0, duration=2.0, poll=True)
    (record,) = after([event], profiles=profiles).recent(1)
    assert (record.started, record.ended, record.waits) == (7.0, 9.0, True)
    assert record.command == "ls"
    assert record.size == 5000
    assert len(record.output) < 220


def test_a_record_shows_what_its_reader_looks_at():
    results = [
        {"output": "activating", "exit_code": 0},
        [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        [{"type": "image"}],
        None,
    ]
    calls = after([call(x=i, result=result) for i, result in enumerate(results)])
    shown = [record.output for record in calls.recent(4)]
    assert shown == ["activating", "one\ntwo", '[{type="image"}]', ""]


def test_a_header_does_not_hide_that_answers_are_equal():
    profiles = [ToolProfile(names="read", result_noise=r"(?m)^Chunk: \w+$")]
    events = [call(result=f"Chunk: {i}ab\nsame") for i in range(3)]
    assert after(events, profiles=profiles).repeats == 3


results = st.sampled_from(["a", "b", "took 1.5s", "took 2.5s", {"success": False}])
events = st.lists(
    st.one_of(
        st.builds(call, st.sampled_from("pq"), st.integers(1, 2), results, st.integers(0, 20)),
        st.builds(failing, st.sampled_from(["bad", "worse"]), st.integers(0, 20)),
        st.just(UserMessage(text="go on")),
    ),
    max_size=40,
)


def signals(run):
    return (
        run.counts,
        run.calls.consecutive_errors,
        run.calls.repeats,
        run.calls.tool_frequency,
        [record.fingerprint for record in run.calls.recent(9)],
    )


@settings(deadline=None)
@given(events, st.data())
def test_what_was_saved_goes_on_as_if_nothing_had_happened(run, data):
    place = data.draw(st.integers(0, len(run)))
    other = Played().play(run[:place]).restart().play(run[place:])
    other.run.guide(DecisionPoint.PRE_TOOL_SELECTION)

    assert signals(other) == signals(played(run))


@settings(deadline=None)
@given(events, st.data())
def test_who_asks_late_sees_the_same(run, data):
    place = data.draw(st.integers(0, len(run)))
    other = Played()
    late = Session().open_run(Prompt("a", "b", []))
    for event in run[:place]:
        late.session.dispatch(event)
    other.session, other.run = late.session, late
    late.trajectory.follow(Calls)
    other.play(run[place:])
    late.guide(DecisionPoint.PRE_TOOL_SELECTION)

    assert signals(other) == signals(played(run))


@pytest.mark.waits
def test_memory_does_not_grow_with_the_run():
    def size(n):
        calls = after(call(x=i, result=f"text {i}" * 200) for i in range(n))
        return len(json.dumps(encode_value(calls.state())))

    assert size(3_000) <= 1.05 * size(300)


def test_signals_may_be_read_while_events_come_in():
    run = Played()
    stop = threading.Event()
    problems = []

    def read():
        try:
            while not stop.is_set():
                run.calls.recent(64)
                _ = run.calls.repeats
                _ = run.calls.tool_frequency
        except (RuntimeError, IndexError) as error:
            problems.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    run.play(call(tool=f"t{i % 50}", x=i) for i in range(2_000))
    stop.set()
    for reader in readers:
        reader.join()
    assert problems == []
    assert sum(run.calls.tool_frequency.values()) == 2_000


def test_signals_count_the_turns_that_are_kept():
    run = played([failing("bad") for _ in range(100)])

    assert (run.counts, run.calls.tool_frequency) == ((100, 100), {"read": 100})
    assert (run.calls.consecutive_errors, run.calls.repeats) == (64, 64)


def test_an_answer_in_escaped_json_reads_as_the_object_does():
    answer = {"状態": "実行中", "ジョブ": "R-77"}
    player = Played().play([call(result=answer), call(result=json.dumps(answer))])
    one, other = player.run.trajectory.follow(Calls).recent(2)

    assert one.output == other.output
    assert "実行中" in other.output
