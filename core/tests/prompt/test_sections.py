"""Sections and their typed placeholders."""

from dataclasses import dataclass

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab import MarkdownSection, Prompt, PromptError, PromptTemplate


@dataclass(slots=True, frozen=True)
class Ticket:
    summary: str
    steps: str = "none"


@attrs.frozen
class Limits:
    tokens: int


def section(template, cls=Ticket, **fields):
    fields = {"key": "plan", "title": "Plan", "template": template, **fields}
    return MarkdownSection[cls](**fields) if cls else MarkdownSection(**fields)


def text_of(*sections, params=()):
    return Prompt(ns="a", key="b", sections=sections, config=None).render(*params).text


def test_a_section_is_its_heading_and_its_text():
    text = text_of(section("\n    Now:\n    ${summary}\n    "), params=[Ticket("Fix it")])
    assert text == "## Plan\n\nNow:\nFix it"


def test_sections_stand_in_their_order_with_a_blank_line_between():
    text = text_of(
        section("${summary}"),
        section("At most ${tokens} tokens.", Limits, key="limits", title="Limits"),
        params=[Limits(10), Ticket("Fix it")],
    )
    assert text == "## Plan\n\nFix it\n\n## Limits\n\nAt most 10 tokens."


def test_values_of_several_lines_keep_their_shape():
    template = """
        Steps:
        ${steps}
    """
    assert text_of(section(template), params=[Ticket("s", "a\n  b\nc")]).endswith(
        "Steps:\na\n  b\nc"
    )


@given(st.text())
def test_values_go_in_as_they_are(value):
    assert text_of(section("[${summary}]"), params=[Ticket(value)]) == f"## Plan\n\n[{value}]"


def test_two_dollars_write_one():
    assert text_of(section("Costs $$5.", None)) == "## Plan\n\nCosts $5."


@pytest.mark.parametrize(
    ("template", "cls", "words"),
    [
        ("${nothing}", Ticket, ["'plan'", "${nothing}", "Ticket", "summary"]),
        ("${summary}", None, ["'plan'", "${summary}", "MarkdownSection["]),
        ("Costs $5.", Ticket, ["'plan'", "$$"]),
        ("text", int, ["int", "dataclass"]),
    ],
)
def test_a_wrong_placeholder_is_refused_when_the_prompt_is_declared(template, cls, words):
    if cls is int:
        template = "${real}"
    with pytest.raises(PromptError) as caught:
        PromptTemplate(ns="a", key="b", sections=(section(template, cls),))
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("enabled", [False, lambda ticket: ticket.summary == "show"])
def test_a_section_that_is_not_enabled_is_left_out(enabled):
    hidden = section("${summary}", enabled=enabled)
    other = section("Here.", None, key="other", title="Other")
    assert text_of(hidden, other, params=[Ticket("hide")]) == "## Other\n\nHere."


def test_a_section_enabled_by_its_parameters_is_shown():
    shown = section("${summary}", enabled=lambda ticket: ticket.summary == "show")
    assert text_of(shown, params=[Ticket("show")]) == "## Plan\n\nshow"


def test_fields_of_a_section_can_not_be_set():
    with pytest.raises(AttributeError):
        section("text", None).title = "Other"


def test_two_sections_of_one_key_are_refused():
    with pytest.raises(PromptError, match="'plan'"):
        PromptTemplate(ns="a", key="b", sections=[section("x", None), section("y", None)])


def test_something_else_is_no_section():
    with pytest.raises(PromptError, match="MarkdownSection"):
        PromptTemplate(ns="a", key="b", sections=["text"])
