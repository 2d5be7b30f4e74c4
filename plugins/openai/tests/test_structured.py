"""Schemas of structured output, and answers as objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import attrs
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from trimtab import PromptEvaluationError, json_schema
from trimtab_openai.structured import OutputForm


@attrs.frozen
class Finding:
    path: str
    line: int | None = None


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
    with pytest.raises(PromptEvaluationError, match="the final answer is no Report"):
        OutputForm.of(Report).parse(text)


def test_a_name_that_the_service_would_refuse_is_tidied():
    odd = attrs.make_class("Odd", ["path"])
    odd.__annotations__ = {"path": str}
    odd.__name__ = "Répört[int]"
    assert OutputForm.of(odd).describe()["name"] == "R_p_rt_int_"
