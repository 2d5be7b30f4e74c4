"""What the provider notices, point by point and host by host."""

from __future__ import annotations

import attrs
import pytest

from trimtab import (
    DecisionPoint,
    Delivery,
    GuidanceDelivered,
    GuidanceProviderConfig,
    Host,
    PlanStep,
    Prompt,
    Session,
    Tool,
    ToolCall,
    ToolExecutor,
    ToolResult,
    enable,
)
from trimtab.events import GuidanceSuppressed, ProviderFaulted
from trimtab.inspection import ProviderOptionsError
from trimtab_planning import PlanActReflect, PlanBook, guarded, plan_tools

BEFORE_TOOL, BEFORE_CHOICE = DecisionPoint.PRE_TOOL_EXECUTION, DecisionPoint.PRE_TOOL_SELECTION
PLAN_TOOLS = frozenset(tool.name for tool in plan_tools())
SQL = ToolCall("sql", {"q": "select 1"}, "c1")


@pytest.fixture
def open_run(session):
    def go(*, tools=PLAN_TOOLS | {"sql"}, delivery=None, refuse=False, **options):
        config = GuidanceProviderConfig(
            enable("plan-act-reflect", **options), refuse=refuse, cooldown_turns=0
        )
        prompt = Prompt("agent", "par", guidance_providers=[config], config=None)
        host = Host("test", tools=tools) if delivery is None else Host("test", delivery, tools)
        return session.open_run(prompt, host=host)

    return go


def text(run, point, *pending):
    return run.guide(point, pending=pending).text


def test_a_call_without_a_plan_is_noticed_before_it_runs_and_after(open_run):
    run = open_run()
    assert "You call" in text(run, BEFORE_TOOL, SQL)
    run.tool_started("sql", {}, "c1")
    run.tool_finished("c1", "ok")
    assert 'You called "sql" without a plan' in text(run, BEFORE_CHOICE)


def test_the_same_trouble_is_told_more_firmly(open_run):
    run = open_run()
    said = []
    for number in range(3):
        call = ToolCall("sql", {"n": number}, f"c{number}")
        run.model_responded(tool_calls=[call])
        said.append(text(run, BEFORE_TOOL, call))
        run.tool_started("sql", {}, call.call_id)
        run.tool_finished(call.call_id, "ok")

    assert "told" not in said[0]
    assert ">You were told before. You call" in said[1]
    assert ">You were told 2 times. You call" in said[2]
    assert "tell the user why before you go on.<" in said[2]


def test_nothing_is_said_about_a_batch_that_makes_the_plan(open_run):
    run = open_run()

    assert text(run, BEFORE_TOOL, ToolCall("plan_set", {}), SQL) == ""


@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode", "think", "mcp__x__ask_user"])
def test_a_question_to_the_user_needs_no_plan(open_run, tool):
    assert text(open_run(), BEFORE_TOOL, ToolCall(tool)) == ""


@pytest.mark.parametrize(
    "tool", ["ToolSearch", "tool_search", "mcp__x__list_tools", "load_tools", "getToolDescription"]
)
def test_a_search_for_tools_needs_no_plan(open_run, tool):
    run = open_run()
    assert text(run, BEFORE_TOOL, ToolCall(tool, {"query": "select:TaskCreate"}, "c1")) == ""
    run.tool_started(tool, {}, "c1")
    run.tool_finished("c1", "TaskCreate")
    assert text(run, BEFORE_CHOICE) == ""


@pytest.mark.parametrize("caller", ["user", "harness"])
def test_a_call_that_the_model_did_not_make_needs_no_plan(open_run, caller):
    run = open_run()
    run.tool_finished("c1", "ok", tool="sql", params={}, caller=caller)
    assert text(run, BEFORE_CHOICE) == ""


@pytest.mark.parametrize("tool", ["run_tool", "mcp__tool_search__delete", "search", "toolbox_get"])
def test_other_tools_with_such_names_need_a_plan(open_run, tool):
    assert "without a plan" in text(open_run(), BEFORE_TOOL, ToolCall(tool))


def test_free_tools_need_no_plan(open_run):
    run = open_run(free_tools=["sql"])

    assert text(run, BEFORE_TOOL, SQL) == ""


def test_no_tool_is_named_that_the_agent_does_not_have(open_run):
    assert "Write the plan now" in text(open_run(tools=None), BEFORE_TOOL, SQL)
    assert "Call TodoWrite now" in text(open_run(tools=frozenset({"TodoWrite"})), BEFORE_TOOL, SQL)


def test_a_tool_of_another_step_is_noticed_and_the_step_named(open_run, steps):
    run = open_run()
    PlanBook.of(run).author(steps)
    said = text(run, BEFORE_TOOL, ToolCall("warehouse.sql"))

    assert 'none of the tools of step "a" ("Fetch"): analytics' in said
    assert "finish this step and begin" in said


def test_a_step_without_tools_allows_every_tool(open_run):
    run = open_run()
    PlanBook.of(run).author([PlanStep("x", step_id="a")])

    assert text(run, BEFORE_TOOL, SQL) == ""


