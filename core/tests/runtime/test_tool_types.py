"""One model of a tool's type: what its schema admits is converted, or the model reads why."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections import deque
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    LiteralString,
    NamedTuple,
    Never,
    NewType,
    NotRequired,
    Self,
    TypedDict,
    TypeVar,
)
from uuid import UUID

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab import Tool, ToolError, ToolResult
from trimtab.hosting import from_json, json_schema, to_json

T = TypeVar("T")
UserId = NewType("UserId", int)


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Colour(Enum):
    RED = "red"
    NONE = None


@attrs.frozen
class Items:
    items: list["Item"]  # noqa: UP037 - as people write it
    best: "Item | None" = None  # noqa: UP037
    named: dict[str, "Item"] = attrs.field(factory=dict)  # noqa: UP037


@attrs.frozen
class Item:
    price: float
    id: UserId = UserId(0)


@dataclasses.dataclass
class Circle:
    kind: Literal["circle"]
    radius: float


@dataclasses.dataclass
class Square:
    kind: Literal["square"]
    side: float
    tags: tuple[str, ...] = ()


@dataclasses.dataclass
class Shapes:
    shape: Circle | Square
    other: Item | Circle | None = None


class Options(TypedDict, total=False):
    depth: int
    name: NotRequired[str]


class Place(NamedTuple):
    line: int
    column: int = 0


@attrs.frozen
class Page(Generic[T]):
    content: list[T]


@attrs.frozen
class UserPage(Page[UserId]):
    total: int = 0


@dataclasses.dataclass
class Counted:
    start: dataclasses.InitVar[int]
    end: int = dataclasses.field(init=False)

    def __post_init__(self, start: int) -> None:
        self.end = start + 1


@attrs.frozen
class Everything:
    anything: object = None
    colour: Colour = Colour.RED
    level: Level = Level.LOW
    literal: Literal["a", 1, Level.HIGH] | None = "a"
    number: int | float = 0
    text: LiteralString = ""
    pages: Page[Items] | None = None
    users: UserPage | None = None
    options: Options = attrs.field(factory=Options)
    place: Place = Place(1)
    pair: tuple[int, str] = (1, "")
    empty: tuple[()] = ()
    many: tuple[bool, ...] = ()
    by_level: dict[int, set[int]] = attrs.field(factory=dict)
    by_colour: Mapping[Literal["red", "blue"], Sequence[str]] = attrs.field(factory=dict)
    last: deque[int] = attrs.field(factory=deque)
    bare: list | dict | None = None
    _private: Annotated[int, "Hidden."] = 0


@attrs.frozen
class Written:
    id: UUID | None = None
    amount: Decimal = Decimal(0)
    at: datetime.time | None = None
    day: datetime.date | None = None
    moment: datetime.datetime | None = None
    path: Path = Path()
    days: dict[datetime.date, int] = attrs.field(factory=dict)


RECORDS = (Items, Shapes, Everything, Written, Options, Place, Page, UserPage, Page[int])


def run(params: Any, *, context: Any) -> ToolResult[None]:
    return ToolResult.ok()


def tool(params: Any) -> Tool[Any, None]:
    return Tool("try", "", params, run)


def values_of(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema of ours admits."""
    if "anyOf" in schema:
        return st.one_of([values_of(arm) for arm in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True)
    if "format" in schema:
        return FORMATS[schema["format"]]
    kind = schema.get("type")
    if kind == "array":
        return arrays_of(schema)
    return objects_of(schema) if kind == "object" else PLAIN.get(str(kind), json_values)


def arrays_of(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if "prefixItems" in schema:
        return st.tuples(*map(values_of, schema["prefixItems"])).map(list)
    most = schema.get("maxItems", 3)
    return st.lists(values_of(schema.get("items", {"type": "integer"})), max_size=most)


def objects_of(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if "properties" not in schema:
        names = values_of(schema.get("propertyNames", {"type": "string"}))
        return st.dictionaries(names, values_of(schema.get("additionalProperties", {})), max_size=3)
    fields = {name: values_of(field) for name, field in schema["properties"].items()}
    needed = {name: fields.pop(name) for name in schema["required"]}
    return st.fixed_dictionaries(needed, optional=fields)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = {
    "string": st.text(),
    "boolean": st.booleans(),
    "null": st.none(),
    "integer": st.integers() | st.integers(-9, 9).map(float),
    "number": numbers.filter(lambda value: abs(value) < 1e300),
}
FORMATS = {
    "uuid": st.uuids().map(str),
    "date": st.dates().map(str),
    "time": st.times().map(str),
    "date-time": st.datetimes().map(lambda at: at.isoformat() + "Z"),
}


@given(st.data())
def test_each_value_that_a_schema_admits_is_converted_and_comes_back(data: st.DataObject) -> None:
    record = data.draw(st.sampled_from(RECORDS))
    value = data.draw(values_of(json_schema(record)))
    made = from_json(record, value, name="params")  # type: ignore[arg-type]
    written = json.loads(json.dumps(to_json(made)))
    assert from_json(record, written, name="params") == made  # type: ignore[arg-type]


@given(st.data())
def test_a_validator_of_json_schema_admits_the_same_values(data: st.DataObject) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    record = data.draw(st.sampled_from([r for r in RECORDS if r is not Written]))
    schema = json_schema(record)
    jsonschema.Draft202012Validator.check_schema(schema)
    names = st.sampled_from([*schema["properties"], "other"])
    value = data.draw(
        st.dictionaries(names, json_values, max_size=4)
        | st.tuples(values_of(schema), names, json_values).map(lambda it: {**it[0], it[1]: it[2]})
        | json_values
    )
    admitted = jsonschema.Draft202012Validator(schema).is_valid(value)
    if admitted:
        from_json(record, value, name="params")  # type: ignore[arg-type]
    else:
        with pytest.raises(ValueError, match="params"):
            from_json(record, value, name="params")  # type: ignore[arg-type]


CONVERTED = [
    (Items, {"items": [{"price": 1}], "best": {"price": 2, "id": 3}}, Items([Item(1)], Item(2, 3))),
    (Shapes, {"shape": {"kind": "square", "side": 1}}, Shapes(Square("square", 1.0))),
    (Shapes, {"shape": {"kind": "circle", "radius": 1}, "other": {"price": 1}}, None),
    (Options, {"depth": 2}, {"depth": 2}),
    (Place, {"line": 2}, Place(2, 0)),
    (Page, {"content": [1, "a"]}, Page([1, "a"])),
    (Everything, {"by_level": {"1": [2, 2]}}, Everything(by_level={1: {2}})),
    (Everything, {"literal": 2}, Everything(literal=Level.HIGH)),
    (Everything, {"number": 4.0}, Everything(number=4.0)),
    (Everything, {"_private": 3}, Everything(private=3)),  # pyright: ignore[reportCallIssue]
    (Counted, {"start": 3}, Counted(3)),
    (Written, {"amount": "1.10"}, Written(amount=Decimal("1.10"))),
    (Written, {"amount": 0.1}, Written(amount=Decimal("0.1"))),
    (Written, {"id": "12345678-1234-5678-1234-567812345678"}, None),
    (Written, {"days": {"2026-01-02": 1}}, Written(days={datetime.date(2026, 1, 2): 1})),
]


@pytest.mark.parametrize(("record", "value", "made"), CONVERTED)
def test_a_value_becomes_what_the_annotation_says(record: Any, value: Any, made: Any) -> None:
    converted = tool(record).parse(value)
    assert made is None or converted == made


REFUSED = [
    (Shapes, {"shape": {"kind": "circle", "side": 1}}, "missing params.shape.radius"),
    (Shapes, {"shape": {"side": "1"}}, "as Circle: missing params.shape.kind"),
    (Shapes, {"shape": 1}, "expected object at params.shape, not 1"),
    (Everything, {"by_level": {"one": [1]}}, "expected integer at the name params.by_level"),
    (Everything, {"empty": [1]}, "expected 0 items at params.empty, not 1"),
    (Item, {"price": 10**400}, "expected number at params.price"),
    (Written, {"id": "7"}, "expected a UUID or null at params.id"),
    (Written, {"amount": "a lot"}, "expected a decimal number at params.amount"),
    (Options, {"depth": "2"}, "expected integer at params.depth"),
    (Page[int], {"content": ["a"]}, "expected integer at params.content"),
    (UserPage, {"content": ["a"]}, "expected integer at params.content"),
]


@pytest.mark.parametrize(("record", "value", "words"), REFUSED)
def test_the_model_reads_what_is_wrong_where(record: Any, value: Any, words: str) -> None:
    with pytest.raises(ToolError) as raised:
        tool(record).parse(value)
    assert words in str(raised.value)


@attrs.define
class Validated:
    size: int = attrs.field(default=4, validator=attrs.validators.in_([4, 5]))
    path: str = attrs.field(default="/")
    both: str = ""

    @path.validator
    def _is_absolute(self, _: object, value: str) -> None:
        if not value.startswith("/"):
            raise ValueError("path must be an absolute path")

    def __attrs_post_init__(self) -> None:
        if self.both == "lookup":
            raise KeyError(self.both)
        if self.both:
            raise TypeError("both can't be used here")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"size": 3}, "size must be one of 4, 5, not 3 at params"),
        ({"path": "a"}, "path must be an absolute path at params"),
        ({"both": "x"}, "both can't be used here at params"),
        ({"both": "lookup"}, "KeyError: 'lookup' at params"),
    ],
)
def test_the_model_reads_what_a_validator_says(value: Any, words: str) -> None:
    with pytest.raises(ToolError) as raised:
        tool(Validated).parse(value)
    assert words in str(raised.value)


