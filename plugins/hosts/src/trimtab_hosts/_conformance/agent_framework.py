"""Agents of the Agent Framework: ``trimtab doctor agent-framework`` plays them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trimtab.testing import HostKit, Played, Task
from trimtab_hosts._hosts import AGENT_FRAMEWORK as HOST

if TYPE_CHECKING:
    from agent_framework import Agent


def agent_of(task: Task) -> Agent[Any]:
    """Return an agent for a task, as a user would build it.

    Args:
        task: what the agent shall do.
    """
    from agent_framework import Agent, tool
    from agent_framework_openai import OpenAIChatClient, OpenAIChatCompletionClient
    from openai import AsyncOpenAI

    from trimtab_hosts.agent_framework import trimtab_middleware

    openai = AsyncOpenAI(base_url=f"{task.url}/v1", api_key="x", max_retries=1)
    kind = OpenAIChatClient if task.wire == "responses" else OpenAIChatCompletionClient
    client: Any = kind(model="m", async_client=openai)
    client.function_invocation_configuration.update(
        include_detailed_errors=True, max_consecutive_errors_per_request=10
    )
    guided: Any = {}
    if task.guided:
        more: Any = {"timeout": task.timeout, "deadline": task.deadline, "strict": True}
        guided["middleware"] = trimtab_middleware(task.prompt, task.session, **more)
    tools = [tool(one, approval_mode="never_require") for one in task.tools]
    return Agent(client, "You are an agent.", tools=tools, **guided)


async def play(task: Task) -> Played:
    """Let an agent of the framework do a task.

    Args:
        task: what it shall do.
    """
    agent = task.once(lambda: agent_of(task))
    session = agent.create_session()
    given: Any = {"session": session, "stream": task.mode == "stream"}
    if task.mode == "structured":
        from pydantic import create_model

        Final = create_model("Final", answer=int)  # noqa: N806 - a class
        given["options"] = {"response_format": Final}
    result: Any = None
    for said in task.user:
        result = agent.run(said, **given)
        if task.mode == "stream":
            async for _ in result:
                pass
            result = result.get_final_response()
        result = await result
    final = result.value.answer if task.mode == "structured" else None
    return Played(result.messages[-1].text, [str(session.to_dict())], final)


KIT = HostKit(
    "agent-framework",
    HOST,
    play,
    claims=(
        "cancel equal errors gate invalid parallel responses resume rich shared stop stream "
        "structured"
    ),
)
"""What the Agent Framework's host claims."""
