"""The record: one verb, typed slices, nothing lost."""

from __future__ import annotations

import json
import threading
import weakref
from collections import deque
from typing import Any

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab import (
    Event,
    Plan,
    Replace,
    Session,
    SessionError,
    SnapshotError,
    ToolInvoked,
    keep_last,
)
from trimtab._run import saving
from trimtab.events import (
    ModelResponded,
    ObserverFaulted,
    ResultDigest,
    ToolStarted,
    UserMessage,
)


@attrs.frozen
class Note:
    key: str
    value: int = 0


def test_slices_are_kept_by_type_oldest_first() -> None:
    session = Session()
    for value in range(4):
        session.dispatch(Note("n", value))
    session.dispatch("another type")

    assert [n.value for n in session[Note].all()] == [0, 1, 2, 3]
    assert session[Note].latest() == Note("n", 3)
    assert session[Note].where(lambda n: n.value > 1) == (Note("n", 2), Note("n", 3))
    assert session[Note].tail(1) == (Note("n", 3),)
    assert session[Note].tail(0) == ()
    assert session[int].latest() is None


@pytest.mark.parametrize(
    ("reducer", "kept"),
    [
        (keep_last(2), [("b", 2), ("a", 3)]),
        (keep_last(1), [("a", 3)]),
        (
            lambda records, n: Replace((*records.all(), n, n)),
            [("a", 1)] * 2 + [("b", 2)] * 2 + [("a", 3)] * 2,
        ),
    ],
)
def test_reducers(reducer: Any, kept: list[tuple[str, int]]) -> None:
    session = Session()
    session.register(Note, reducer)
    for note in (Note("a", 1), Note("b", 2), Note("a", 3)):
        session.dispatch(note)

    assert [attrs.astuple(n) for n in session[Note].all()] == kept


def test_a_slice_is_iterated_and_shows_what_it_holds() -> None:
    session = Session(keep=2)
    for number in range(3):
        session.dispatch(ModelResponded(text=f"text {number}"))
        session.dispatch(Note("a", number))

    assert [note.value for note in session[Note]] == [0, 1, 2]
    assert repr(session[Note]) == "<Slice of 3, latest: Note(key='a', value=2)>"
    assert repr(session[ModelResponded]).startswith("<RecentSlice of 2, 1 dropped, latest: Model")
    assert repr(session[int]) == "<Slice of 0, latest: None>"


def test_a_reducer_is_registered_before_the_first_record() -> None:
    session = Session()
    session.dispatch(Note("a"))

    with pytest.raises(SessionError, match="before the first"):
        session.register(Note, keep_last(1))


def test_increments_of_four_threads_are_all_there() -> None:
    session = Session()

    def add(records: Any, note: Note) -> Replace[Note]:
        last = records.latest()
        return Replace((Note("sum", (last.value if last else 0) + note.value),))

    session.register(Note, add)
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for _ in range(5_000):
            session.dispatch(Note("one", 1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert session[Note].all() == (Note("sum", 20_000),)


@pytest.mark.parametrize("decision", [None, [Note("a")], Note("a")])
def test_a_reducer_that_decides_nothing_is_named(decision: Any) -> None:
    session = Session()
    session.register(Note, lambda records, note: decision)

    with pytest.raises(SessionError, match=r"Append\(item\)"):
        session.dispatch(Note("a"))
    assert session[Note].all() == ()


def test_a_raising_reducer_reaches_the_caller_and_records_nothing() -> None:
    session = Session()

    def refuse(records: Any, note: Note) -> Any:
        raise ValueError("no")

    session.register(Note, refuse)
    with pytest.raises(ValueError, match="no"):
        session.dispatch(Note("a"))

    assert session[Note].all() == ()


def test_observers_hear_of_subclasses_outside_the_lock_and_can_leave() -> None:
    session = Session()
    heard: list[Any] = []

    def from_another_thread(event: Any) -> None:
        thread = threading.Thread(target=lambda: session.dispatch(Note("seen")))
        thread.start()
        thread.join(5)
        heard.append((type(event).__name__, thread.is_alive()))

    stop = session.observe(UserMessage, from_another_thread)
    session.dispatch(UserMessage(text="hi"))
    stop()
    session.dispatch(UserMessage(text="again"))

    assert heard == [("UserMessage", False)]


def test_observers_come_and_go_between_the_calls_of_a_run(kit: Any) -> None:
    session = Session()
    run = session.open_run(kit.run().prompt)
    heard: list[Any] = []
    stops = []
    for number in range(3):
        run.model_responded()
        run.tool_started("read", {}, str(number))
        run.tool_finished(str(number))
        for stop in stops:
            stop()
        if number == 0:
            kinds = ModelResponded, ToolStarted, ToolInvoked
            stops = [session.observe(kind, heard.append) for kind in kinds]

    assert [type(event).__name__ for event in heard] == [
        "ModelResponded", "ToolStarted", "ToolInvoked",
    ]  # fmt: skip
    assert [len(session[kind]) for kind in kinds] == [3, 3, 3]


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(3), Mute()])
def test_a_raising_observer_is_on_record_and_hurts_nobody(error: BaseException) -> None:
    def fails(_: Note) -> None:
        raise error

    session = Session()
    heard: list[Any] = []
    session.observe(Note, fails)
    session.observe(Note, heard.append)
    session.dispatch(Note("a"))

    assert heard == [Note("a")]
    fault = Session.restore(session.snapshot(), types=(Note,))[ObserverFaulted].latest()
    assert fault is not None and type(error).__name__ in fault.error


