"""The driver asks as a host would: where, after what, with which time, on which run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab import Outcome, ToolCall, ToolInvoked
from trimtab.events import CallOrigin, CompactionHappened, ModelResponded, UserMessage
from trimtab_replay._recording import Idle, RecordedItem, RunBoundary, RunEnd, StopRequest, Unknown

from .speakers import Broken, Planned, Points, Repeats, Watch, replayed

OPEN = ({"t": "write", "s": "done"}, {"t": "test", "s": "pending"})
START = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def response(*names, text="", **facts):
    calls = tuple(ToolCall(name[0], {}, name) for name in names)
    return ModelResponded(tool_calls=calls, text=text, **facts)


def ended(name, **facts):
    return ToolInvoked(**{"tool": name[0], "call_id": name, "result": "r", **facts})


def asked(result):
    return [(decision.point, decision.call) for decision in result.decisions]


def texts(result):
    return [decision.text.split(": ")[1] for decision in result.decisions]


def test_a_batch_is_asked_about_before_during_and_after():
    result = replayed([response("a", "b"), ended("a"), ended("b")], Points())

    assert asked(result) == [
        ("pre_render", -1),
        ("pre_tool_execution", -1),
        ("post_tool_result", 0),
        ("post_tool_result", 1),
        ("pre_tool_selection", 1),
    ]
    assert texts(result)[1] == "0 calls, pending a,b"


def test_a_response_of_text_only_is_asked_about_before_it_goes_out():
    result = replayed([UserMessage(text="hi"), response(text="Hello.")], Points())

    assert asked(result) == [("pre_render", -1), ("pre_response", -1)]


def test_a_batch_with_a_late_answer_is_whole_when_the_next_response_comes():
    late = [response("a", "b"), ended("a"), response(text="So."), ended("b")]
    points = asked(replayed(late, Points()))

    assert points.count(("pre_tool_selection", 0)) == 1
    assert points[-1] == ("post_tool_result", 1)


def test_a_call_of_the_harness_is_a_batch_of_its_own():
    items = [ended("h", caller=CallOrigin.HARNESS), response("a"), ended("a")]
    points = asked(replayed(items, Points()))

    assert points.count(("pre_tool_selection", 0)) == 1
    assert ("pre_tool_selection", 1) in points


def test_each_agent_has_a_run_of_its_own():
    items = [
        part
        for agent in ("x", "y", "x", "y")
        for part in (response("a", agent_id=agent), ended("a", agent_id=agent))
    ]
    result = replayed(items, Repeats())

    assert (result.decisions, result.calls, result.turns) == ((), 4, 4)


def test_repeats_of_one_agent_are_seen_by_its_run():
    items = [part for _ in range(3) for part in (response("a"), ended("a"))]

    assert [(d.call, d.turn) for d in replayed(items, Repeats()).decisions] == [(2, 2)]


def test_a_boundary_starts_counting_anew():
    items = [part for _ in range(2) for part in (response("a"), ended("a"))]

    assert replayed([*items, RunBoundary(prompt="other"), *items], Repeats()).decisions == ()


def test_the_numbers_are_those_of_the_recording():
    items = [
        RecordedItem(response("a"), 3),
        RecordedItem(Unknown(kind="mark"), 7),
        RecordedItem(ended("a"), 8),
    ]

    assert {decision.call for decision in replayed(items, Points()).decisions} == {-1, 3, 8}


def test_open_steps_send_back_at_a_stop_and_not_twice():
    result = replayed([StopRequest(plan=OPEN)], Planned())

    assert [(d.provider, d.kind, d.text) for d in result.decisions] == [
        ("planned", "completion", "1 steps are open")
    ]


def test_the_checker_that_sent_back_is_named():
    result = replayed([StopRequest(plan=OPEN)], Planned("first"), Planned("second"))

    assert [decision.provider for decision in result.decisions] == ["first"]


@pytest.mark.parametrize(
    "stop",
    [
        StopRequest(plan=OPEN, api_error="overloaded"),
        StopRequest(plan=OPEN, background_tasks=({"id": 1},)),
        StopRequest(plan=OPEN, awaiting_user=True),
        StopRequest(plan=OPEN, deadline_remaining=0.0),
    ],
)
def test_a_stop_that_must_not_be_checked_is_skipped_on_record(stop):
    result = replayed([stop], Planned())

    assert (result.decisions, [note.event for note in result.notes]) == ((), ["skipped"])


def test_a_checker_that_dies_leaves_the_stop_unverified():
    result = replayed([StopRequest(checker_error="no module yaml")], Planned())

    assert result.decisions == ()
    assert [note.event for note in result.notes] == ["fault", "unverified"]
    assert "no module yaml" in result.notes[0].message


def test_a_recording_that_breaks_off_is_not_verified():
    result = replayed([StopRequest(plan=OPEN), response("a"), ended("a")], Planned())

    assert [decision.reason for decision in result.decisions] == [None]


def test_without_a_stop_the_end_of_the_run_is_verified():
    items = [StopRequest(plan=OPEN), response("a"), ended("a"), RunEnd(reason="done")]

    result = replayed(items, Planned())

    assert [decision.reason for decision in result.decisions] == [None, "final verification"]


def test_a_hook_that_was_never_seen_is_made_up_for():
    result = replayed([StopRequest(plan=()), RunEnd(plan=OPEN, stop_seen=False)], Planned())

    assert [decision.reason for decision in result.decisions] == ["final verification"]


def test_no_checker_means_no_note():
    assert replayed([StopRequest(plan=OPEN, checker_error="x")], Points()).notes == ()


def seen(result):
    return [decision.text for decision in result.decisions]


def test_time_is_that_of_the_recorded_wall_clock():
    minute = timedelta(minutes=1)
    items = [
        UserMessage(at=START),
        response("a", at=START + minute),
        ended("a", at=START + 2 * minute),
    ]
    result = replayed(items, Watch(), deadline=300)

    assert (seen(result), result.started) == (["120 s, left 180.0"], START)


def test_monotonic_seconds_go_before_the_wall_clock():
    items = [
        response("a"),
        ended("a", at=START + timedelta(seconds=60), elapsed=60),
        response("b"),
        ended("b", at=START + timedelta(hours=17), elapsed=70),
    ]

    assert seen(replayed(items, Watch())) == ["60 s, left None", "70 s, left None"]


def test_a_wall_clock_that_steps_back_takes_no_time_back():
    items = [
        response("a", at=START),
        ended("a", at=START + timedelta(seconds=9)),
        response("b", at=START - timedelta(hours=1)),
        ended("b", at=START - timedelta(hours=1)),
    ]

    assert seen(replayed(items, Watch())) == ["9 s, left None", "9 s, left None"]


def test_idle_time_passes():
    result = replayed([Idle(seconds=1800), response("a"), ended("a")], Watch())

    assert seen(result) == ["1800 s, left None"]


def test_a_case_s_own_deadline_goes_before_the_given_one():
    result = replayed([response("a"), ended("a")], Watch(), deadline=5, meta={"deadline_s": 60})

    assert seen(result) == ["0 s, left 60.0"]


def test_a_case_s_budget_ends_the_gate():
    items = [Idle(seconds=61), StopRequest(plan=OPEN)]

    assert replayed(items, Planned(), meta={"budget_s": 60}).decisions == ()


def test_a_provider_that_raises_is_noted_and_leaves_the_table():
    result = replayed([response("a"), ended("a")], Broken(), Repeats())

    assert [note.event for note in result.notes] == ["fault"] * 3 + ["quarantined"]


def test_steps_say_what_was_called_and_what_came_of_it():
    items = [
        response("a"),
        ended("a", params={"path": "x"}, outcome=Outcome.ERROR),
        response(text="x"),
    ]
    step = replayed(items, Points()).steps[0]

    assert (step.tool, step.result, step.outcome, step.failed) == ("a", "r", Outcome.ERROR, True)


ITEMS = st.lists(
    st.one_of(
        st.lists(st.sampled_from(["a", "b", "c1"]), max_size=3, unique=True).map(
            lambda names: response(*names, text="t")
        ),
        st.sampled_from(["a", "b", "z"]).map(ended),
        st.sampled_from(["x", None]).map(lambda agent: ended("q", agent_id=agent)),
        st.builds(StopRequest, awaiting_user=st.booleans()),
        st.just(UserMessage(text="go on")),
        st.just(CompactionHappened()),
        st.just(RunBoundary()),
        st.builds(Idle, seconds=st.floats(-5, 5)),
        st.builds(RunEnd, stop_seen=st.sampled_from([True, False, None])),
    ),
    max_size=12,
)


@given(ITEMS)
def test_whatever_happens_is_replayed_and_counted(items):
    result = replayed(items, Points(), Watch(), Planned())
    calls = sum(isinstance(item, ToolInvoked) for item in items)

    assert (result.calls, len(result.steps)) == (calls, calls)
    assert all(-1 <= decision.call < calls for decision in result.decisions)
    assert all(-1 <= decision.turn < max(1, result.turns) for decision in result.decisions)
    assert attrs.evolve(result, steps=()) == attrs.evolve(
        replayed(items, Points(), Watch(), Planned()), steps=()
    )
