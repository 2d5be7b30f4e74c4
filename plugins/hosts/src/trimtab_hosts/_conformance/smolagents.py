"""Agents of smolagents: ``trimtab doctor smolagents`` plays them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import signature
from typing import Any

from trimtab.testing import HostKit, Played, Task
from trimtab_hosts._hosts import SMOLAGENTS as HOST


def tool_of(function: Callable[..., Any]) -> Any:
    """Return a tool for a function; smolagents' own decorator wants to read its source.

    Args:
        function: the function.
    """
    from smolagents import Tool  # type: ignore[import-untyped]

    class Made(Tool):  # type: ignore[misc]
        name, description, output_type = function.__name__, function.__doc__ or "", "any"
        inputs = {  # noqa: RUF012 - as the runtime wants it
            one: {"type": "string", "description": one} for one in signature(function).parameters
        }
        skip_forward_signature_validation = True

        def forward(self, *given: Any, **named: Any) -> Any:
            return function(*given, **named)

    return Made()


def agent_of(task: Task) -> Any:
    """Return an agent for a task, as a user would build it.

    Args:
        task: what the agent shall do.
    """
    from smolagents import OpenAIModel, ToolCallingAgent

    from trimtab_hosts.smolagents import TrimtabAgent

    retry: Any = {"max_retries": 1}
    model = OpenAIModel("m", api_base=f"{task.url}/v1", api_key="x", client_kwargs=retry)
    tools = [tool_of(one) for one in task.tools]
    plain: Any = {
        "stream_outputs": task.mode == "stream",
        "verbosity_level": -1,
        "max_steps": task.max_turns or 12,
    }
    if not task.guided:
        return ToolCallingAgent(tools, model, **plain)
    options = {"timeout": task.timeout, "deadline": task.deadline, "strict": True}
    return TrimtabAgent(
        tools, model, prompt=task.prompt, session=task.session, options=options, **plain
    )


async def play(task: Task) -> Played:
    """Let an agent of smolagents do a task.

    Args:
        task: what it shall do.
    """
    agent = agent_of(task)
    text = ""
    for said in task.user:
        reset = said == task.user[0]
        text = str(await asyncio.to_thread(agent.run, said, reset=reset))
    return Played(text, [str(message.content) for message in agent.write_memory_to_messages()])


KIT = HostKit(
    "smolagents",
    HOST,
    play,
    claims="equal errors gate invalid limit parallel resume rich stop stream",
    answers_by="final_answer",
)
"""What smolagents' host claims."""