def test_old_results_are_reduced_to_length_and_digest() -> None:
    session = Session(keep=2)
    for value in ("one", "two", "three", "three"):
        session.dispatch(ToolInvoked(tool="t", result=value))

    first, second, *rest = [call.result for call in session[ToolInvoked].all()]
    assert isinstance(first, ResultDigest) and first.length == 3
    assert isinstance(second, ResultDigest) and second.digest != first.digest
    assert rest == ["three", "three"]


def test_of_an_old_call_all_but_the_result_is_kept_whoever_looks_and_when(kit: Any) -> None:
    session = Session(keep=2)
    run = session.open_run(kit.run().prompt)
    told: list[Any] = []
    session.observe(ToolInvoked, told.append)
    for number in range(6):
        run.tool_finished(f"c{number}", f"text {number}", tool="read", params={"n": number})
        if number == 3:
            assert [call.params["n"] for call in session[ToolInvoked].all()] == [0, 1, 2, 3]
    calls = session[ToolInvoked].all()

    assert [attrs.evolve(call, result=None) for call in calls] == [
        attrs.evolve(call, result=None) for call in told
    ]
    assert [type(call.result) for call in calls] == [ResultDigest] * 4 + [str] * 2
    assert [call.result for call in told] == [f"text {number}" for number in range(6)]
    assert session[ToolInvoked].tail(3) == calls[-3:]
    assert session[ToolInvoked].where(lambda call: call.params["n"] == 1) == calls[1:2]
    assert session[ToolInvoked].all()[0] == calls[0]


def test_old_calls_are_packed_in_batches_and_read_back_in_order() -> None:
    session = Session(keep=40)
    for number in range(300):
        session.dispatch(ToolInvoked(tool="t", call_id=str(number), result="x" * number))
        assert session[ToolInvoked].latest().call_id == str(number)
        assert len(session[ToolInvoked]) == number + 1
    calls = session[ToolInvoked].all()

    assert [call.call_id for call in calls] == [str(number) for number in range(300)]
    assert [type(call.result) for call in calls] == [ResultDigest] * 260 + [str] * 40
    assert [call.result.length for call in calls[:260]] == list(range(260))
    assert session[ToolInvoked].tail(290) == calls[-290:]


WITHIN = {"a": "x" * 100, "b": -3, "c": [1.5, None, {"d": True, "e": "f"}]}
JUST_WITHIN = {"a": "x" * 240}, {"a": [0.5] * 17}


@pytest.mark.parametrize("params", [{}, WITHIN, *JUST_WITHIN, {"a": {"b": {"c": {}}}}], ids=str)
def test_short_arguments_of_old_calls_are_kept(params: Any) -> None:
    session = Session(keep=1)
    for _ in range(2):
        session.dispatch(ToolInvoked(tool="t", params=params))

    assert session[ToolInvoked].all()[0].params == params


TOO_LARGE = (
    {"a": "x" * 241},
    {"a": [0.5] * 18},
    {str(n): n for n in range(40)},
    [0] * 60,
    {"a": [{"b": "x" * 250}]},
)
NOT_PLAIN = {1: "a"}, {"a": (1,)}, {"a": 1j}, {"a": 1 << 70}, {"a": [[[[[]]]]]}, {"a": b"b"}


@pytest.mark.parametrize("params", [*TOO_LARGE, *NOT_PLAIN], ids=lambda params: str(params)[:20])
def test_other_arguments_of_old_calls_are_reduced(params: Any) -> None:
    session = Session(keep=1)
    for _ in range(2):
        session.dispatch(ToolInvoked(tool="t", params=params))

    assert isinstance(session[ToolInvoked].all()[0].params, ResultDigest)


class Kept:
    def __init__(self, text: str) -> None:
        self.text = text


def test_old_results_are_let_go() -> None:
    session, watched = Session(keep=2), []
    for number in range(200):
        result = Kept("x" * number)
        watched.append(weakref.ref(result))
        session.dispatch(ToolInvoked(tool="t", call_id=str(number), result=result))
    del result

    assert [number for number, kept in enumerate(watched) if kept()][:1] >= [195]


