"""One codec: what a snapshot, a trace and a message hold comes back as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab import Prompt, Session, ToolInvoked
from trimtab.events import (
    RECORD_TYPES,
    Event,
    ResultDigest,
    decode_value,
    encode_value,
    record_converter,
    structure_problems,
)

members = st.none() | st.integers() | st.text(max_size=5) | st.binary(max_size=5)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.builds(ResultDigest, st.integers(0, 10**9), st.binary(max_size=16).map(bytes.hex))
    | st.frozensets(members | st.tuples(members, members), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.sampled_from(["$", "$set", "$$x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
def test_any_value_comes_back_equal(value: Any) -> None:
    text = json.dumps(encode_value(value), allow_nan=False)

    assert decode_value(json.loads(text)) == value


NUMBERS = [10**5000, -(10**5000), float("inf"), float("-inf"), 5, 5.0]


@pytest.mark.parametrize("number", NUMBERS, ids=range(len(NUMBERS)))
def test_a_number_keeps_its_type(number: Any) -> None:
    found = decode_value(json.loads(json.dumps(encode_value(number), allow_nan=False)))

    assert (found, type(found)) == (number, type(number))


def test_json_of_other_programs_is_read_as_it_is() -> None:
    schema = {"$ref": "#/a", "$defs": {"a": {"$id": 1}}}

    assert decode_value(schema) == schema
    assert decode_value(encode_value(schema)) == schema


@pytest.mark.parametrize(
    "value",
    [{"$bytes": 1}, {"$bytes": "?"}, {"$set": "ab"}, {"$digest": [1]}, {"$float": 1}, {"$int": 1}],
)
def test_a_damaged_mark_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"\$\w+ can't hold"):
        decode_value([value])


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Measured(Event):
    """An event with a field of each type that needs care."""

    seconds: float
    names: frozenset[str] = frozenset()
    raw: bytes = b""
    began: datetime | None = None
    rest: Any = None


@given(
    st.builds(
        Measured,
        seconds=st.integers() | st.floats(allow_nan=False),
        names=st.frozensets(st.text(max_size=4), max_size=4),
        raw=st.binary(max_size=4),
        began=st.none() | st.datetimes(timezones=st.just(UTC)),
        rest=values,
    )
)
def test_a_record_comes_back_equal_and_prints_the_same(event: Measured) -> None:
    for short in (False, True):
        converter = record_converter(short=short)
        text = json.dumps(converter.unstructure(event), allow_nan=False)
        again = converter.structure(json.loads(text), Measured)

        assert again == event
        assert repr(again.seconds) == repr(event.seconds)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "seconds: is missing"),
        ({"seconds": "1"}, "seconds: expected a number, not '1'"),
        ({"seconds": True}, "seconds: expected a number, not True"),
        ({"seconds": 1, "names": [1]}, "names[0]: expected str, not 1"),
        ({"seconds": 1, "began": "noon"}, "began: Invalid isoformat string: 'noon'"),
        ({"seconds": 1, "more": 2}, "unknown field more"),
        ([1], "expected the fields of Measured, not [1]"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(fields: Any, problem: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - what cattrs raises
        record_converter(strict=True).structure(fields, Measured)

    assert next(structure_problems(caught.value)) == problem
    assert next(structure_problems(caught.value, "x")).startswith("x")


def test_a_message_without_marks_holds_plain_json() -> None:
    converter = record_converter(marks=False, strict=True)

    assert converter.unstructure(Measured(seconds=1, rest={"$set": [1]}))["rest"] == {"$set": [1]}
    read = converter.structure({"seconds": 1, "rest": {"$set": [1]}}, Measured)
    assert read.rest == {"$set": [1]}


def test_bytes_and_sets_of_a_result_survive_a_snapshot() -> None:
    session = Session()
    run = session.open_run(Prompt("a", "b", config=None))
    run.tool_finished("c", {"data": b"\xff", "of": {3, "a", None}}, tool="t")
    call = session[ToolInvoked].latest()
    again = Session.restore(session.snapshot())[ToolInvoked].latest()

    assert call is not None
    assert again == call
    assert call.result["data"] == b"\xff"


@pytest.mark.waits
def test_sets_are_recorded_in_one_order_in_every_process() -> None:
    code = (
        "from trimtab import ToolInvoked; from trimtab.events import encode_value; "
        "values = {'alpha', 'beta', 3, 2.5, None, frozenset('xyz'), (1, 'q')}; "
        "print(ToolInvoked(tool='t', params={'of': values}).params, encode_value(values))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(printed) == 1


def test_core_lists_each_of_its_events_once() -> None:
    from trimtab import events

    kinds = {getattr(events, name) for name in events.__all__}
    concrete = {kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Event)} - {
        Event,
        events.ProviderEvent,
        events.Question,
    }

    assert concrete | {events.Plan} == set(RECORD_TYPES)
    assert len({kind.__name__ for kind in RECORD_TYPES}) == len(RECORD_TYPES)
