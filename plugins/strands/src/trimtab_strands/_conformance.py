"""The conformance kit's agents of Strands: ``trimtab conformance strands`` plays them."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from pydantic import create_model
from strands import Agent, tool
from strands.models.openai import OpenAIModel

from trimtab_strands import HOST, TrimtabPlugin
from trimtab_testing import HostKit, Played, Task

Final = create_model("Final", answer=(int, ...))


def agent_of(task: Task, plugins: list[Any]) -> Agent:
    """Return an agent for a task, as a user would build it."""
    client = {"base_url": f"{task.url}/v1", "api_key": "x", "max_retries": 1}
    return Agent(
        OpenAIModel(client_args=client, model_id="m"),
        tools=[tool(one) for one in task.tools],
        system_prompt="You are an agent.",
        plugins=plugins,
        callback_handler=None,
        structured_output_model=Final if task.mode == "structured" else None,
    )


async def play(task: Task) -> Played:
    """Let an agent of Strands do a task: an agent is one conversation, the plugin serves all."""
    make = partial(TrimtabPlugin, task.prompt, task.session, **task.options)
    agent = agent_of(task, [task.once(make, "plugin")] if task.guided else [])
    result: Any = None
    for said in task.user:
        if task.mode == "stream":
            async for event in agent.stream_async(said):
                result = event.get("result", result)
        else:
            result = await agent.invoke_async(said)
    output = result.structured_output
    texts = [json.dumps(message, default=str) for message in agent.messages]
    return Played(str(result), texts, getattr(output, "answer", None))


KIT = HostKit(
    "strands",
    HOST,
    play,
    claims="cancel equal errors gate invalid parallel resume rich shared stop stream structured",
)
