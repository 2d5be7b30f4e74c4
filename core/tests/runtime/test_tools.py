"""Tools: schema, arguments, results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal

import attrs
import pytest

from trimtab import (
    Filesystem,
    Heartbeat,
    ManualClock,
    Prompt,
    Resources,
    RootedFilesystem,
    Session,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
)
from trimtab.hosting import json_schema


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.0


@attrs.frozen
class Order:
    name: Annotated[str, "Who orders."]
    points: tuple[Point, ...]
    pair: tuple[int, str]
    size: Literal["s", "m"] = "s"
    colour: Colour = Colour.RED
    note: str | None = attrs.field(default=None, metadata={"description": "Anything else."})
    tags: list[str] = attrs.field(factory=list)
    extra: Mapping[str, Any] = attrs.field(factory=dict)
    more: Sequence[bool] = ()


@dataclass
class Node:
    child: Node | None = None


@dataclass
class Odd:
    value: complex


@dataclass
class Search:
    query: str
    limit: int = field(default=10, metadata={"description": "How many."})


def search(params, *, context):
    return ToolResult.ok([params.query] * params.limit)


SEARCH = Tool("search", "Find things.", Search, search)


def context(**fields):
    return ToolContext(session=Session(), prompt=Prompt("a", "b", config=None), **fields)


def test_the_schema_of_a_small_dataclass():
    assert SEARCH.schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "description": "How many."},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def test_the_schema_knows_the_common_types():
    schema = json_schema(Order)
    point = {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "number"}},
        "required": ["x"],
        "additionalProperties": False,
    }
    pair = [{"type": "integer"}, {"type": "string"}]
    assert schema["required"] == ["name", "points", "pair"]
    assert schema["properties"] == {
        "name": {"type": "string", "description": "Who orders."},
        "points": {"type": "array", "items": point},
        "pair": {"type": "array", "prefixItems": pair, "minItems": 2, "maxItems": 2},
        "size": {"enum": ["s", "m"]},
        "colour": {"enum": ["red", "blue"]},
        "note": {
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "description": "Anything else.",
        },
        "tags": {"type": "array", "items": {"type": "string"}},
        "extra": {"type": "object", "additionalProperties": {}},
        "more": {"type": "array", "items": {"type": "boolean"}},
    }


@pytest.mark.parametrize(
    "change",
    [{"size": "xl"}, {"colour": "green"}, {"points": [{"y": 1}]}, {"pair": [1]}, {"other": 1}],
)
def test_the_parser_refuses_what_the_schema_refuses(change):
    arguments = {"name": "Ada", "points": [], "pair": [1, "a"], **change}
    with pytest.raises(ToolError, match="order: "):
        Tool("order", "", Order, search).parse(arguments)


@pytest.mark.parametrize(("cls", "word"), [(Node, "itself"), (Odd, "complex"), (int, "int")])
def test_what_json_can_not_say_is_refused(cls, word):
    with pytest.raises(ToolError, match=word):
        json_schema(cls)


def test_arguments_become_the_class_of_the_parameters():
    parsed = Tool("order", "", Order, search).parse(
        {"name": "Ada", "points": [{"x": 1, "y": 2}], "pair": [1, "a"], "colour": "blue"}
    )
    assert parsed == Order("Ada", (Point(1, 2.0),), (1, "a"), colour=Colour.BLUE)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [({}, "query"), ({"query": "a", "limit": "many"}, "limit"), ({"query": "a", "x": 1}, "x")],
)
def test_arguments_that_do_not_fit_say_which(arguments, word):
    with pytest.raises(ToolError, match=f"search: .*{word}"):
        SEARCH.call(arguments, context=context())


def test_a_call_runs_the_handler():
    result = SEARCH.call({"query": "a", "limit": 2}, context=context())
    assert result == ToolResult.ok(["a", "a"])


def test_the_model_reads_the_message_else_the_value():
    assert ToolResult.ok(Point(1), message="Done.").render() == "Done."
    assert ToolResult.ok(Point(1)).render() == '{"x": 1, "y": 0.0}'
    assert ToolResult.ok("text").render() == "text"
    failed = ToolResult.error("No such file.", Point(1))
    assert (failed.success, failed.render(), failed.value) == (False, "No such file.", Point(1))


def test_the_context_beats_and_finds_resources(tmp_path):
    clock = ManualClock()
    heartbeat = Heartbeat(clock)
    files = RootedFilesystem(tmp_path)
    prompt = Prompt("a", "b", config=None).bind(resources=Resources.of(files))
    given = ToolContext(session=Session(), prompt=prompt, heartbeat=heartbeat)
    clock.advance(3)
    given.beat()
    assert heartbeat.elapsed() == 0
    assert given.filesystem is files
    assert given.resources.get(Filesystem) is files


def test_a_context_without_heartbeat_beats_into_the_void():
    assert context().beat() is None
    assert context().filesystem is None
