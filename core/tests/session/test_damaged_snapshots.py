"""A damaged snapshot is refused with the place, or restores to a session that works."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from trimtab import (
    CompletionCheckerConfig,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    ManualClock,
    Plan,
    PlanStep,
    Prompt,
    Session,
    SnapshotError,
    ToolCall,
    Usage,
)
from trimtab.events import UserMessage
from trimtab_testing import Checker, Commentator, Speaker


def bound() -> Prompt[Any]:
    """Return a prompt with a provider of each kind."""
    trigger = FeedbackTrigger(every_n_calls=2, every_n_seconds=5, backoff=2, reset_by="read")
    return Prompt(
        "a",
        "b",
        config=None,
        guidance_providers=[GuidanceProviderConfig(Speaker(), cooldown_turns=1, max_per_run=50)],
        feedback_providers=[FeedbackProviderConfig(Commentator(), trigger)],
        completion_checkers=[CompletionCheckerConfig(Checker("not yet"))],
    )


def work(session: Session, run: Any, calls: range) -> list[str]:
    """Drive a run through some calls and return what it said."""
    said = []
    for number in calls:
        session.clock.advance(3)  # type: ignore[attr-defined]
        run.model_responded(
            text="a text", tool_calls=[ToolCall("read", {"n": number}, f"c{number}")]
        )
        run.tool_started("read", {"n": number}, f"c{number}")
        run.tool_finished(f"c{number}", {"data": b"\xff", "of": {1, "a"}}, outcome="error")
        said += [run.guide("pre_tool_selection").text, run.feedback() or ""]
    said.append(str(run.check_completion()))
    return said


@pytest.fixture(scope="module")
def snapshot() -> Any:
    """Return the parsed snapshot of a session with old calls, running calls and a fork."""
    session = Session(clock=ManualClock(), keep=2)
    run = session.open_run(bound(), run_id="r")
    session.dispatch(UserMessage(text="go", run_id="r"))
    work(session, run, range(7))
    session.dispatch(Plan([PlanStep("a", step_id="1", tools=["read"])]))
    run.model_responded(usage=Usage(1, 2, 0.5))
    session.fork_run(run, run_id="f")
    run.tool_started("read", {}, "open")
    return json.loads(session.snapshot())


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value in a snapshot, of long lists the first and last two items."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in sorted({*range(len(value))[:2], *range(len(value))[-2:]}):
            yield from places(value[index], (*path, index))


def changed(body: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> str:
    body = copy.deepcopy(body)
    holder = body
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return json.dumps(body)


def put(value: Any) -> Callable[[Any, Any], None]:
    return lambda holder, key: holder.__setitem__(key, value)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=3) | st.sampled_from(["$set", "$bytes"]), inner, max_size=2
        )
    ),
    max_leaves=5,
)
CHANGES: dict[str, Callable[[Any, Any], None]] = {
    "left out": lambda holder, key: holder.__delitem__(key),
    "nothing": put(None),
    "text": put("text"),
    "whole": put(7),
    "huge": put(10**30),
    "negative": put(-7),
    "fraction": put(1.5),
    "large": put(1e308),
    "truth": put(True),
    "list": put([]),
    "nested": put([[1, "a", None]]),
    "object": put({}),
    "mark": put({"$bytes": 1}),
    "other": put({"unknown": 1}),
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        (b"", "it is empty"),
        ("{}", "it says no version: {}"),
        ("null", "it says no version: None"),
        ("[5]", "it says no version: [5]"),
        ('{"version": "5"}', "it says no version"),
        ("not JSON", "it is no JSON: Expecting value"),
        ('{"version": 99}', "has version 99, and this release"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_what_to_do(text: str | bytes, said: str) -> None:
    with pytest.raises(SnapshotError) as refused:
        Session.restore(text)

    assert said in str(refused.value)
    assert "begin anew with Session()" in str(refused.value)


@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_a_snapshot_that_was_cut_off_is_refused(snapshot: Any, data: st.DataObject) -> None:
    text = json.dumps(snapshot)
    end = data.draw(st.integers(0, len(text) - 1))

    with pytest.raises(SnapshotError, match=r"is damaged: it is .*Session\.snapshot\(\)"):
        Session.restore(text[:end])


@given(value=st.deferred(lambda: VALUES))
@settings(deadline=None, max_examples=50)
def test_other_json_is_no_snapshot(value: Any) -> None:
    with pytest.raises(SnapshotError, match=r"says no version: .*Session\.snapshot\(\)"):
        Session.restore(json.dumps(value))


def assert_refused_or_sound(
    body: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]
) -> bool:
    """Assert that a changed snapshot is refused by its place, or else works; return which."""
    try:
        session = Session.restore(changed(body, path, change), clock=ManualClock())
    except SnapshotError as error:
        message = str(error)
        assert message.startswith(("the snapshot ", "records of type ")), (path, message)
        # Which run is missing shows where it is referred to.
        # Of a type that is not known, the message says how to pass it.
        others = ("there is no run", "holds records of type")
        assert any(text in message for text in (str(path[0]), *others)), (path, message)
        return True
    for run_id, state in session.runs().items():
        if state.prompt_name == "a/b":
            run = session.open_run(bound(), run_id=run_id)
            work(session, run, range(20, 23))
            run.close()
    again = session.snapshot()
    assert Session.restore(again).snapshot() == again
    return False


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_each_damage_is_refused_with_the_place_or_does_no_harm(
    snapshot: Any, change: Callable[[Any, Any], None]
) -> None:
    refused = [assert_refused_or_sound(snapshot, path, change) for path in places(snapshot)]

    assert len(refused) > 300
    assert sum(refused) > len(refused) / 5


@given(st.data())
@settings(deadline=None)
def test_any_damage_is_refused_with_the_place_or_does_no_harm(snapshot: Any, data: Any) -> None:
    path = data.draw(st.sampled_from(list(places(snapshot))))
    assert_refused_or_sound(snapshot, path, put(data.draw(VALUES)))


CALLS = ("slices", "ToolInvoked")


@pytest.mark.parametrize(
    ("path", "change", "problem"),
    [
        (("keep",), put(0), "keep: 0 is not 1 or more"),
        (("runs",), CHANGES["left out"], "runs: is missing"),
        (
            ("slices", "UserMessage", "items", 0, "text"),
            put(3),
            r"items[0].text: expected str, not 3",
        ),
        (
            ("slices", "ToolInvoked", "items", 1, "outcome"),
            put(1.5),
            "items[1].outcome: 1.5 is not",
        ),
        (
            ("slices", "ToolInvoked", "old", "rows", 2, 1, 1),
            put("x"),
            "old.rows[2]: turn can't be 'x'",
        ),
        (("slices", "ToolInvoked", "old", "heads", 0, 3), put(3), "heads[0][3]: expected str"),
        (("runs", 0, "active_seconds"), CHANGES["left out"], "runs[0].active_seconds: is missing"),
        (("runs", 0, "active_seconds"), put(10**400), "runs[0].active_seconds: 1000000"),
        (("runs", 0, "active_seconds"), put(-1), "runs[0].active_seconds: -1"),
        (("runs", 0, "turns"), put([]), "runs[0].turns: expected int, not []"),
        (
            ("runs", 0, "guidance", "spoken", "speaker", "total"),
            put(None),
            "['speaker'].total: ",
        ),
        (("runs", 1, "origin", "run_id"), put("x"), "runs[1].origin: no run 'x' before it"),
        (("runs", 0, "new"), put(1), "runs[0]: unknown field new"),
        (("current", "a/b"), put("x"), "current['a/b']: there is no run 'x'"),
    ],
)
def test_the_place_of_a_damage_is_named(
    snapshot: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None], problem: str
) -> None:
    with pytest.raises(SnapshotError, match=re.escape(problem)):
        Session.restore(changed(snapshot, path, change))


@pytest.mark.parametrize(
    ("number", "problem"),
    [("1e999", "items[0].elapsed: expected a number, not inf"), ("NaN", "NaN is not JSON")],
)
def test_a_number_that_is_not_finite_is_refused(snapshot: Any, number: str, problem: str) -> None:
    text = changed(snapshot, (*CALLS, "items", 0, "elapsed"), put(123456.5))
    with pytest.raises(SnapshotError, match=re.escape(problem)):
        Session.restore(text.replace("123456.5", number))


def test_arguments_that_are_not_finite_do_not_keep_a_session_from_being_saved(
    snapshot: Any,
) -> None:
    text = changed(snapshot, (*CALLS, "old", "rows", 0, 1, 8, "n"), put(123456.5))
    session = Session.restore(text.replace("123456.5", "1e999"))

    assert Session.restore(session.snapshot()).snapshot() == session.snapshot()
