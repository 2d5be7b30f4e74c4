"""A Plan, Act, Reflect run on the official client, against the scripted service."""

from __future__ import annotations

import attrs
import pytest

from trimtab import (
    GuidanceDelivered,
    MarkdownSection,
    Plan,
    Session,
    Tool,
    ToolInvoked,
    ToolResult,
    enable,
)
from trimtab_planning import (
    PlanAuthored,
    PlanUpdated,
    ReflectionAdded,
    StepCalled,
    plan_act_reflect,
)

pytest.importorskip("openai")
pytest.importorskip("trimtab_openai")
pytestmark = pytest.mark.e2e

from trimtab_openai import OpenAIAdapter, Settings  # noqa: E402
from trimtab_test_servers import Call, OpenAIServer, say  # noqa: E402


@attrs.frozen
class Query:
    sql: str


def tool(name):
    return Tool(name, "Query.", Query, lambda params, *, context: ToolResult.ok("3 rows"))


TOOLS = (tool("analytics_query"), tool("warehouse_sql"))
TASK = MarkdownSection(key="task", title="Task", template="Explain every anomaly.")
PLAN = {
    "objective": "Explain the anomalies",
    "steps": [
        {"title": "Fetch baseline", "tools": [{"name": "analytics_query", "version": "2"}]},
        {"title": "Validate", "tools": [{"name": "warehouse_sql"}], "depends_on": ["S1"]},
    ],
    "exit_criteria": ["Every anomaly has a cause."],
}
REVISED = [*PLAN["steps"], {"title": "Open tickets", "depends_on": ["S2"]}]


@pytest.fixture(params=["chat", "responses"])
def evaluate(request):
    def go(*script, completion=(), **options):
        session = Session()
        prompt = plan_act_reflect(guardrails="Read only.").prompt(
            "research",
            "sweeps",
            [TASK],
            tools=TOOLS,
            config=None,
            completion_checkers=completion,
            **options,
        )
        with OpenAIServer(script) as server:
            adapter = OpenAIAdapter(
                "m",
                base_url=server.base_url,
                api_key="x",
                settings=Settings(api=request.param),
            )
            response = adapter.evaluate(prompt, session=session)
        assert server.refusals == ()
        return server, session, response

    return go


def step(step_id, status, outcome=""):
    return Call("plan_update_step", {"step_id": step_id, "status": status, "outcome": outcome})


def reflect(step_id="", met=True, observed="as expected", proposal=""):
    params = {"observed": observed, "met": met, "step_id": step_id, "proposal": proposal}
    return Call("plan_reflect", params)


FULL_RUN = (
    say(Call("plan_set", PLAN)),
    say(step("S1", "in_progress")),
    say(Call("analytics_query", {"sql": "select 1"})),
    say(step("S1", "done", "3 anomalies")),
    say(reflect("S1", met=False, observed="one has no owner", proposal="open tickets")),
    say(Call("plan_set", {**PLAN, "reason": "tickets are needed", "steps": REVISED})),
    say(Call("plan_revise", {"reason": "tickets are not allowed", "rollback_to": "plan.v1"})),
    say(Call("warehouse_sql", {"sql": "select 2"})),
    say(step("S2", "done", "all explained")),
    say(reflect()),
    say("Done."),
)


def test_a_run_with_a_revision_and_a_rollback_reaches_its_exit_criteria(evaluate):
    _server, session, response = evaluate(*FULL_RUN, completion=("plan-based-checker",))
    changes = [(str(event.change), event.plan.version) for event in session[PlanUpdated].all()]

    assert response.text == "Done."
    assert session[PlanAuthored].latest().plan.version == "plan.v1"
    assert changes == [
        ("step", "plan.v1"),
        ("step", "plan.v1"),
        ("revised", "plan.v2"),
        ("rolled_back", "plan.v3"),
        ("step", "plan.v3"),
        ("completed", "plan.v3"),
    ]
    assert [event.met for event in session[ReflectionAdded].all()] == [False, True]
    assert session[Plan].latest().status == "completed"
    assert {event.provider_name for event in session[GuidanceDelivered].all()} == {"current-plan"}


def test_the_plan_stands_at_the_end_of_the_request_after_a_change_and_nowhere_else(evaluate):
    server, _, _ = evaluate(*FULL_RUN)

    assert not server.requests[1].mentions("No plan")
    assert server.requests[2].mentions("Now: S1 Fetch baseline (tools: analytics_query@2)")
    assert server.requests[5].mentions("Not met in S1:")
    assert not server.requests[8].mentions("Now: S1 Fetch baseline")


def test_what_was_done_stays_done_after_the_rollback(evaluate):
    _, session, _ = evaluate(*FULL_RUN)
    plan = session[Plan].latest()

    assert [(step.title, step.status) for step in plan.steps] == [
        ("Fetch baseline", "done"),
        ("Validate", "done"),
    ]


def test_each_call_is_tied_to_its_step(evaluate):
    _, session, _ = evaluate(*FULL_RUN)
    ties = [(tie.tool, tie.step_id, tie.version, tie.declared) for tie in session[StepCalled].all()]
    calls = {call.call_id: call.tool for call in session[ToolInvoked].all()}

    assert ties == [
        ("analytics_query", "S1", "plan.v1", True),
        ("warehouse_sql", "S2", "plan.v3", True),
    ]
    assert all(calls[tie.call_id] == tie.tool for tie in session[StepCalled].all())


