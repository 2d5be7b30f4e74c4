"""Planned and staged runs through a real client: their traces verify and replay identically."""

from __future__ import annotations

import attrs
import pytest

from trimtab import MarkdownSection, Session, Tool, ToolResult
from trimtab_planning import (
    Fallback,
    Guardrails,
    PlanUpdated,
    Retry,
    Rewind,
    StageCompleted,
    StageDefinition,
    StageRunner,
    Terminate,
    plan_act_reflect,
)
from trimtab_trace import SessionTrace, atif, open_trace, replay, verify

pytest.importorskip("openai")
pytest.importorskip("trimtab_openai")
pytestmark = pytest.mark.e2e

from trimtab_openai import OpenAIAdapter, Settings  # noqa: E402
from trimtab_test_servers import Call, OpenAIServer, say  # noqa: E402


@attrs.frozen
class Query:
    sql: str


@attrs.frozen
class Goal:
    mission: str


@attrs.frozen
class Steps:
    steps: tuple[str, ...]


def tool(name):
    return Tool(name, "Query.", Query, lambda params, *, context: ToolResult.ok("3 rows"))


TOOLS = (tool("analytics_query"), tool("warehouse_sql"))
PLAN = {
    "objective": "Explain the anomalies",
    "steps": [
        {"title": "Fetch metrics", "tools": [{"name": "analytics_query"}]},
        {"title": "Check tables", "tools": [{"name": "warehouse_sql"}], "depends_on": ["S1"]},
    ],
    "exit_criteria": ["Every anomaly has a cause."],
}
REVISED = [*PLAN["steps"], {"title": "Open tickets", "depends_on": ["S2"]}]


class Recorded(Session):
    """A session whose runs all write to one trace, and that knows their prompts."""

    def __init__(self, path):
        super().__init__()
        self.trace = SessionTrace(path)
        self.prompts = {}

    def open_run(self, prompt, *positional, **options):
        self.prompts[prompt.name] = prompt
        return super().open_run(prompt, *positional, recorders=[self.trace], **options)


def adapter_for(server, api):
    return OpenAIAdapter(
        "m", base_url=server.base_url, api_key="x", settings=Settings(api=api, max_output_retries=0)
    )


def check(session, path):
    """Verify and replay the trace; return its events."""
    session.trace.close()
    events = list(open_trace(path))
    assert verify(open_trace(path, strict=False)).intact
    done = replay(events, prompts=session.prompts)
    assert done.difference is None, str(done.difference)
    assert not done.unknown
    assert atif(events)["steps"]
    return events, done


def update(step_id, status):
    return Call("plan_update_step", {"step_id": step_id, "status": status, "outcome": "seen"})


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_plan_with_a_revision_and_a_rollback(api, tmp_path):
    path = tmp_path / "plan.jsonl"
    session = Recorded(path)
    prompt = plan_act_reflect(guardrails="Read only.").prompt(
        "research",
        "sweeps",
        [MarkdownSection(key="task", title="Task", template="Explain the anomalies.")],
        tools=TOOLS,
        config=None,
        completion_checkers=["plan-based-checker"],
    )
    script = (
        say(Call("warehouse_sql", {"sql": "too early"})),
        say(Call("plan_set", PLAN)),
        say(update("S1", "in_progress")),
        say(Call("analytics_query", {"sql": "select 1"})),
        say(Call("warehouse_sql", {"sql": "out of turn"})),
        say(update("S1", "done")),
        say(Call("plan_set", {**PLAN, "reason": "tickets are needed", "steps": REVISED})),
        say(Call("plan_revise", {"reason": "no tickets", "rollback_to": "plan.v1"})),
        say("Done too early."),
        say(Call("warehouse_sql", {"sql": "select 2"})),
        say(update("S2", "done")),
        say(Call("plan_reflect", {"observed": "explained", "met": True, "step_id": ""})),
        say("Done."),
    )
    with OpenAIServer(script) as server:
        response = adapter_for(server, api).evaluate(prompt, session=session)
    assert response.text == "Done."
    events, done = check(session, path)
    types = [event.event_type for event in events]
    assert types.count("PlanAuthored") == 1
    assert types.count("StepCalled") == 3
    assert types.count("GuidanceDelivered") >= 1
    assert types.count("CompletionChecked") >= 2
    assert done.session[PlanUpdated].all() == session[PlanUpdated].all()
    fetched = [
        event
        for event in events
        if event.event_type == "ToolReturned" and event.payload["tool"] == "analytics_query"
    ]
    assert [event.references.step_id for event in fetched] == ["S1"]
    assert {event.references.plan_id for event in fetched} != {None}


STAGES = (
    StageDefinition(
        "goal",
        "Only restate what the user wants.",
        "A mission statement.",
        "State the goal.",
        output_type=Goal,
        on_failure=(Retry(1), Terminate("no goal")),
    ),
    StageDefinition(
        "decompose",
        Guardrails("At most 4 steps.", tools=("warehouse",), max_tokens=2_000),
        "A checklist.",
        "Split the mission into steps.",
        input_type=Goal,
        output_type=Steps,
        reports=True,
        on_failure=(Retry(1), Fallback("one-step"), Rewind("goal")),
    ),
    StageDefinition("one-step", instructions="Write one step.", output_type=Steps, spare=True),
    StageDefinition(
        "synthesis", Guardrails(tools=()), instructions="Write the report.", input_type=Steps
    ),
)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_stages_with_retry_fallback_and_rewind(api, tmp_path):
    path = tmp_path / "stages.jsonl"
    session = Recorded(path)
    script = (
        say("no json"),
        say('{"mission": "Find them"}'),
        say(Call("stage_report", {"problem": "The mission is vague.", "rewind_to": "goal"})),
        say("Ended."),
        say('{"mission": "Find anomalies of May"}'),
        say(Call("warehouse__sql", {"sql": "select 1"})),
        say('{"steps": 4}'),
        say("still wrong"),
        say('{"steps": ["look"]}'),
        say("The report."),
    )
    with OpenAIServer(script) as server:
        runner = StageRunner(
            adapter_for(server, api), STAGES, tools=(tool("warehouse__sql"),), config=None
        )
        result = runner.run("Find the anomalies.", session=session)
    assert result.success
    events, done = check(session, path)
    decisions = [
        event.payload["decision"] for event in events if event.event_type == "StageCompleted"
    ]
    assert decisions == ["retry", "next", "rewind", "next", "retry", "fallback", "next", "done"]
    assert done.session[StageCompleted].all() == session[StageCompleted].all()
    reasons = {
        event.payload["termination"] for event in events if event.event_type == "RunTerminated"
    }
    assert "success" in reasons
