"""The conformance kit's agents of the OpenAI Agents SDK: ``trimtab conformance openai-agents``."""

from __future__ import annotations

from functools import partial
from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
)
from agents.run_config import ToolErrorFormatterArgs
from openai import AsyncOpenAI
from pydantic import create_model

from trimtab_openai_agents import HOST, TrimtabRunner
from trimtab_testing import HostKit, Played, Task

Final = create_model("Final", answer=(int, ...))


def agent_of(task: Task) -> Agent[Any]:
    """Return an agent for a task, as a user would build it."""
    client = AsyncOpenAI(base_url=f"{task.url}/v1", api_key="x", max_retries=1)
    approval = task.mode == "deny"
    model = OpenAIResponsesModel if task.wire == "responses" else OpenAIChatCompletionsModel
    return Agent(
        "scout",
        instructions="You are an agent.",
        model=model("m", client),
        tools=[function_tool(tool, needs_approval=approval) for tool in task.tools],
        output_type=Final if task.mode == "structured" else None,
    )


def _told(args: ToolErrorFormatterArgs[Any]) -> str | None:
    """Tell the model of a tool's error; the SDK's own words say nothing of it."""
    return f"It failed: {args.error}" if args.kind == "tool_exception" else None


async def play(task: Task) -> Played:
    """Let an agent of the SDK do a task."""
    agent = task.once(lambda: agent_of(task))
    runner: Any = Runner
    if task.guided:
        make = partial(TrimtabRunner, task.prompt, task.session, **task.options)
        runner = task.once(make, "runner")
    kept = SQLiteSession(task.conversation)
    config = RunConfig(
        tracing_disabled=True,
        tool_not_found_behavior="return_error_to_model",
        tool_error_formatter=_told,
    )
    given: Any = {"session": kept, "run_config": config}
    if task.max_turns is not None:
        given["max_turns"] = task.max_turns
    result: Any = None
    for said in task.user:
        result = await _turn(runner, agent, said, given, task.mode)
    if task.mode == "deny":
        state = result.to_state()
        for waiting in result.interruptions:
            state.reject(waiting)
        result = await runner.run(agent, state, **given)
    history = [str(item) for item in await kept.get_items()]
    output = result.final_output
    return Played(str(output), history, getattr(output, "answer", None))


async def _turn(runner: Any, agent: Agent[Any], said: str, given: Any, mode: str) -> Any:
    if mode != "stream":
        return await runner.run(agent, said, **given)
    result = runner.run_streamed(agent, said, **given)
    async for _ in result.stream_events():
        pass
    return result


KIT = HostKit(
    "openai-agents",
    HOST,
    play,
    claims=(
        "cancel deny equal errors gate invalid limit parallel responses resume rich shared stop "
        "stream structured"
    ),
)
