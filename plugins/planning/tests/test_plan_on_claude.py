"""Plans on the Claude Agent SDK, with the real program against the scripted service."""

from __future__ import annotations

import asyncio

import pytest

from trimtab import GuidanceDelivered, MarkdownSection, Plan, Session, ToolInvoked
from trimtab_planning import (
    PlanAuthored,
    PlanUpdated,
    ReflectionAdded,
    StepCalled,
    plan_act_reflect,
)

pytest.importorskip("claude_agent_sdk")
pytest.importorskip("trimtab_claude_agent_sdk")
pytestmark = pytest.mark.e2e

from trimtab_claude_agent_sdk import (  # noqa: E402
    ClaudeAgentSDKAdapter,
    ClaudeAgentSDKClientConfig,
)
from trimtab_test_servers import (  # noqa: E402
    AnthropicServer,
    Call,
    claude_code_environment,
    say,
)

SECONDS = 60
TASK = MarkdownSection(key="task", title="Task", template="Look around.")


@pytest.fixture
def evaluate(tmp_path):
    def go(*script):
        work, session = tmp_path / "work", Session()
        work.mkdir()
        prompt = plan_act_reflect().prompt("agent", "main", [TASK], config=None)
        with AnthropicServer(list(script)) as server:
            environment = claude_code_environment(server, tmp_path / "home")
            adapter = ClaudeAgentSDKAdapter(
                model="claude-sonnet-4-5",
                client_config=ClaudeAgentSDKClientConfig(
                    cwd=work,
                    permission_mode="bypassPermissions",
                    options={"setting_sources": [], "env": environment},
                ),
            )
            asked = adapter.aevaluate(prompt, session=session)
            asyncio.run(asyncio.wait_for(asked, SECONDS))
        return server, session

    return go


def bash():
    return Call("Bash", {"command": "true", "description": "Look"})


def plan_tool(name, **params):
    return Call(f"mcp__trimtab__{name}", params)


def test_the_plan_tools_work_there_and_calls_are_tied_to_their_steps(evaluate):
    steps = [{"title": "Look", "tools": [{"name": "Bash"}]}]
    _, session = evaluate(
        say(plan_tool("plan_set", objective="Look", steps=steps, exit_criteria=["Seen."])),
        say(bash()),
        say(plan_tool("plan_update_step", step_id="S1", status="done", outcome="nothing")),
        say(plan_tool("plan_reflect", observed="nothing there", met=True)),
        say("Done."),
    )

    assert session[PlanAuthored].latest().origin == "plan_set"
    assert [(tie.tool, tie.step_id) for tie in session[StepCalled].all()] == [("Bash", "S1")]
    assert session[ReflectionAdded].latest().met is True
    assert session[Plan].latest().status == "completed"


def test_a_call_without_a_plan_is_noticed_there(evaluate):
    server, session = evaluate(say(bash()), say("Done."))

    assert any(request.mentions("without a plan") for request in server.requests)
    assert "Call plan_set now" in session[GuidanceDelivered].all()[0].injection.content


def test_tasks_of_the_program_are_taken_over_as_a_plan(evaluate):
    create = Call("TaskCreate", {"subject": "Look", "description": "Look around"})
    _, session = evaluate(
        say(create),
        say(Call("TaskUpdate", {"taskId": "1", "status": "in_progress"})),
        say(Call("TaskUpdate", {"taskId": "1", "status": "completed"})),
        say("Done."),
    )

    assert session[PlanAuthored].latest().origin == "TaskCreate"
    assert [str(event.change) for event in session[PlanUpdated].all()] == [
        "step",
        "step",
        "completed",
    ]


def test_updates_of_one_response_are_applied_in_its_order_there(evaluate):
    steps = [{"title": f"Part {n}", "depends_on": [f"S{n}"] if n else []} for n in range(6)]
    done = [plan_tool("plan_update_step", step_id=f"S{n}", status="done") for n in range(1, 7)]
    _, session = evaluate(
        say(plan_tool("plan_set", objective="All parts", steps=steps), *done), say("Done.")
    )

    assert [call.outcome.value for call in session[ToolInvoked].all()] == ["ok"] * 7
    assert session[Plan].latest().status == "completed"
