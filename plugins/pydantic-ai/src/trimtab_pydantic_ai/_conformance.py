"""The conformance kit's agents of Pydantic AI: ``trimtab conformance pydantic-ai`` plays them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from openai import AsyncOpenAI
from pydantic import create_model
from pydantic_ai import Agent, ModelRetry, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from trimtab_pydantic_ai import HOST, Trimtab
from trimtab_testing import HostKit, Played, Task

Final = create_model("Final", answer=(int, ...))


def _told(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tool whose errors the model is told, as Pydantic AI wants it."""
    if iscoroutinefunction(tool):
        return tool

    @wraps(tool)
    def told(*arguments: Any, **named: Any) -> Any:
        try:
            return tool(*arguments, **named)
        except Exception as error:
            raise ModelRetry(f"It failed: {error}") from error

    return told


def agent_of(task: Task) -> Agent[None, Any]:
    """Return an agent for a task, as a user would build it."""
    client = AsyncOpenAI(base_url=f"{task.url}/v1", api_key="x", max_retries=1)
    kind = OpenAIResponsesModel if task.wire == "responses" else OpenAIChatModel
    model = kind("m", provider=OpenAIProvider(openai_client=client))
    guided = [Trimtab(task.prompt, task.session, **task.options)] if task.guided else []
    output: Any = Final if task.mode == "structured" else str
    return Agent(
        model,
        tools=[_told(tool) for tool in task.tools],
        capabilities=guided,
        output_type=output,
        retries=5,
        system_prompt="You are an agent.",
    )


async def play(task: Task) -> Played:
    """Let an agent of Pydantic AI do a task."""
    agent = task.once(lambda: agent_of(task))
    given: Any = {"conversation_id": task.conversation}
    if task.max_turns is not None:
        given["usage_limits"] = UsageLimits(request_limit=task.max_turns)
    result: Any = None
    for said in task.user:
        history = None if result is None else result.all_messages()
        if task.mode == "stream":
            result = await _streamed(agent, said, message_history=history, **given)
        else:
            result = await agent.run(said, message_history=history, **given)
    output = result.output
    history = [result.all_messages_json().decode()]
    return Played(str(output), history, getattr(output, "answer", None))


async def _streamed(agent: Agent[None, Any], said: str, **given: Any) -> Any:
    async with agent.iter(said, **given) as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    async for _ in stream:
                        pass
    return run.result


KIT = HostKit(
    "pydantic-ai",
    HOST,
    play,
    claims=(
        "cancel equal errors gate invalid limit parallel responses resume rich shared stop "
        "stream structured"
    ),
)
