"""Agents of LlamaIndex: ``trimtab doctor llama-index`` plays them."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any

from trimtab.testing import HostKit, Played, Task
from trimtab_hosts._hosts import LLAMA_INDEX as HOST


def agent_of(task: Task) -> Any:
    """Return an agent for a task, as a user would build it.

    Args:
        task: what the agent shall do.
    """
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import FunctionTool
    from llama_index.llms.openai_like import OpenAILike

    from trimtab_hosts.llama_index import TrimtabFunctionAgent

    more: Any = {"is_chat_model": True, "is_function_calling_model": True, "max_retries": 1}
    given: Any = {
        "llm": OpenAILike("m", api_base=f"{task.url}/v1", api_key="x", **more),
        "system_prompt": "You are an agent.",
        "streaming": task.mode == "stream",
        "tools": [
            FunctionTool.from_defaults(**{"async_fn" if iscoroutinefunction(one) else "fn": one})
            for one in task.tools
        ],
    }
    if not task.guided:
        return FunctionAgent(**given)
    options = {"timeout": task.timeout, "deadline": task.deadline, "strict": True}
    return TrimtabFunctionAgent(prompt=task.prompt, session=task.session, options=options, **given)


async def play(task: Task) -> Played:
    """Let an agent of LlamaIndex do a task.

    Args:
        task: what it shall do.
    """
    from llama_index.core.workflow import Context

    agent = task.once(lambda: agent_of(task))
    ctx: Any = Context(agent)
    out: Any = None
    for said in task.user:
        handler = agent.run(user_msg=said, ctx=ctx)
        async for _ in handler.stream_events():
            pass
        out = await handler
    memory = await ctx.store.get("memory")
    return Played(str(out), [str(message.content) for message in await memory.aget_all()])


KIT = HostKit(
    "llama-index",
    HOST,
    play,
    claims="equal errors gate invalid parallel resume rich shared stop stream",
)
"""What LlamaIndex's host claims."""
