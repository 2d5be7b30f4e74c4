"""Arguments and output that do not fit are refused with the place, never converted."""

from __future__ import annotations

import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab import Tool, ToolError, ToolResult
from trimtab.hosting import from_json


class Colour(Enum):
    RED = "red"
    ONE = 1


@attrs.frozen
class Inner:
    x: int


@attrs.frozen
class Params:
    b: bool = False
    s: str = ""
    i: int = 0
    f: float = 0.0
    words: list[str] = attrs.field(factory=list)
    numbers: set[int] = attrs.field(factory=set)
    pair: tuple[int, str] = (1, "a")
    table: dict[str, int] = attrs.field(factory=dict)
    colour: Colour = Colour.RED
    mode: Literal["x", 1] = "x"
    either: int | str | None = None
    inner: Inner | None = None
    inners: list[Inner] = attrs.field(factory=list)
    day: datetime.date | None = None
    at: datetime.datetime | None = None
    path: Path = Path()
    anything: Any = None


MISFITS = {
    "b": ["false", "true", 0, 1, None, [], {}],
    "s": [None, 1, True, {"a": 1}, ["a"]],
    "i": ["1", 4.7, True, None, "abc", float("nan"), float("inf"), [1]],
    "f": ["nan", "1.5", True, None, float("nan"), float("-inf")],
    "words": ["abc", {"a": 1}, [1], None, [None]],
    "numbers": ["12", {"1": 2}, ["1"], [1.5]],
    "pair": [[1], [1, 2], "1a", [True, "a"]],
    "table": [[], "a", {"a": "1"}, {"a": None}, [["a", 1]]],
    "colour": ["RED", True, 2, None],
    "mode": [True, "y", "1"],
    "either": [1.5, True, [], {}],
    "inner": [{"x": "1"}, {}, {"x": 1, "y": 2}, 1, [1]],
    "inners": [{"x": 1}, [{"x": 1}, {"x": True}]],
    "day": ["yesterday", "2020-13-01", 20200101],
    "at": ["noon", 0],
    "path": [1, None, ["a"]],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in MISFITS.items() for value in values]
)
def test_a_value_of_another_type_is_refused_with_its_place(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"params.{name}"):
        from_json(Params, {name: value}, name="params")


FITS = {
    "i": (4.0, 4),
    "f": (1, 1.0),
    "numbers": ([1, 2, 2], {1, 2}),
    "pair": ([2, "b"], (2, "b")),
    "colour": ("red", Colour.RED),
    "either": ("1", "1"),
    "inner": ({"x": 1}, Inner(1)),
    "inners": ([{"x": 1}], [Inner(1)]),
    "day": ("2020-01-02", datetime.date(2020, 1, 2)),
    "at": ("2020-01-02T00:00:00Z", datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)),
    "path": ("a/b", Path("a/b")),
    "anything": ({"a": [1, None]}, {"a": [1, None]}),
}


@pytest.mark.parametrize(("name", "value", "made"), [(n, *pair) for n, pair in FITS.items()])
def test_a_value_that_fits_becomes_its_type(name: str, value: object, made: object) -> None:
    assert getattr(from_json(Params, {name: value}, name="params"), name) == made


def test_the_message_says_what_was_expected_where_and_what_was_sent() -> None:
    def run(params: Params, *, context: Any) -> ToolResult[None]:
        return ToolResult.ok()

    @attrs.frozen
    class Target:
        path: str
        dry_run: bool = False

    tool = Tool("remove", "", Target, run)  # type: ignore[arg-type]
    with pytest.raises(ToolError) as raised:
        tool.parse({"dry_run": "false", "force": True})
    assert str(raised.value) == (
        'remove: missing params.path (string); expected boolean at params.dry_run, not "false"; '
        'unknown field "force" in params. Arguments: path (string), dry_run (boolean, optional).'
    )


def test_many_problems_are_told_in_few_words() -> None:
    with pytest.raises(ValueError, match=r"params\.words") as raised:
        from_json(Params, {"words": [1] * 1000 + ["x" * 10_000]}, name="params")
    assert len(str(raised.value)) < 1_000


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
)


@given(st.dictionaries(st.sampled_from([*MISFITS, "anything", "zz"]), values))
def test_whatever_is_sent_is_converted_without_loss_or_refused(sent: dict[str, Any]) -> None:
    try:
        made = from_json(Params, sent, name="params")
    except ValueError:
        return
    for name in ("b", "s", "i", "f", "words", "table"):
        if name in sent:
            assert getattr(made, name) == sent[name]
            assert isinstance(made.b, bool)
            assert isinstance(made.s, str)
