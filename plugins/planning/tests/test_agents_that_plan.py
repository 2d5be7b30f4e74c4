"""Six agents and their plans, on two hosts: what each is told, and when."""

from __future__ import annotations

import asyncio

import pytest

from trimtab import GuidanceDelivered, MarkdownSection, Session
from trimtab.events import CompletionChecked
from trimtab_planning import plan_act_reflect

pytest.importorskip("trimtab_test_servers")
pytest.importorskip("trimtab_plan_based_checker")
pytestmark = pytest.mark.e2e

from trimtab_test_servers import Call, say  # noqa: E402

TASK = MarkdownSection(key="task", title="Task", template="Explain every anomaly.")


class Script:
    """Says in the words of one host what an agent does."""

    def __init__(self, look, check, prefix=""):
        self.look, self.check, self._prefix = look, check, prefix

    def tool(self, name, **params):
        return say(Call(f"{self._prefix}plan_{name}", params))

    def plan(self, *titles, tools=None):
        tools = tools or (self.look.name, self.check.name)
        steps = [
            {"title": title, "tools": [{"name": tool}]}
            for title, tool in zip(titles or ("Look", "Check"), tools, strict=False)
        ]
        return self.tool("set", objective="Explain", steps=steps, exit_criteria=["All explained."])

    def mark(self, step_id, status):
        return self.tool("update_step", step_id=step_id, status=status)

    def reflect(self, step_id=""):
        return self.tool("reflect", observed="all explained", met=True, step_id=step_id)


AGENTS = {
    "follows": lambda s: [
        s.plan(),
        *(s.mark("S1", "in_progress"), say(s.look), s.mark("S1", "done"), s.reflect("S1")),
        *(s.mark("S2", "in_progress"), say(s.check), s.mark("S2", "done")),
        s.reflect(),
    ],
    "never plans": lambda s: [say(s.look), say(s.check)] * 4,
    "plans and forgets": lambda s: [s.plan(), *[say(s.look), say(s.check)] * 5],
    "ticks off": lambda s: [s.plan(), s.mark("S1", "done"), s.mark("S2", "done")],
    "replans": lambda s: [s.plan(f"Look {n}", f"Check {n}") for n in range(6)],
    "plans wrongly": lambda s: [s.plan(tools=("search", "browse")), *[say(s.look)] * 7],
}
TOLD = {
    ("follows", "openai"): {"current-plan": [1, 2, 4, 6, 8]},
    ("never plans", "openai"): {"plan-act-reflect": [1, 4, 7]},
    ("plans and forgets", "openai"): {"current-plan": [1, 7, 13], "sent back": 3},
    ("ticks off", "openai"): {
        "current-plan": [1, 2, 3],
        "plan-drift.ticked": [2, 3],
        "plan-act-reflect": [4],
    },
    ("replans", "openai"): {
        "current-plan": [1, 2, 3, 4, 5, 6],
        "plan-drift.rewritten": [4, 7],
        "sent back": 3,
    },
    ("plans wrongly", "openai"): {
        "current-plan": [1, 7],
        "plan-act-reflect": [2, 5, 8],
        "plan-drift.off-plan": [6, 9],
        "sent back": 3,
    },
    ("follows", "claude"): {"current-plan": [1, 7]},
    ("never plans", "claude"): {"plan-act-reflect": [1, 4, 7]},
    ("plans and forgets", "claude"): {"current-plan": [1, 7], "sent back": 4},
    ("ticks off", "claude"): {"current-plan": [1], "plan-drift.ticked": [2, 3]},
    ("replans", "claude"): {
        "current-plan": [1],
        "plan-drift.rewritten": [4],
        "sent back": 4,
    },
    ("plans wrongly", "claude"): {
        "current-plan": [1, 7],
        "plan-act-reflect": [2, 5, 8],
        "plan-drift.off-plan": [6],
        "sent back": 4,
    },
}
"""After which turns each spoke; docs/explanation/plans.md shows this."""
LAST = 4
"""The agent is sent back at most so often; it says the same each time."""


def told(session):
    """Return after which turns each provider spoke, and how often the agent was sent back."""
    found = {}
    for event in session[GuidanceDelivered].all():
        found.setdefault(event.injection.key, []).append(event.turn + 1)
    checked = [one for one in session[CompletionChecked].all() if one.status == "incomplete"]
    return {**found, "sent back": len(checked)} if checked else found


def on_openai(agent):
    import attrs

    from trimtab import Tool, ToolResult
    from trimtab_openai import OpenAIAdapter
    from trimtab_test_servers import OpenAIServer

    @attrs.frozen
    class Query:
        sql: str

    def tool(name):
        return Tool(name, "Query.", Query, lambda params, *, context: ToolResult.ok("3 rows"))

    script = Script(Call("analytics", {"sql": "select 1"}), Call("warehouse", {"sql": "select 2"}))
    session = Session()
    prompt = plan_act_reflect().prompt(
        "agent",
        "main",
        [TASK],
        tools=(tool("analytics"), tool("warehouse")),
        config=None,
        completion_checkers=["plan-based-checker"],
    )
    with OpenAIServer([*AGENTS[agent](script), *[say("Done.")] * LAST]) as server:
        OpenAIAdapter("m", base_url=server.base_url, api_key="x").evaluate(prompt, session=session)
    return session


def on_claude(agent, folder):
    from trimtab_claude_agent_sdk import ClaudeAgentSDKAdapter, ClaudeAgentSDKClientConfig
    from trimtab_test_servers import AnthropicServer, claude_code_environment

    work, session = folder / "work", Session()
    work.mkdir()
    (work / "a.txt").write_text("3 rows")
    script = Script(
        Call("Bash", {"command": "true", "description": "Look"}),
        Call("Read", {"file_path": str(work / "a.txt")}),
        "mcp__trimtab__",
    )
    prompt = plan_act_reflect().prompt(
        "agent", "main", [TASK], config=None, completion_checkers=["plan-based-checker"]
    )
    with AnthropicServer([*AGENTS[agent](script), *[say("Done.")] * LAST]) as server:
        environment = claude_code_environment(server, folder / "home")
        adapter = ClaudeAgentSDKAdapter(
            model="claude-sonnet-4-5",
            client_config=ClaudeAgentSDKClientConfig(
                cwd=work,
                permission_mode="bypassPermissions",
                options={"setting_sources": [], "env": environment},
            ),
        )
        asyncio.run(asyncio.wait_for(adapter.aevaluate(prompt, session=session), 90))
    return session


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("host", ["openai", "claude"])
def test_what_each_agent_is_told(agent, host, tmp_path):
    if host == "openai":
        pytest.importorskip("trimtab_openai")
        session = on_openai(agent)
    else:
        pytest.importorskip("claude_agent_sdk")
        pytest.importorskip("trimtab_claude_agent_sdk")
        session = on_claude(agent, tmp_path)
    assert told(session) == TOLD[agent, host]