class Code(str):
    __slots__ = ()


class Seconds(float):
    pass


def test_an_old_call_may_hold_values_of_derived_classes() -> None:
    session = Session(keep=1)
    for _ in range(2):
        session.dispatch(ToolInvoked(tool="t", call_id=Code("c"), duration=Seconds(1.5), turn=True))
    old = session[ToolInvoked].all()[0]

    assert (old.call_id, old.duration, old.turn) == ("c", 1.5, 1)


def test_keep_none_keeps_all_and_keep_nothing_is_refused() -> None:
    session = Session(keep=None)
    for value in range(300):
        session.dispatch(ToolInvoked(tool="t", result=value))

    assert session[ToolInvoked].all()[0].result == 0
    with pytest.raises(ValueError, match="keep"):
        Session(keep=0)


def test_a_call_of_a_prompt_that_is_not_open_yet_waits_for_it(kit: Any) -> None:
    kit.session.dispatch(ToolInvoked(tool="t", prompt_name="agent/main"))
    run = kit.session.run_of(kit.run("other").prompt)
    waiting = kit.session.run_of(kit.run("third", run_id=None).prompt)

    assert (run.state.calls, waiting.state.calls) == (0, 0)
    assert sum(state.calls for state in kit.session.runs().values()) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.lists(st.tuples(json_values, json_values), max_size=6))
def test_a_snapshot_reads_back_the_same(calls: list[tuple[Any, Any]]) -> None:
    session = Session(keep=2)
    for params, result in calls:
        session.dispatch(ToolInvoked(tool="t", params=params, result=result, prompt_name="p"))
    text = session.snapshot()

    assert Session.restore(text).snapshot() == text


class Unreadable:
    def __repr__(self) -> str:
        raise ValueError("no text")


def nested(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


def containing_itself() -> dict[str, Any]:
    made: dict[str, Any] = {"left": [], "right": {}}
    made["left"].append(made)
    made["right"]["up"] = made
    return made


STRANGE = {
    "bytes": b"\xff",
    "set": {1, "a"},
    "other keys": {(1, 2): 3, None: 4, 5: 6},
    "half a character": "\ud800",
    "no repr": Unreadable(),
    "deep": nested(5_000),
    "circle": containing_itself(),
    "record": {"note": Note("a", 1)},
    "like a digest": {"$digest": 5},
    "like an event": {"$event": "X", "fields": 1, "$$": 2},
}


@pytest.mark.parametrize("value", STRANGE.values(), ids=STRANGE)
def test_strange_values_are_recorded_and_saved(kit: Any, value: Any) -> None:
    session = Session(keep=1)
    run = session.open_run(kit.run().prompt)
    for tool in ("$event", "$digest"):
        run.tool_started(tool, {"value": value}, "$event")
        run.tool_finished("$event", value)
    run.tool_started("open", value, "$$")
    text = session.snapshot()

    again = Session.restore(text)
    assert again.snapshot() == text
    assert text.encode("ascii")
    assert isinstance(again[ToolInvoked].all()[0].result, ResultDigest)
    assert again.runs()[run.run_id].running["$$"][0].call_id == "$$"


@pytest.mark.parametrize("value", [{"$digest": 5, "$$": [{"$event": "X"}]}, {"a": "\ud800"}])
def test_json_of_any_shape_comes_back_as_it_was(value: Any) -> None:
    session = Session()
    session.dispatch(ToolInvoked(tool="t", params=value, result=value))
    call = Session.restore(session.snapshot())[ToolInvoked].latest()

    assert call is not None and (call.params, call.result) == (value, value)


def test_two_types_of_one_name_are_not_mixed_up() -> None:
    session = Session()
    session.dispatch(Plan())
    session.dispatch(attrs.make_class("Plan", ["x"])(1))

    with pytest.raises(SnapshotError, match="'Plan'"):
        session.snapshot()


def test_records_of_your_own_come_back_where_they_are_named() -> None:
    session = Session()
    session.dispatch(Note("a", 7))
    text = session.snapshot()

    assert Session.restore(text, types=(Note,))[Note].all() == (Note("a", 7),)
    with pytest.raises(SnapshotError, match=r"types=\(Note,\)"):
        Session.restore(text)


@pytest.mark.parametrize("record", [Note("a"), ToolInvoked(tool="t", result="r")])
def test_reducers_go_on_after_a_restore(record: Any) -> None:
    session, kind = Session(), type(record)
    session.register(kind, keep_last(2))
    session.dispatch(record)
    again = Session.restore(session.snapshot(), types=(Note,), reducers={kind: keep_last(2)})
    for _ in range(3):
        again.dispatch(record)

    assert len(again[kind]) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"version": 2}',
        '{"version": 1}',
        '{"version": 1, "slices": 3, "runs": 1}',
    ],
)
def test_a_damaged_snapshot_says_so(text: str) -> None:
    with pytest.raises(SnapshotError, match="snapshot"):
        Session.restore(text)


