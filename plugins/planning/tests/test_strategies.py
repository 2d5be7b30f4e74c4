"""What the planning sections show, and the prompts made of them."""

from __future__ import annotations

import attrs
import pytest

from trimtab import MarkdownSection, Prompt, Tool, ToolResult
from trimtab_planning import (
    Guardrails,
    PlanAuthored,
    StageDefinition,
    event_trace,
    multi_stage,
    plan_act_reflect,
    react,
    stage_table,
)

STAGES = (
    StageDefinition("Goal", "Only restate | the intent.", "A mission."),
    StageDefinition("Synthesis", Guardrails(tools=()), "A draft."),
)


@attrs.frozen
class Query:
    q: str


def tool(name):
    return Tool(name, "Query.", Query, lambda params, *, context: ToolResult.ok("x"))


STRATEGIES = (react(), plan_act_reflect(), multi_stage(STAGES), event_trace())


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda item: item.name)
def test_every_strategy_renders_rules_guardrails_and_when_to_end(strategy, book, steps):
    begun = strategy.prompt("a", "b", plan=book.author(steps), config=None).render().text
    fresh = strategy.prompt("a", "b", config=None).render().text

    for words in (f"## {strategy.title}\n", "### Guardrails", "### Done when"):
        assert words in begun
        assert words in fresh
    assert "### Plan at the start" in begun
    assert "- a [pending] Fetch" in begun
    assert "lan at the start" not in fresh
    assert "No plan" not in fresh
    assert "none" not in fresh


def test_guardrails_are_shown_and_forbidden_tools_left_out():
    guardrails = Guardrails("Read only.", max_tokens=20_000, tools=["warehouse"])
    prompt = react(guardrails=guardrails, done_when="Tier is known.").prompt(
        "a", "b", tools=(tool("warehouse__sql"), tool("bash")), config=None
    )
    rendered = prompt.render()

    assert "- Use at most 20,000 tokens.\n- Call only these tools: warehouse." in rendered.text
    assert "- Tier is known." in rendered.text
    assert {"warehouse__sql", "plan_set"} <= {item.name for item in rendered.tools}
    assert "bash" not in {item.name for item in rendered.tools}


def test_a_plan_with_dollar_signs_and_placeholders_is_shown_as_it_is(book):
    from trimtab import PlanStep

    plan = book.author([PlanStep("Pay $5 to ${rules}")])

    assert "Pay $5 to ${rules}" in react().prompt("a", "b", plan=plan, config=None).render().text


def test_the_section_fits_into_a_prompt_of_ones_own(book, steps):
    strategy = plan_act_reflect()
    task = MarkdownSection(key="task", title="Task", template="Do it.")
    prompt = Prompt("a", "b", (strategy.section(), task), config=None)
    later = prompt.bind(strategy.params(book.author(steps)))

    assert "Fetch" not in prompt.bind(strategy.params()).render().text
    assert "- a [pending] Fetch" in later.render().text


def test_an_event_trace_shows_the_plan_id_and_the_last_event(session, book, steps):
    plan = book.author(steps)
    event = session[PlanAuthored].latest()
    strategy = event_trace(plan_act_reflect())
    text = (
        Prompt("a", "b", (strategy.section(),), config=None)
        .bind(strategy.params(plan, event))
        .render()
        .text
    )

    assert f"Plan ID: {plan.plan_id} plan.v1" in text
    assert f"Last event: PlanAuthored@{event.at.isoformat(timespec='seconds')}" in text


def test_stages_are_shown_as_a_sequence_and_a_table():
    text = (
        multi_stage(STAGES, exit_signal="It is good.").prompt("a", "b", config=None).render().text
    )

    assert "Stage sequence: Goal -> Synthesis" in text
    assert "| Goal | Only restate \\| the intent. | A mission. |" in text
    assert "| Synthesis | Call no tools. | A draft. |" in text
    assert "- It is good." in text
    assert stage_table(STAGES) in text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Guardrails(max_tokens=0), "max_tokens must be above 0"),
        (lambda: multi_stage(()), "no stages to begin with"),
        (lambda: multi_stage((STAGES[0], STAGES[0])), "two stages are called 'Goal'"),
    ],
)
def test_wrong_declarations_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
