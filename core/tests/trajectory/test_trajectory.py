"""Signals over a run, and the projections that it feeds."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given, settings, strategies as st

from trimtab import (
    CallOrigin,
    CompactionHappened,
    ModelResponded,
    Outcome,
    ToolInvoked,
    ToolProfile,
    ToolProfiles,
    Trajectory,
    UserMessage,
)
from trimtab.trajectory import BaseProjection, Projection
from trimtab.trajectory._writer import TrajectoryWriter


def call(tool="read", x=1, result="text", turn=None, **more):
    return ToolInvoked(tool=tool, params={"x": x}, result=result, turn=turn, **more)


def failing(error, turn=None, **more):
    return call(result=error, turn=turn, outcome=Outcome.ERROR, **more)


def written(events, **options):
    writer = TrajectoryWriter(**options)
    for event in events:
        writer.apply(event)
    return writer


def after(events, **options):
    writer = written(events, **options)
    writer.close_turn()
    return writer.view


def test_a_new_run_has_nothing_to_tell():
    fresh = TrajectoryWriter().view
    assert (fresh.calls, fresh.turns, fresh.repeats, fresh.consecutive_errors) == (0, 0, 0, 0)
    assert fresh.tool_frequency == {}
    assert fresh.recent(5) == ()


def test_turns_are_batches():
    trajectory = after([call(x=i, turn=i // 3) for i in range(9)])
    assert (trajectory.calls, trajectory.turns) == (9, 3)


def test_a_call_without_a_turn_is_a_turn_of_its_own():
    assert after([call(x=i) for i in range(4)]).turns == 4


def test_a_late_answer_stays_in_the_open_turn():
    trajectory = after([call(turn=1), call(turn=2), call(x=2, turn=1)])
    assert trajectory.turns == 2


def test_repeats_count_equal_turns_whatever_their_order():
    a, b = {"x": 1}, {"x": 2}
    events = [
        ToolInvoked(tool="read", params=params, result="same", turn=turn)
        for turn, batch in enumerate([(a, b), (b, a), (a, b)])
        for params in batch
    ]
    trajectory = after(events)
    assert trajectory.repeats == 3


def test_chance_details_of_an_answer_do_not_end_a_repeat():
    trajectory = after([call(result=f"timed out after {i}.5s, pid {i}") for i in range(3)])
    assert trajectory.repeats == 3


def test_another_answer_ends_a_repeat():
    assert after([call(result=f"{i} failed") for i in range(3)]).repeats == 1


def test_errors_are_counted_by_turn():
    batch = [failing("groupby must not be empty", turn=0, x=i) for i in range(8)]
    trajectory = after(batch)
    assert trajectory.consecutive_errors == 1


def test_a_turn_in_which_something_works_ends_the_errors():
    events = [failing("a", turn=0), failing("b", turn=1), call(turn=2), failing("c", turn=2)]
    assert after(events).consecutive_errors == 0
    assert after(events[:2]).consecutive_errors == 2


def test_a_user_message_ends_every_count():
    trajectory = after([failing("a"), failing("a"), UserMessage(text="go on")])
    assert (trajectory.consecutive_errors, trajectory.repeats) == (0, 0)
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
        (command("grep x a", "Exit code 2", outcome=Outcome.ERROR), True),
        (command("cat log", "Exit code: 0"), False),
    ],
)
def test_a_shell_states_its_status_in_words(event, fails):
    assert after([event]).consecutive_errors == int(fails)


def test_profiles_declare_failures():
    profile = ToolProfile(names="read", error_pattern=r"\AError: ", expected_exit_codes=(7,))
    profiles = ToolProfiles([profile])
    assert after([call(result="Error: bad")], profiles=profiles).consecutive_errors == 1
    assert after([call(result={"exit_code": 7})], profiles=profiles).consecutive_errors == 0


def test_the_harness_own_calls_are_left_out():
    trajectory = after([call(caller=CallOrigin.HARNESS)] * 3)
    assert (trajectory.calls, trajectory.turns) == (0, 0)


def test_the_users_calls_count_but_signals_skip_their_turns():
    trajectory = after([call(caller=CallOrigin.USER, turn=i) for i in range(3)])
    assert (trajectory.calls, trajectory.repeats, trajectory.consecutive_errors) == (3, 0, 0)


def test_recent_calls_and_frequency():
    earlier = [call(tool=f"t{i % 2}", x=i) for i in range(100)]
    trajectory = written([*earlier, call(tool="open", turn=999)]).view
    assert [record.tool for record in trajectory.recent(3)] == ["t0", "t1", "open"]
    assert len(trajectory.recent(1000)) == 64
    assert trajectory.recent(0) == ()
    assert trajectory.tool_frequency == {"t0": 50, "t1": 50, "open": 1}


def test_names_beyond_the_256th_are_counted_together():
    frequency = after([call(tool=f"t{i}") for i in range(300)]).tool_frequency
    assert len(frequency) == 257
    assert frequency["…"] == 44


def test_a_record_tells_what_a_detector_needs():
    profiles = ToolProfiles([ToolProfile(names="bash", command_params="command")])
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
    trajectory = after([call(x=i, result=result) for i, result in enumerate(results)])
    shown = [record.output for record in trajectory.recent(4)]
    assert shown == ["activating", "one\ntwo", '[{type="image"}]', ""]


def test_a_header_does_not_hide_that_answers_are_equal():
    profiles = ToolProfiles([ToolProfile(names="read", result_noise=r"(?m)^Chunk: \w+$")])
    events = [call(result=f"Chunk: {i}ab\nsame") for i in range(3)]
    assert after(events, profiles=profiles).repeats == 3


class Listener(BaseProjection):
    """Writes down what it hears."""

    def __init__(self):
        self.heard = []

    def call_ended(self, record, event):
        self.heard.append(("call", record.tool, event.result))

    def turn_closed(self, turn):
        self.heard.append(("turn", len(turn.calls)))

    def responded(self, text):
        self.heard.append(("said", text.text, text.has_calls))

    def user_spoke(self, message):
        self.heard.append(("user", message.text, message.notification))

    def compacted(self):
        self.heard.append(("compacted",))

    def state(self):
        return {"heard": [list(item) for item in self.heard]}

    def load_state(self, state):
        self.heard = [tuple(item) for item in state["heard"]]


EVENTS = [
    ModelResponded(text="let me see"),
    call(turn=0),
    call(x=2, turn=0),
    CompactionHappened(),
    UserMessage(text="go on"),
]


def test_a_projection_hears_everything_in_order():
    listener = Listener()
    assert isinstance(listener, Projection)
    writer = TrajectoryWriter()
    trajectory = writer.view
    assert trajectory.attach("listener", listener) is listener
    for event in EVENTS:
        writer.apply(event)
    assert listener.heard == []
    assert trajectory.projection("listener") is listener
    assert listener.heard == [
        ("said", "let me see", False),
        ("call", "read", "text"),
        ("call", "read", "text"),
        ("compacted",),
        ("turn", 2),
        ("user", "go on", False),
    ]


def test_a_name_keeps_its_first_projection():
    trajectory = TrajectoryWriter().view
    first = trajectory.attach("x", Listener())
    assert trajectory.attach("x", Listener()) is first
    assert trajectory.projection("x") is first
    assert trajectory.projection("y") is None


def test_a_projection_that_raises_does_so_for_its_own_provider_only():
    class Broken(BaseProjection):
        def turn_closed(self, turn):
            raise ValueError("no")

    writer = TrajectoryWriter()
    trajectory = writer.view
    trajectory.attach("broken", Broken())
    listener = Listener()
    trajectory.attach("listener", listener)
    writer.apply(call())
    writer.close_turn()

    with pytest.raises(ValueError, match="no"):
        trajectory.projection("broken")
    assert trajectory.projection("broken") is not None
    assert trajectory.projection("listener") is listener
    assert ("turn", 1) in listener.heard


def test_saved_projections_get_their_state_when_they_are_attached():
    writer = TrajectoryWriter()
    writer.attach("listener", Listener())
    writer.apply(call())
    writer.save("listener")
    saved = json.loads(json.dumps(writer.state()))
    restored = TrajectoryWriter()
    restored.load_state(saved)
    assert restored.state() == saved
    again = Listener()
    restored.attach("listener", again)
    assert again.heard == [("call", "read", "text")]


results = st.sampled_from(["a", "b", "took 1.5s", "took 2.5s", {"success": False}])
events = st.lists(
    st.one_of(
        st.builds(call, st.sampled_from("pq"), st.integers(1, 2), results, st.integers(0, 20)),
        st.builds(failing, st.sampled_from(["bad", "worse"]), st.integers(0, 20)),
        st.just(UserMessage(text="go on")),
    ),
    max_size=40,
)


def signals(trajectory):
    return (
        trajectory.calls,
        trajectory.turns,
        trajectory.consecutive_errors,
        trajectory.repeats,
        trajectory.tool_frequency,
        [record.fingerprint for record in trajectory.recent(9)],
    )


@settings(deadline=None)
@given(events, st.data())
def test_what_was_saved_goes_on_as_if_nothing_had_happened(run, data):
    place = data.draw(st.integers(0, len(run)))
    whole = after(run)
    parted = TrajectoryWriter()
    for event in run[:place]:
        parted.apply(event)
    other = TrajectoryWriter()
    other.load_state(json.loads(json.dumps(parted.state())))
    for event in run[place:]:
        other.apply(event)
    other.close_turn()
    assert signals(other.view) == signals(whole)


def test_memory_does_not_grow_with_the_run():
    def size(n):
        writer = written(call(x=i, result=f"text {i}" * 200) for i in range(n))
        return len(json.dumps(writer.state()))

    assert size(3_000) <= 1.05 * size(300)


def test_signals_may_be_read_while_events_come_in():
    lock = threading.RLock()
    writer = TrajectoryWriter(lock=lock)
    trajectory = writer.view
    stop = threading.Event()
    problems = []

    def read():
        try:
            while not stop.is_set():
                trajectory.recent(64)
                _ = trajectory.repeats
                _ = trajectory.tool_frequency
        except (RuntimeError, IndexError) as error:
            problems.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(2_000):
        with lock:
            writer.apply(call(tool=f"t{i % 50}", x=i))
    stop.set()
    reader.join()
    assert problems == []


def test_a_provider_can_not_change_the_record_of_a_run():
    public = {name for name in dir(Trajectory) if not name.startswith("_")}
    reads = {
        "calls", "consecutive_errors", "profiles", "projection", "recent", "repeats",
        "tool_frequency", "turns",
    }  # fmt: skip

    assert public - reads == {"attach"}


def test_signals_count_the_turns_that_are_kept():
    trajectory = after([failing("bad") for _ in range(100)])

    assert (trajectory.turns, trajectory.tool_frequency) == (100, {"read": 100})
    assert (trajectory.consecutive_errors, trajectory.repeats) == (64, 64)
