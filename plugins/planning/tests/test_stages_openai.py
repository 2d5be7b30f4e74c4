"""Stages on the official client, against the scripted service."""

from __future__ import annotations

import attrs
import pytest

from trimtab import Plan, Session, Tool, ToolResult
from trimtab_planning import (
    Fallback,
    Guardrails,
    ReflectionAdded,
    Retry,
    Rewind,
    StageCompleted,
    StageDefinition,
    StageRunner,
    StageStarted,
    StagesTerminated,
    Terminate,
    Termination,
)

pytest.importorskip("openai")
pytest.importorskip("trimtab_openai")
pytestmark = pytest.mark.e2e

from trimtab_openai import OpenAIAdapter, Settings  # noqa: E402
from trimtab_test_servers import Call, OpenAIServer, say  # noqa: E402


@attrs.frozen
class Goal:
    mission: str


@attrs.frozen
class Steps:
    steps: tuple[str, ...]


@attrs.frozen
class Query:
    sql: str


SQL = Tool("warehouse__sql", "Query.", Query, lambda params, *, context: ToolResult.ok("3 rows"))
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
    StageDefinition(
        "one-step",
        instructions="Write one step.",
        output_type=Steps,
        spare=True,
    ),
    StageDefinition(
        "synthesis", Guardrails(tools=()), instructions="Write the report.", input_type=Steps
    ),
)


@pytest.fixture(params=["chat", "responses"])
def run(request):
    def go(*script, session=None, **options):
        session = session or Session()
        with OpenAIServer(script) as server:
            adapter = OpenAIAdapter(
                "m",
                base_url=server.base_url,
                api_key="x",
                settings=Settings(api=request.param, max_output_retries=0),
            )
            runner = StageRunner(adapter, STAGES, tools=(SQL,), config=None, **options)
            result = runner.run("Find the anomalies.", session=session)
        assert server.refusals == ()
        return server, session, result

    return go


def moves(result):
    return [(e.stage, e.attempt, str(e.decision), e.next_stage) for e in result.trail]


def test_a_run_with_retry_fallback_and_rewind_ends_in_success(run):
    _server, _session, result = run(
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

    assert moves(result) == [
        ("goal", 1, "retry", "goal"),
        ("goal", 2, "next", "decompose"),
        ("decompose", 1, "rewind", "goal"),
        ("goal", 1, "next", "decompose"),
        ("decompose", 1, "retry", "decompose"),
        ("decompose", 2, "fallback", "one-step"),
        ("one-step", 1, "next", "synthesis"),
        ("synthesis", 1, "done", ""),
    ]
    assert result.success
    assert result.output == "The report."
    assert result.outputs["one-step"] == Steps(("look",))


def test_a_stage_reads_its_input_its_limits_and_what_went_wrong_before(run):
    server, _, _ = run(
        say("no json"),
        say('{"mission": "Find them"}'),
        say('{"steps": ["look"]}'),
        say("The report."),
    )
    first, second, third, last = server.requests

    assert first.mentions("Find the anomalies.")
    assert first.mentions("Only restate what the user wants.")
    assert not first.mentions("Previous attempt")
    assert second.mentions("What went wrong: ")
    assert third.mentions('"mission": "Find them"')
    assert third.mentions("Call only these tools: warehouse.")
    assert not last.json.get("tools")
    assert {name_of(tool) for tool in third.json["tools"]} == {"warehouse__sql", "stage_report"}


def name_of(tool):
    return tool.get("function", tool)["name"]


def test_the_events_of_stages_and_the_plan_are_in_the_session(run):
    _, session, result = run(
        say('{"mission": "Find them"}'),
        say(Call("stage_report", {"problem": "Vague.", "rewind_to": "goal"})),
        say("Ended."),
        say('{"mission": "Find anomalies of May"}'),
        say('{"steps": ["look"]}'),
        say("The report."),
    )
    started = [(e.stage, str(e.reason)) for e in session[StageStarted].all()]
    plan = session[Plan].latest()

    assert started == [
        ("goal", "first"),
        ("decompose", "next"),
        ("goal", "rewind"),
        ("decompose", "next"),
        ("synthesis", "next"),
    ]
    assert session[StagesTerminated].latest().reason is Termination.SUCCESS
    assert [(step.step_id, step.status) for step in plan.steps] == [
        ("goal", "done"),
        ("decompose", "done"),
        ("synthesis", "done"),
    ]
    assert (plan.status, plan.version) == ("completed", "plan.v1")
    assert session[ReflectionAdded].latest().proposal == "rewind to goal"
    assert session[StageCompleted].latest().run_id == result.run_id


def test_a_stage_that_uses_too_many_tokens_breaks_its_guardrail(run):
    _, _session, result = run(
        say('{"mission": "Find them"}'),
        say(Call("warehouse__sql", {"sql": "select 1"}), input_tokens=1_990),
        say(Call("warehouse__sql", {"sql": "select 1"}), input_tokens=1_990),
        say('{"steps": ["look"]}'),
        say("The report."),
    )

    assert moves(result)[1:3] == [
        ("decompose", 1, "retry", "decompose"),
        ("decompose", 2, "fallback", "one-step"),
    ]
    assert result.trail[1].error == "the stage used more than its 2000 tokens"


def test_a_run_without_a_way_on_ends_and_says_why(run):
    _, session, result = run(say("no"), say("no"))

    assert result.reason is Termination.FAILED
    assert result.detail == "no goal"
    assert session[Plan].latest().status == "abandoned"
    assert session[Plan].latest().reason == "failed: no goal"


def test_all_stages_together_keep_to_one_budget(run):
    _, _, result = run(
        say('{"mission": "Find them"}', input_tokens=300),
        say(Call("warehouse__sql", {"sql": "select 1"}), input_tokens=300),
        guardrails=Guardrails(max_tokens=600),
    )

    assert result.reason is Termination.GUARDRAIL_VIOLATION
    assert "600 tokens" in result.detail


def test_the_traces_of_all_stages_replay_identically(run, tmp_path):
    trace = pytest.importorskip("trimtab_trace")
    _, session, result = run(
        say("no json"),
        say('{"mission": "Find them"}'),
        say(Call("stage_report", {"problem": "The mission is vague.", "rewind_to": "goal"})),
        say("Ended."),
        say('{"mission": "Find anomalies of May"}'),
        say("wrong"),
        say("still wrong"),
        say('{"steps": ["look"]}'),
        say("The report."),
        recorders=[trace.JsonlTrace(str(tmp_path))],
    )
    replays = {path.stem: trace.replay(trace.open_trace(path)) for path in tmp_path.iterdir()}
    of_policy = replays[result.run_id].session

    assert len(replays) == 1 + len(result.trail)
    assert all(replayed.identical and replayed.unknown == 0 for replayed in replays.values())
    for kind in (StageStarted, StageCompleted, StagesTerminated, ReflectionAdded, Plan):
        assert of_policy[kind].all() == session[kind].all()
