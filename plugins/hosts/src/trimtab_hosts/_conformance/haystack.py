"""Agents of Haystack: ``trimtab doctor haystack`` plays them."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from trimtab.testing import HostKit, Played, Task
from trimtab_hosts._hosts import HAYSTACK as HOST


def agent_of(task: Task) -> Any:
    """Return an agent for a task, as a user would build it.

    Args:
        task: what the agent shall do.
    """
    os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.tools.from_function import create_tool_from_function
    from haystack.utils import Secret

    from trimtab_hosts.haystack import TrimtabChatGenerator

    key, url = Secret.from_token("x"), f"{task.url}/v1"
    generator: Any = OpenAIChatGenerator(key, "m", api_base_url=url, max_retries=1)
    given: Any = {}
    if task.guided:
        more: Any = {"timeout": task.timeout, "deadline": task.deadline, "strict": True}
        generator = TrimtabChatGenerator(generator, task.prompt, task.session, **more)
        given["hooks"] = generator.hooks
    return Agent(
        chat_generator=generator,
        system_prompt="You are an agent.",
        tools=[create_tool_from_function(tool) for tool in task.tools],
        raise_on_tool_invocation_failure=False,
        **given,
    )


async def play(task: Task) -> Played:
    """Let an agent of Haystack do a task.

    Args:
        task: what it shall do.
    """
    from haystack.dataclasses import ChatMessage

    agent = task.once(lambda: agent_of(task))
    given: Any = {"hook_context": {"conversation": task.conversation}}
    if task.mode == "stream":
        given["streaming_callback"] = lambda _: None
    messages: list[Any] = []
    for said in task.user:
        asked = [*messages[1:], ChatMessage.from_user(said)]
        out = await asyncio.to_thread(agent.run, messages=asked, **given)
        messages = out["messages"]
    return Played(messages[-1].text, [str(message.to_dict()) for message in messages])


KIT = HostKit(
    "haystack",
    HOST,
    play,
    claims="equal errors gate invalid parallel resume rich shared stop stream",
)
"""What Haystack's host claims."""
