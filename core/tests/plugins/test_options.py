"""Options are held against the annotations of what takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from trimtab import enable
from trimtab.inspection import ProviderOptionsError, options_of
from trimtab_testing import Lab, Speaker

if TYPE_CHECKING:
    pass


class Level(Enum):
    LOW = "low"


class Service:
    """Has no counterpart in a file."""


@attrs.frozen
class Rule:
    name: str
    weight: float = 1.0


def _many(value: Iterable[int]) -> tuple[int, ...]:
    return tuple(value)


def take(annotation: Any, value: Any) -> Any:
    """Give a value to an option of this type, and return what the provider got."""
    got: list[Any] = []

    def factory(it: Any) -> Speaker:
        got.append(it)
        return Speaker()

    factory.__annotations__["it"] = annotation
    Lab(guidance={"tested": factory}).prompt(guidance=[enable("tested", it=value)])
    return got[-1]


NOW = Service()


@pytest.mark.parametrize(
    ("annotation", "given", "got"),
    [
        (int, 3, 3),
        (int, 3.0, 3),
        (float, 3, 3.0),
        (float, float("inf"), float("inf")),
        (str, "x", "x"),
        (bool, True, True),
        (int | None, None, None),
        ("int | None", 5, 5),
        (Literal["", "seed"], "seed", "seed"),
        (Literal[Level.LOW], Level.LOW, Level.LOW),
        (Level, "low", Level.LOW),
        (Level, Level.LOW, Level.LOW),
        (Path, "a/b", Path("a/b")),
        (Path, Path("a/b"), Path("a/b")),
        (str | Path, Path("a"), Path("a")),
        (date, date(2026, 1, 2), date(2026, 1, 2)),
        (date, "2026-01-02", date(2026, 1, 2)),
        (Sequence[str], ["a", "b"], ("a", "b")),
        (Iterable[str], ("a", "b"), ("a", "b")),
        (frozenset[str], ["a"], frozenset({"a"})),
        (frozenset[str], {"a"}, frozenset({"a"})),
        (list[Any], (1, "a"), [1, "a"]),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Mapping[int, str], {"1": "a"}, {1: "a"}),
        (Mapping[int, str], {1: "a"}, {1: "a"}),
        (dict, {1: 2}, {1: 2}),
        (dict[str, list[int]], {"a": [1]}, {"a": [1]}),
        (Rule, {"name": "a", "weight": 2}, Rule("a", 2.0)),
        (Rule, Rule("b"), Rule("b")),
        (list[Rule], [{"name": "a"}, Rule("b")], [Rule("a"), Rule("b")]),
        (Service, NOW, NOW),
        (Service | None, None, None),
        (type[Any] | str, Rule, Rule),
        (Callable[[int], int], _many, _many),
        (Annotated[int, "how many"], 2, 2),
        (Any, NOW, NOW),
        ("Hidden", NOW, NOW),
        ("no such thing", NOW, NOW),
    ],
)
def test_what_fits_is_taken_and_converted(annotation: Any, given: Any, got: Any) -> None:
    assert take(annotation, given) == got
    assert type(take(annotation, given)) is type(got)


@pytest.mark.parametrize(
    ("annotation", "given", "what"),
    [
        (int, "3", 'expected integer at it, not "3"'),
        (int, True, "expected integer at it, not true"),
        (int, 2.5, "expected integer at it, not 2.5"),
        (float, "x", "expected number at it"),
        (float, float("nan"), "expected number at it"),
        (str, 3, "expected string at it, not 3"),
        (str, None, "expected string at it, not null"),
        (bool, "yes", 'expected boolean at it, not "yes"'),
        (bool, 1, "expected boolean at it, not 1"),
        (Literal["", "seed"], "own", 'expected one of "", "seed" at it, not "own"'),
        (Level, "high", 'expected one of "low" at it, not "high"'),
        (Sequence[str], "src/", 'expected array at it, not "src/"'),
        (Sequence[str], ["a", 1], r"expected string at it\[1\], not 1"),
        (Sequence[str], {"a": 1}, "expected array at it"),
        (tuple[int, str], [1], "expected 2 items at it, not 1"),
        (Mapping[int, str], {"one": "a"}, r'expected integer at the name it\["one"\]'),
        (Mapping[int, str], ["a"], "expected table at it"),
        (Rule, {"nme": "a"}, r"missing it.name \(string\); unknown field"),
        (Service, 3, "expected an object of Service at it, not 3"),
        (Service | None, "x", 'expected an object of Service or None at it, not "x"'),
        (int | str, [1], "expected integer or string at it"),
    ],
)
def test_what_does_not_fit_is_named(annotation: Any, given: Any, what: str) -> None:
    with pytest.raises(ProviderOptionsError, match="guidance provider 'tested' of .*: " + what):
        take(annotation, given)


def test_all_wrong_options_are_named_at_once() -> None:
    def factory(size: int = 1, name: str = "") -> Speaker:
        return Speaker()

    with pytest.raises(ProviderOptionsError, match='size, not "x"; expected string at name, not 2'):
        Lab(guidance={"a": factory}).prompt(guidance=[enable("a", size="x", name=2)])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@settings(max_examples=25)
@given(JSON)
def test_any_value_of_a_file_is_taken_or_refused(value: Any) -> None:
    for annotation in (int, list[float], Mapping[int, str], Rule | None, Path | bool):
        with suppress(ProviderOptionsError):  # nothing else is raised
            take(annotation, value)


@attrs.frozen
class Kept:
    """A provider of attrs.

    Args:
        size: how many,
            at most.
        roots, many: where to look
            (see there): names.
        _secret: not its name.
    """

    size: Annotated[int, "unused"] = attrs.field(default=3)
    roots: tuple[str, ...] = attrs.field(factory=tuple, converter=tuple)
    many: tuple[int, ...] = attrs.field(default=(), converter=_many)
    own: str = attrs.field(default="a", converter=str)
    _hidden: bool = False

    def classify(self, context: Any) -> Any: ...
    def provide(self, context: Any) -> Any: ...

    name = "kept"
    category = "kept"


class Made(Kept):
    """Written by hand."""

    def __init__(self, path: str, *rest: int, depth: int | None = None, **more: Any) -> None:
        """Make it.

        Args:
            path: where.

        Raises:
            ValueError: never: it can't.
        """


def test_options_are_listed_with_type_default_and_words() -> None:
    rows = [attrs.astuple(option) for option in options_of(Kept)]
    assert rows == [
        ("size", "Annotated[int, 'unused']", False, "3", "how many, at most."),
        ("roots", "tuple[str, ...]", False, "()", "where to look (see there): names."),
        ("many", "Iterable[int]", False, "()", "where to look (see there): names."),
        ("own", "", False, "'a'", ""),
        ("hidden", "bool", False, "False", ""),
    ]
    rows = [attrs.astuple(option) for option in options_of(Made)]
    assert rows == [
        ("path", "str", True, "", "where."),
        ("depth", "int | None", False, "None", ""),
    ]
    assert options_of(dict) == ()


@pytest.mark.parametrize("given", [{"roots": "src/"}, {"many": "12"}, {"hidden": 0}])
def test_a_class_of_attrs_is_held_to_its_fields(given: dict[str, Any]) -> None:
    lab = Lab(guidance={"kept": Kept})
    with pytest.raises(ProviderOptionsError, match=f"at {next(iter(given))}"):
        lab.prompt(guidance=[enable("kept", **given)])
    lab.prompt(guidance=[enable("kept", roots=["a"], many={1}, own=5, hidden=True)])


def test_more_options_than_named_ones_are_not_checked() -> None:
    made: list[Any] = []

    def factory(size: int = 1, **more: int) -> Speaker:
        made.append((size, more))
        return Speaker()

    Lab(guidance={"a": factory}).prompt(guidance=[enable("a", size=2, other="x")])
    assert made == [(2, {"other": "x"})]