class Plain:
    """No record."""


def record_with(annotation: Any) -> Any:
    return attrs.make_class("Odd", {"field": attrs.field(type=annotation)})


@pytest.mark.parametrize(
    "annotation",
    [
        *(Never, Self, complex, bytes, type, Plain, Literal[b"a"], tuple[int, int] | complex),
        *(dict[Plain, int], dict[float, int], Enum("Pairs", {"A": (1, 2)}), [int]),
        list["Missing"],  # noqa: F821
    ],
)
def test_what_json_can_not_say_is_refused_when_the_tool_is_made(annotation: Any) -> None:
    with pytest.raises(ToolError, match=r"(?s)try.*Odd"):
        tool(record_with(annotation))


@pytest.mark.parametrize("params", [None, int, list[Item], Plain, "Item", [], Item | None, Any])
def test_parameters_that_are_no_record_are_refused_when_the_tool_is_made(params: Any) -> None:
    with pytest.raises(ToolError, match="try"):
        tool(params)


def test_a_model_of_pydantic_has_its_own_schema_and_says_what_is_wrong() -> None:
    pydantic = pytest.importorskip("pydantic", minversion="2")

    class Line(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        price: float = pydantic.Field(gt=0)
        day: datetime.date | None = None

    class Invoice(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        model_config = pydantic.ConfigDict(extra="forbid")
        lines: list[Line]

        @pydantic.field_validator("lines")
        @classmethod
        def _some(cls, lines: list[Line]) -> list[Line]:
            if not lines:
                raise ValueError("an invoice has a line")
            return lines

    Wrapped = attrs.make_class("Wrapped", {"invoice": attrs.field(type=Invoice)})  # noqa: N806
    sent = {"lines": [{"price": 1.5, "day": "2026-01-02"}]}
    invoice = tool(Invoice).parse(sent)
    assert invoice.lines[0].day == datetime.date(2026, 1, 2)
    assert tool(Wrapped).parse({"invoice": sent}).invoice == invoice
    assert to_json(invoice) == sent
    assert json_schema(Invoice)["$defs"]["Line"]["properties"]["price"]["exclusiveMinimum"] == 0
    with pytest.raises(ToolError) as raised:
        tool(Wrapped).parse({"invoice": {"lines": [{"price": -1}]}})
    assert "greater than 0 at params.invoice.lines[0].price" in str(raised.value)
    with pytest.raises(ToolError) as raised:
        tool(Invoice).parse({"lines": []})
    assert "an invoice has a line at params.lines. Arguments: lines (array)." in str(raised.value)


def test_a_recursive_model_of_pydantic_can_be_the_parameters() -> None:
    pydantic = pytest.importorskip("pydantic", minversion="2")
    Node = pydantic.create_model("Node", children=(list["Node"], []))  # noqa: N806
    made = tool(Node)
    assert made.schema["type"] == "object"
    assert made.parse({"children": [{"children": []}]}).children == [Node()]


def test_two_models_of_one_name_keep_their_own_fields() -> None:
    pydantic = pytest.importorskip("pydantic", minversion="2")

    def outer(name: str, kind: type) -> Any:
        inner = pydantic.create_model("Inner", value=(kind, ...))
        return pydantic.create_model(name, inner=(inner, ...))

    fields = {name: attrs.field(type=outer(name, kind)) for name, kind in (("A", int), ("B", str))}
    made = tool(attrs.make_class("Both", fields))
    validator = pytest.importorskip("jsonschema").Draft202012Validator(made.schema)
    sent = {"A": {"inner": {"value": 1}}, "B": {"inner": {"value": "b"}}}
    assert validator.is_valid(sent)
    assert not validator.is_valid({**sent, "B": {"inner": {"value": 2}}})
    assert made.parse(sent).B.inner.value == "b"
