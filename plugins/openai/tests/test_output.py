"""Schemas of structured output, and answers as objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import attrs
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from trimtab import PromptEvaluationError, Tool, ToolResult
from trimtab.hosting import json_schema
from trimtab_openai._model_response import OutputForm, decode_answer, describe_tool


@attrs.frozen
class Finding:
    path: str
    line: int | None = None


TOOL = Tool("find", "", Finding, lambda params, *, context: ToolResult.ok())


@attrs.frozen
class Report:
    title: str
    findings: list[Finding] = attrs.field(factory=list)
    verdict: Literal["good", "bad"] = "good"


@attrs.frozen
class Open:
    extra: Mapping[str, Any]


@attrs.frozen
class Pair:
    pair: tuple[int, str]


REPORTS = st.builds(
    Report,
    st.text(),
    st.lists(st.builds(Finding, st.text(), st.none() | st.integers())),
    st.sampled_from(["good", "bad"]),
)


@given(REPORTS)
def test_what_fits_the_strict_schema_fits_the_type(report):
    form = OutputForm.of(Report)
    written = attrs.asdict(report)
    Draft202012Validator(form.schema).validate(written)
    Draft202012Validator(json_schema(Report)).validate(written)
    assert form.parse(json.dumps(written)) == report


def test_a_strict_schema_leaves_nothing_to_defaults():
    form = OutputForm.of(Report)
    inner = form.schema["properties"]["findings"]["items"]
    assert form.strict
    assert form.schema["required"] == ["title", "findings", "verdict"]
    assert inner["required"] == ["path", "line"]


@pytest.mark.parametrize("cls", [Open, Pair])
def test_what_strict_mode_cannot_say_is_sent_as_it_is(cls):
    form = OutputForm.of(cls)
    assert not form.strict
    assert form.schema == json_schema(cls)


@pytest.mark.parametrize("cls", [None, str])
def test_free_text_has_no_form(cls):
    assert OutputForm.of(cls) is None


@pytest.mark.parametrize("text", ["", "no", "[]", '{"title": 1, "x": 2}', "[" * 100_000])
def test_what_does_not_fit_is_named(text):
    with pytest.raises(PromptEvaluationError, match="the final answer is not a valid Report"):
        OutputForm.of(Report).parse(text)


def test_a_name_that_the_service_would_refuse_is_tidied():
    odd = attrs.make_class("Odd", ["path"])
    odd.__annotations__ = {"path": str}
    odd.__name__ = "Répört[int]"
    assert OutputForm.of(odd).describe()["name"] == "R_p_rt_int_"


@pytest.mark.parametrize(
    "text",
    ['```\n{"a": 1}\n```\n```\n{"a": 2}\n```', "a {b} c", "`" * 100_000, "{" * 100_000],
    ids=["two", "prose", "ticks", "braces"],
)
def test_an_answer_that_is_not_one_object_is_refused_quickly(text, seconds):
    def refuse():
        with pytest.raises(ValueError, match=r"not JSON|2 JSON objects"):
            decode_answer(text)

    assert seconds(refuse) < 1


def test_a_model_of_pydantic_is_sent_as_it_is_and_read_by_itself():
    pydantic = pytest.importorskip("pydantic", minversion="2")
    model = pydantic.create_model(
        "Found", __config__={"extra": "forbid"}, name=(str, pydantic.Field(min_length=2))
    )
    form = OutputForm.of(model)
    assert not form.strict
    assert form.parse('{"name": "ab"}').name == "ab"
    with pytest.raises(PromptEvaluationError, match=r"2 characters at output\.name"):
        form.parse('{"name": "a"}')


def test_a_tool_can_be_sent_strictly():
    assert describe_tool(TOOL, strict=True)["strict"] is True
    assert "strict" not in describe_tool(TOOL, strict=False)
