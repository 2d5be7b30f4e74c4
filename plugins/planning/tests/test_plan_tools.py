"""The plan tools, run as a host runs them."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from trimtab import Outcome, Prompt, ToolCall, ToolExecutor
from trimtab_planning import PlanBook, plan_tools

PLAN = {
    "objective": "Explain",
    "steps": [
        {"title": "Fetch", "id": "a", "tools": [{"name": "sql", "params": {"limit": 5}}]},
        {"title": "Check", "id": "b", "depends_on": ["a"]},
    ],
    "exit_criteria": ["Explained."],
}


@pytest.fixture
def execute(run):
    executor = ToolExecutor(run, plan_tools())
    numbers = iter(range(1_000))

    def go(tool, params):
        return executor.execute(ToolCall(tool, params, f"c{next(numbers)}"))

    return go


def test_an_agent_plans_works_reflects_and_is_done(execute, book):
    execute("plan_set", PLAN)
    execute("plan_update_step", {"step_id": "a", "status": "done", "outcome": "3 rows"})
    execute("plan_update_step", {"step_id": "b", "status": "done"})
    answer = execute("plan_reflect", {"observed": "all explained", "met": True})

    assert answer.outcome is Outcome.OK
    assert answer.text.splitlines()[0] == "Version: plan.v1 (completed)"
    assert "- a [done] Fetch. Tools: sql. Outcome: 3 rows" in answer.text
    assert book.current.steps[0].tools[0].params == {"limit": 5}
    assert book.reflections[0].expected == "Explained."


def test_a_plan_is_revised_rolled_back_and_abandoned(execute, book):
    execute("plan_set", PLAN)
    fewer = {"steps": [{"title": "Fetch", "id": "a"}], "reason": "shorter"}
    execute("plan_set", {**PLAN, **fewer})
    execute("plan_revise", {"reason": "no", "rollback_to": "plan.v1"})
    answer = execute("plan_revise", {"reason": "no access", "abandon": True})

    assert [plan.version for plan in book.history] == ["plan.v1", "plan.v2", "plan.v3"]
    assert answer.text.startswith("Version: plan.v3 (abandoned: no access)")


@pytest.mark.parametrize(
    ("tool", "params", "words"),
    [
        ("plan_update_step", {"step_id": "x", "status": "done"}, "there is no plan yet"),
        ("plan_set", {"objective": "x", "steps": []}, "at least one step"),
        (
            "plan_set",
            {"objective": "x", "steps": [{"title": "y", "depends_on": ["z"]}]},
            "step 'S1' depends on 'z', which is not a step",
        ),
        ("plan_revise", {"reason": "x"}, "give rollback_to, or abandon; new steps go to plan_set"),
        (
            "plan_revise",
            {"reason": "x", "abandon": True, "rollback_to": "plan.v1"},
            "give rollback_to",
        ),
        ("plan_reflect", {"observed": "x", "met": True, "step_id": "q"}, "no plan with a step"),
    ],
)
def test_what_does_not_fit_is_an_error_that_the_model_reads(execute, book, tool, params, words):
    answer = execute(tool, params)

    assert answer.outcome is Outcome.ERROR
    assert words in answer.text
    assert book.current is None


def test_a_status_that_is_no_status_is_invalid(execute):
    execute("plan_set", PLAN)
    answer = execute("plan_update_step", {"step_id": "a", "status": "almost"})

    assert answer.outcome is Outcome.INVALID


def test_schemas_are_plain_json_and_short_for_they_stand_in_every_request():
    texts = [json.dumps([tool.name, tool.description, tool.schema]) for tool in plan_tools()]

    assert sum(map(len, texts)) < 3_400
    assert all(tool.description.endswith(".") for tool in plan_tools())


def test_two_agents_that_run_one_prompt_keep_plans_of_their_own(session):
    prompt = Prompt("agent", "shared", config=None)
    runs = [session.open_run(prompt, agent) for agent in ("one", "two")]
    for run in runs:
        call = ToolCall("plan_set", {**PLAN, "objective": run.agent_id}, "c1")
        ToolExecutor(run, plan_tools()).execute(call)

    assert [PlanBook.of(run).current.objective for run in runs] == ["one", "two"]


def test_calls_of_one_batch_do_not_lose_each_other(execute, book):
    steps = [{"title": f"Step {number}", "id": f"s{number}"} for number in range(20)]
    execute("plan_set", {"objective": "x", "steps": steps})
    calls = [{"step_id": step["id"], "status": "done"} for step in steps]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda params: execute("plan_update_step", params), calls))

    assert book.current.status == "completed"


def test_plan_tools_answer_on_an_event_loop(run, book):
    executor = ToolExecutor(run, plan_tools())
    answer = asyncio.run(executor.aexecute(ToolCall("plan_set", PLAN, "c1")))

    assert answer.outcome is Outcome.OK
    assert book.current.objective == "Explain"