@pytest.mark.parametrize("rows", [[[7, []]], [[0, ["a"]]], [[0]], 3, [[0, [1] * 10]]])
def test_damaged_old_calls_say_so(rows: Any) -> None:
    session = Session(keep=1)
    for number in range(4):
        session.dispatch(ToolInvoked(tool="t", params={"n": number}))
    saved = json.loads(session.snapshot())
    saved["slices"]["ToolInvoked"]["old"]["rows"] = rows

    with pytest.raises(SnapshotError, match="damaged"):
        Session.restore(json.dumps(saved))


@attrs.frozen(kw_only=True)
class Frequent(Event):
    keep_newest = True
    number: int = 0


def test_of_events_that_come_with_every_call_the_newest_are_kept():
    session = Session(keep=3)
    for number in range(5):
        session.dispatch(Frequent(number=number))
    restored = Session.restore(session.snapshot(), types=(Frequent,))
    restored.dispatch(Frequent(number=5))

    assert [event.number for event in session[Frequent].all()] == [2, 3, 4]
    assert session[Frequent].dropped == 2
    assert [event.number for event in restored[Frequent].all()] == [3, 4, 5]
    assert restored[Frequent].dropped == 3


def test_a_record_that_is_not_counted_yet_does_not_count_as_dropped():
    session = Session(keep=3)
    records, seen = session[Frequent], []

    class Watched(deque):
        def append(self, item):
            super().append(item)
            seen.append(records.dropped)

    records._items = Watched(maxlen=3)
    for number in range(5):
        session.dispatch(Frequent(number=number))

    assert seen == [0, 0, 0, 0, 1]
    assert records.dropped == 2


def test_the_newest_can_be_read_while_others_come():
    session = Session(keep=3)
    for number in range(4):
        session.dispatch(Frequent(number=number))
    newest = session[Frequent].newest()
    numbers = [next(newest).number]
    session.dispatch(Frequent(number=4))

    assert [*numbers, *(event.number for event in newest)] == [3, 2, 1]


def test_a_copy_of_reduced_calls_goes_on_as_the_original():
    session = Session(keep=1)
    for number in range(4):
        session.dispatch(ToolInvoked(tool=f"t{number}", params={}))
    copied = session[ToolInvoked]._copy()
    copied._append(ToolInvoked(tool="later", params={}))
    copied._append(ToolInvoked(tool="t0", params={}))

    assert [call.tool for call in copied.all()] == ["t0", "t1", "t2", "t3", "later", "t0"]


def test_a_session_that_keeps_all_keeps_frequent_events_too():
    session = Session(keep=None)
    for number in range(300):
        session.dispatch(Frequent(number=number))

    assert len(session[Frequent]) == 300


def test_an_event_without_a_run_keeps_its_time(kit: Any) -> None:
    run = kit.run()
    before = kit.clock.now()
    kit.clock.advance(60)
    kit.session.dispatch(UserMessage(text="go", at=before))

    event = kit.session[UserMessage].latest()
    assert (event.run_id, event.at) == (run.run_id, before)


def test_a_long_name_of_an_argument_is_not_kept_for_ever(kit: Any) -> None:
    session = Session(clock=kit.clock, keep=1)
    run = type(kit)(kit.clock, session).run()
    for number in range(3):
        kit.call(run, params={"k" * 300: number})

    oldest, *_, newest = session[ToolInvoked].all()
    assert isinstance(oldest.params, ResultDigest)
    assert newest.params == {"k" * 300: 2}


def test_a_call_that_ends_while_a_snapshot_is_written_is_not_in_it(
    kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, write = kit.run(), saving.dump
    kit.call(run)

    def dump(*parts: Any) -> str:
        kit.call(run)  # as another thread may
        return write(*parts)

    monkeypatch.setattr(saving, "dump", dump)
    restored = Session.restore(kit.session.snapshot())

    assert len(restored[ToolInvoked]) == restored.runs()[run.run_id].calls == 1


def test_old_calls_of_a_snapshot_reach_a_slice_with_a_reducer(kit: Any) -> None:
    session = Session(clock=kit.clock, keep=2)
    run = type(kit)(kit.clock, session).run()
    for number in range(9):
        kit.call(run, params={"n": number})

    text, reducers = session.snapshot(), {ToolInvoked: keep_last(50)}
    restored = Session.restore(text, clock=kit.clock, reducers=reducers)
    assert [call.params["n"] for call in restored[ToolInvoked].all()] == list(range(9))
