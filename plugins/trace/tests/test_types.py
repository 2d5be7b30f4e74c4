"""Records become events by the names and fields of the specification, and come back equal."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import attrs
import pytest
from hypothesis import example, given, strategies

from trimtab import Event, ManualClock, Outcome, Plan, PlanStep, Session, ToolInvoked
from trimtab.events import RunClosed, ToolStarted, UserMessage, decode_value, encode_value
from trimtab_trace import (
    EVENT_TYPES,
    EventType,
    EventTypes,
    JsonlStore,
    TraceError,
    TraceEvent,
    TraceWriter,
    UnknownEvent,
    open_trace,
)
from trimtab_trace._codec import BACKEND, STANDARD

from .making import records, write

AT = datetime(2026, 1, 5, 9, 30, 0, 123456, tzinfo=UTC)


def written(folder: Path, *items: object, types: EventTypes = EVENT_TYPES) -> list[TraceEvent]:
    writer = TraceWriter(JsonlStore(folder / "run.jsonl", durability="none"), types=types)
    for item in items:
        writer.record(item)
    writer.close()
    return list(open_trace(folder / "run.jsonl"))


def test_records_of_a_run_come_back_equal(tmp_path: Path) -> None:
    items = records(20)
    path = write(tmp_path / "run.jsonl", items, durability="none")
    assert [EVENT_TYPES.load(event) for event in open_trace(path)] == items


def test_a_call_has_the_payload_of_the_specification(tmp_path: Path) -> None:
    told = {"tool": "sql", "params": {"q": 1}, "call_id": "c", "run_id": "r", "at": AT}
    started, returned, failed, ended = written(
        tmp_path,
        ToolStarted(**told, prompt_name="a/b", agent_id="sub"),
        ToolInvoked(**told, result="3 rows", duration=0.25, started=AT),
        ToolInvoked(**told, result=None, outcome=Outcome.ERROR, error="no such table"),
        RunClosed(run_id="r", at=AT, reason="manual_stop: the user left"),
    )
    assert (started.event_type, started.actor) == ("ToolInvoked", "sub")
    assert started.references.namespace == "a/b"
    assert (started.payload["tool"], started.payload["input"]) == ("sql", {"q": 1})
    assert returned.event_type == "ToolReturned"
    assert returned.payload["success"] is True
    assert (returned.payload["output"], returned.payload["latency"]) == ("3 rows", 0.25)
    assert (failed.payload["success"], failed.payload["error"]) == (False, "no such table")
    assert ended.event_type == "RunTerminated"
    assert ended.payload["termination"] == "manual_stop"
    assert ended.timestamp == AT


def test_calls_refer_to_the_step_of_the_plan_that_they_serve(tmp_path: Path) -> None:
    plan = Plan(
        [
            PlanStep("fetch", "in_progress", "S1", tools=["sql"], expected="3 rows"),
            PlanStep("write", "pending", "S2", depends_on=["S1"]),
        ],
        "report",
        plan_id="p-1",
        run_id="r",
    )
    told = {"tool": "sql", "call_id": "c", "run_id": "r", "at": AT}
    planned, started, returned, other = written(
        tmp_path,
        plan,
        ToolStarted(**told),
        ToolInvoked(**told),
        ToolStarted(**{**told, "run_id": "another"}),
    )
    assert planned.event_type == "PlanRecorded"
    for event in (started, returned):
        assert (event.references.plan_id, event.references.step_id) == ("p-1", "S1")
    assert started.payload["expected"] == "3 rows"
    assert other.references.step_id is None
    assert EVENT_TYPES.load(started) == ToolStarted(**told)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Deployed(Event):
    service: str
    plan_id: str = ""
    tags: tuple[str, ...] = ()


@attrs.frozen
class Note:
    text: str
    more: object = None


def test_types_of_a_package_stand_by_their_names(tmp_path: Path) -> None:
    types = EventTypes()
    types.register("ServiceDeployed", Deployed)
    record = Deployed(service="web", plan_id="p-1", tags=("a",), run_id="r", at=AT)
    (event,) = written(tmp_path, record, types=types)
    assert (event.event_type, event.references.plan_id) == ("ServiceDeployed", "p-1")
    assert types.load(event) == record
    assert EventTypes().load(event) == UnknownEvent(event)
    with pytest.raises(TraceError, match="register Note by another name"):
        types.register("ServiceDeployed", Note)


def test_a_class_that_nobody_registered_stands_by_its_own_name(tmp_path: Path) -> None:
    types = EventTypes((EventType("Other", int),), discover=False)
    one, two = written(tmp_path, Note("x", {1: {2, 3}}), object(), types=types)
    assert (one.event_type, one.payload) == ("Note", {"text": "x", "more": {"1": {"$set": [2, 3]}}})
    assert two.event_type == "object"
    assert list(two.payload) == ["value"]


def test_a_record_of_a_taken_name_stands_by_its_full_name(tmp_path: Path) -> None:
    @attrs.frozen
    class UserMessage:
        text: str

    (event,) = written(tmp_path, UserMessage("x"))
    assert event.event_type.endswith("UserMessage")
    assert event.event_type != "UserMessage"


def test_records_without_a_time_get_the_clock_s(tmp_path: Path) -> None:
    clock = ManualClock(AT)
    writer = TraceWriter(JsonlStore(tmp_path / "run.jsonl"), clock=clock)
    assert writer.record(Plan()).timestamp == AT
    writer.close()


def test_a_session_keeps_no_order_that_a_trace_lacks(tmp_path: Path) -> None:
    session = Session()
    writer = TraceWriter(JsonlStore(tmp_path / "run.jsonl"))
    session.observe(Event, writer.record)
    for number in range(5):
        session.dispatch(UserMessage(text=str(number), run_id="r"))
    writer.close()
    assert [event.payload["text"] for event in open_trace(tmp_path / "run.jsonl")] == [*"01234"]


json_values = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats(allow_nan=False)
    | strategies.text(),
    lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
    max_leaves=20,
)


@given(json_values)
@example(-(1 << 63) - 1)
@example(-(1 << 63))
@example(1 << 64)
@example((1 << 64) - 1)
@example([10**4000])
def test_any_value_comes_back_from_both_json_libraries(value: object) -> None:
    for backend in (STANDARD, BACKEND):
        assert decode_value(backend.loads(backend.dumps(encode_value(value)))) == value


def test_values_that_json_lacks_come_back_or_become_text() -> None:
    loop: list[object] = []
    loop.append(loop)
    deep: object = "end"
    for _ in range(200):
        deep = [deep]
    for value in (loop, deep, object(), {object(): 1}, {1, 2}, 10**5000):
        STANDARD.dumps(encode_value(value))
    assert decode_value(encode_value({"b": b"\x00\xff", "f": float("-inf")})) == {
        "b": b"\x00\xff",
        "f": float("-inf"),
    }


def test_a_hostile_value_is_text() -> None:
    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError

    assert encode_value({"x": Hostile()}) == {"x": "<Hostile>"}
