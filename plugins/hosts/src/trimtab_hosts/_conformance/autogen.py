"""Agents of AutoGen: ``trimtab doctor autogen`` plays them."""

from __future__ import annotations

from typing import Any

from trimtab.testing import HostKit, Played, Task
from trimtab_hosts._hosts import AUTOGEN as HOST


def agent_of(task: Task) -> Any:
    """Return an agent for a task, as a user would build it.

    Args:
        task: what the agent shall do.
    """
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core.tools import FunctionTool
    from autogen_ext.models.openai import OpenAIChatCompletionClient
    from pydantic import create_model

    from trimtab_hosts.autogen import TrimtabAssistantAgent

    model: Any = {
        "model": "m",
        "model_info": {
            "vision": False,
            "function_calling": True,
            "json_output": True,
            "family": "unknown",
            "structured_output": True,
        },
    }
    client = OpenAIChatCompletionClient(
        **model, base_url=f"{task.url}/v1", api_key="x", max_retries=1
    )
    given: Any = {
        "tools": [
            FunctionTool(one, one.__doc__ or "", strict=task.mode == "structured")
            for one in task.tools
        ],
        "max_tool_iterations": 12,
        "model_client_stream": task.mode == "stream",
    }
    if task.mode == "structured":
        given["output_content_type"] = create_model("Final", answer=(int, ...))
    if not task.guided:
        return AssistantAgent("agent", client, **given)
    options = {"timeout": task.timeout, "deadline": task.deadline, "strict": True}
    return TrimtabAssistantAgent(
        "agent", client, prompt=task.prompt, session=task.session, options=options, **given
    )


async def play(task: Task) -> Played:
    """Let an agent of AutoGen do a task.

    Args:
        task: what it shall do.
    """
    agent = agent_of(task)
    last: Any = None
    for said in task.user:
        if task.mode == "stream":
            async for event in agent.run_stream(task=said):
                last = event
        else:
            last = await agent.run(task=said)
    message = last.messages[-1]
    history = [str(one.content) for one in await agent.model_context.get_messages()]
    if task.mode == "structured":
        return Played("", history, message.content.answer)
    return Played(message.to_text(), history)


KIT = HostKit(
    "autogen",
    HOST,
    play,
    claims="cancel equal errors gate invalid parallel resume rich stop stream structured",
)
"""What AutoGen's host claims."""