def test_a_call_before_there_is_a_plan_is_answered_with_guidance(evaluate):
    server, session, _ = evaluate(
        say(Call("analytics_query", {"sql": "select 1"})),
        say("Done."),
    )
    text = session[GuidanceDelivered].all()[0].injection.content

    assert text.startswith("You call \"analytics_query {'sql': 'select 1'}\" without a plan.")
    assert "Call plan_set now" in text
    assert server.requests[1].mentions("without a plan")


def test_a_call_outside_the_tools_of_its_step_is_answered_with_guidance(evaluate):
    server, _, _ = evaluate(
        say(Call("plan_set", PLAN)),
        say(Call("warehouse_sql", {"sql": "select 1"})),
        say("Done."),
    )

    assert server.requests[2].mentions('none of the tools of step "S1"')
    assert server.requests[2].mentions('begin step "S2" ("Validate")')


def test_a_strict_prompt_refuses_the_call_itself(evaluate):
    _server, session, _ = evaluate(
        say(Call("analytics_query", {"sql": "select 1"})),
        say(Call("plan_set", PLAN)),
        say(Call("analytics_query", {"sql": "select 1"})),
        say("Done."),
        strict=True,
    )
    outcomes = [(call.tool, str(call.outcome)) for call in session[ToolInvoked].all()]

    assert outcomes == [
        ("analytics_query", "error"),
        ("plan_set", "ok"),
        ("analytics_query", "ok"),
    ]


def test_work_that_goes_on_without_a_reflection_is_answered_with_guidance(evaluate):
    server, _, _ = evaluate(
        say(Call("plan_set", PLAN)),
        say(Call("analytics_query", {"sql": "select 1"})),
        say(step("S1", "done", "3 anomalies")),
        say(Call("warehouse_sql", {"sql": "select 2"})),
        say("Done."),
    )

    assert not server.requests[3].mentions("call plan_reflect for it")
    assert server.requests[4].mentions('Step "S1" ("Fetch baseline") is done.')


def test_an_answer_before_the_exit_criteria_were_checked_is_sent_back(evaluate):
    server, _, response = evaluate(
        say(Call("plan_set", PLAN)),
        say(Call("analytics_query", {"sql": "select 1"})),
        say(step("S1", "done")),  # calls of one response run at once, in any order
        say(step("S2", "done")),
        say(reflect("S1"), reflect("S2")),
        say("Finished?"),
        say(reflect()),
        say("Finished."),
    )

    assert server.requests[6].mentions("check the exit criteria")
    assert response.text == "Finished."


def test_the_prompt_shows_rules_guardrails_and_when_to_end(evaluate):
    server, _, _ = evaluate(say("Hello."))

    for words in (
        "Read only.",
        "before any other tool, call plan_set",
        "Done when",
    ):
        assert server.requests[0].mentions(words)


def test_the_provider_is_found_by_its_name():
    strategy = attrs.evolve(
        plan_act_reflect(), guidance=(enable("plan-act-reflect", free_tools=["analytics"]),)
    )
    prompt = strategy.prompt("a", "b", config=None)

    assert prompt.table.guides


def test_the_trace_of_such_a_run_replays_identically(evaluate, tmp_path):
    trace = pytest.importorskip("trimtab_trace")
    _, session, _ = evaluate(
        say(Call("analytics_query", {"sql": "select 1"})),
        *FULL_RUN,
        completion=("plan-based-checker",),
        recorders=[trace.JsonlTrace(str(tmp_path))],
    )
    (path,) = tmp_path.glob("*.jsonl")
    events = list(trace.open_trace(path))
    replayed = trace.replay(events)
    keys = {event.event_type: event.references.section_key for event in events}

    assert replayed.identical, replayed.difference
    assert (replayed.unknown, replayed.decisions) == (0, 10)
    assert keys["PlanAuthored"] == keys["PlanUpdated"] == "planning"
    assert (keys["StepCalled"], keys["ReflectionAdded"]) == ("action", "reflection")
    assert len(session[GuidanceDelivered]) == 8
    for kind in (Plan, PlanAuthored, PlanUpdated, ReflectionAdded, StepCalled):
        assert replayed.session[kind].all() == session[kind].all()


def test_updates_of_one_response_are_applied_in_its_order(evaluate):
    titles = [f"Part {n}" for n in range(1, 9)]
    steps = [
        {"title": title, "depends_on": [f"S{n}"] if n else []} for n, title in enumerate(titles)
    ]
    done = [step(f"S{n}", "done") for n in range(1, 9)]
    plan = Call("plan_set", {"objective": "All parts", "steps": steps})
    _server, session, _response = evaluate(say(plan, *done), say("Done."))

    assert [call.outcome.value for call in session[ToolInvoked].all()] == ["ok"] * 9
    assert [event.step_id for event in session[PlanUpdated].all()][:8] == [
        f"S{n}" for n in range(1, 9)
    ]
    assert session[Plan].latest().status == "completed"
