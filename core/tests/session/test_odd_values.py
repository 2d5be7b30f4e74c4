"""Values of any kind are recorded once, and a session that holds them can be saved."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from fractions import Fraction
from math import isnan
from types import MappingProxyType
from typing import Any

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from trimtab import Prompt, Session, SessionError, ToolCall, ToolInvoked, Usage
from trimtab.events import ToolStarted

HUGE = 10**5000
NAN, INFINITE = float("nan"), float("inf")


class Unshown:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


class Unread(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no items")


class Count(int):
    pass


def _cyclic() -> list[Any]:
    values: list[Any] = [1]
    values.append({"again": values})
    return values


def _deep() -> Any:
    value: Any = "bottom"
    for _ in range(500):
        value = [value]
    return value


ODD: dict[str, Callable[[], Any]] = {
    "huge": lambda: HUGE,
    "negative": lambda: -HUGE,
    "of a subclass": lambda: Count(HUGE),
    "nan": lambda: NAN,
    "infinite": lambda: -INFINITE,
    "surrogate": lambda: "a\ud800b",
    "cyclic": _cyclic,
    "deep": _deep,
    "unshown": Unshown,
    "unread": lambda: Unread(a=1),
    "keys": lambda: {HUGE: 1, NAN: 2, None: 3, (1, 2): 4},
    "mapping": lambda: MappingProxyType({"v": HUGE}),
    "ordered": lambda: OrderedDict(v=NAN),
    "set": lambda: {1, 2, HUGE},
    "fraction": lambda: Fraction(HUGE),
    "bytes": lambda: b"\xff\x00",
}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=12)
    | st.builds(Unshown)
    | st.sampled_from(sorted(ODD)).map(lambda name: ODD[name]())
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=6) | st.integers() | st.floats(), inner, max_size=4)
    ),
    max_leaves=12,
)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def saved(session: Session) -> Session:
    """Return the session, saved as strict JSON and restored."""
    text = session.snapshot()
    json.loads(text, parse_constant=_refuse)
    restored = Session.restore(text)
    json.loads(restored.snapshot(), parse_constant=_refuse)
    return restored


@given(params=VALUES, result=VALUES)
@settings(deadline=None)
def test_any_value_is_recorded_once_and_saved(params: Any, result: Any) -> None:
    session = Session(keep=2)
    run = session.open_run(Prompt("a", "b", config=None))
    run.model_responded(tool_calls=[ToolCall("t", params, "0")], usage=Usage(1, 2, 0.5))
    for number in range(4):
        run.tool_started("t", params, str(number))
        run.tool_finished(str(number), result)
    run.tool_finished("x", result, tool="t", params=params, outcome="error")
    session.dispatch(ToolInvoked(tool="t", params=params, result=result, run_id=run.run_id))

    restored = saved(session)
    assert run.state.calls == run.trajectory.calls == 6
    assert len(restored[ToolInvoked]) == 6
    assert restored.runs()[run.run_id].calls == 6


@attrs.frozen
class Reading:
    """A record of a user's own."""

    value: float
    facts: Any = None


def test_records_of_ones_own_with_odd_values_are_saved() -> None:
    session = Session()
    session.dispatch(Reading(INFINITE, {"n": HUGE, "x": NAN}))
    session.dispatch(Reading(HUGE))
    text = session.snapshot()
    json.loads(text, parse_constant=_refuse)

    first, second = Session.restore(text, types=(Reading,))[Reading].all()
    assert first.value == INFINITE
    assert first.facts["n"] == second.value == HUGE
    assert isnan(first.facts["x"])


def test_what_the_caller_changes_later_reaches_no_record(kit: Any) -> None:
    rows: dict[str, Any] = {"rows": [1]}
    run = kit.run()
    run.model_responded(tool_calls=[ToolCall("t", rows, "c")])
    run.tool_started("t", rows, "c")
    run.tool_finished("c", rows)
    event = ToolInvoked(tool="t", params=rows, result=rows)
    rows["rows"].append(2)

    call = kit.session[ToolInvoked].latest()
    assert call.params == call.result == event.params == event.result == {"rows": [1]}
    assert kit.session[ToolStarted].latest().params == {"rows": [1]}
    assert run.state.last_response.tool_calls[0].params == {"rows": [1]}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (("5",), "input_tokens must be a whole number, not '5'"),
        ((None,), "input_tokens must be a whole number, not None"),
        ((-500,), "input_tokens must be 0 or more, not -500"),
        ((-HUGE,), "input_tokens must be 0 or more"),
        ((HUGE,), "input_tokens must be a count of tokens"),
        ((True,), "input_tokens must be a whole number"),
        ((0, 1.5), "output_tokens must be a whole number"),
        ((0, 0, NAN), "cost must be from 0"),
        ((0, 0, INFINITE), "cost must be from 0"),
        ((0, 0, HUGE), "cost must be from 0"),
        ((0, 0, -1), "cost must be from 0"),
        ((0, 0, "1"), "cost must be a number"),
        ((0, 0, 0, None), "cached_tokens must be a whole number"),
    ],
)
def test_usage_names_the_field_that_is_wrong(fields: Any, problem: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        Usage(*fields)

    assert str(caught.value).startswith(problem)


def test_usage_adds_up_to_usage() -> None:
    total = Usage(1, 2, 0.5, 1) + Usage(3, 4, 1.5)

    assert total == Usage(4, 6, 2.0, 1)
    assert type(total) is Usage


def test_a_duration_that_no_float_holds_is_refused(kit: Any) -> None:
    run = kit.run()
    with pytest.raises(SessionError, match="duration"):
        run.tool_finished("c", tool="t", duration=HUGE)
    assert run.state.calls == 0