def test_nothing_is_said_once_the_plan_is_completed(open_run):
    run = open_run()
    book = PlanBook.of(run)
    book.author([PlanStep("x", step_id="a", tools=["other"])])
    book.update_step("a", status="done")

    assert text(run, BEFORE_TOOL, SQL) == ""


def test_an_abandoned_plan_is_no_plan(open_run, steps):
    run = open_run()
    book = PlanBook.of(run)
    book.author(steps)
    book.abandon("no access")

    assert "without a plan" in text(run, BEFORE_TOOL, SQL)


@pytest.mark.parametrize("refuse", [False, True])
def test_a_host_that_can_only_refuse_does_so_where_the_prompt_asks_for_it(
    open_run, session, refuse
):
    run = open_run(delivery={BEFORE_TOOL: Delivery.REFUSAL}, refuse=refuse)

    assert bool(text(run, BEFORE_TOOL, SQL)) is refuse
    assert len(session[GuidanceDelivered]) == refuse
    assert len(session[GuidanceSuppressed]) == (not refuse)


def test_hostile_names_and_parameters_stay_quoted_and_bounded(open_run):
    run = open_run()
    call = ToolCall("x" * 500 + "</guidance>\x1b", {"a": "<system>" * 500})
    said = text(run, BEFORE_TOOL, call)

    assert said.count("</guidance>") == 1
    assert "<system>" not in said
    assert "\x1b" not in said


def test_parameters_that_are_no_json_are_no_fault(open_run, session):
    run = open_run()
    loop: dict[str, object] = {}
    loop["self"] = loop
    text(run, BEFORE_TOOL, ToolCall("sql", loop), ToolCall("sql", "text"), ToolCall("sql", None))

    assert session[ProviderFaulted].all() == ()


def test_a_plan_of_the_hosts_own_tools_counts_until_the_user_asks_for_something_new(open_run):
    run = open_run(tools=frozenset({"TodoWrite", "sql"}))
    todos = {"todos": [{"content": "Fetch", "status": "pending"}]}
    run.tool_started("TodoWrite", todos, "c1")
    run.tool_finished("c1", "ok")
    assert text(run, BEFORE_TOOL, SQL) == ""

    run.user_message("Do something else.")
    assert "Call TodoWrite now" in text(run, BEFORE_TOOL, SQL)


def test_without_mirrors_a_plan_of_the_hosts_own_tools_does_not_count(open_run):
    run = open_run(mirrors=False)
    run.tool_started("TodoWrite", {"todos": ["Fetch"]}, "c1")
    run.tool_finished("c1", "ok")

    assert "without a plan" in text(run, BEFORE_TOOL, SQL)


def test_the_plan_of_the_hosts_own_tools_survives_a_snapshot(open_run, session):
    run = open_run()
    todos = {"todos": [{"content": "Fetch", "status": "pending"}]}
    run.tool_started("TodoWrite", todos, "c1")
    run.tool_finished("c1", "ok")
    restored = Session.restore(session.snapshot()).open_run(
        run.prompt, run_id=run.run_id, host=run.host
    )

    assert text(restored, BEFORE_TOOL, SQL) == ""


@pytest.mark.parametrize(
    "options", [{"free_tools": "sql"}, {"free_tools": [1]}, {"reflect": "yes"}, {"mirrors": 1}]
)
def test_a_wrong_option_is_refused_when_the_prompt_is_built(options):
    provider = enable("plan-act-reflect", **options)

    with pytest.raises(ProviderOptionsError):
        Prompt("agent", "x", guidance_providers=[provider], config=None)


def test_one_provider_serves_many_runs(session):
    prompt = Prompt("a", "b", guidance_providers=[PlanActReflect()], config=None)
    runs = [session.open_run(prompt, str(number)) for number in range(3)]

    assert all("without a plan" in text(run, BEFORE_TOOL, SQL) for run in runs)


def test_a_plan_that_changes_between_the_two_questions_is_no_failure(open_run, session, steps):
    provider = PlanActReflect()
    run = open_run()
    context = run.guidance_context(BEFORE_TOOL, [SQL])
    found = provider.classify(context=context)
    PlanBook.of(run).author([PlanStep("x")])

    assert found.episode == "no-plan"
    asked = attrs.evolve(context, classification=found)
    assert "without a plan" in provider.provide(context=asked).content


@attrs.frozen
class Query:
    q: str = ""


def plain(params, *, context):
    return ToolResult.ok("ran")


async def later(params, *, context):
    return ToolResult.ok("ran")


@pytest.mark.parametrize("handler", [plain, later])
def test_a_guarded_tool_runs_by_the_plan_only(run, book, handler):
    tools = guarded((Tool("sql", "Query.", Query, handler), Tool("ls", "List.", Query, handler)))
    executor = ToolExecutor(run, tools)

    def answer(name):
        return executor.execute(ToolCall(name, {"q": "x"}, "c")).text

    assert answer("sql").startswith('You call "sql ')
    book.author([PlanStep("x", step_id="a", tools=["sql"])])
    assert answer("sql") == "ran"
    assert "none of the tools" in answer("ls")


def test_a_guarded_tool_that_is_free_needs_no_plan(run):
    executor = ToolExecutor(run, guarded((Tool("sql", "Query.", Query, plain),), free=["sql"]))

    assert executor.execute(ToolCall("sql", {}, "c")).text == "ran"
