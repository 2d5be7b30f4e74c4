"""Agents of DSPy: ``trimtab doctor dspy`` plays them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from trimtab.testing import HostKit, Played, Task
from trimtab_hosts._hosts import DSPY as HOST


def agent_of(task: Task) -> Any:
    """Return an agent for a task, as a user would build it.

    Args:
        task: what the agent shall do.
    """
    import dspy

    from trimtab_hosts.dspy import TrimtabReAct

    if not task.guided:
        return dspy.ReActV2("task -> answer", list(task.tools), 12)
    options: Any = {"timeout": task.timeout, "deadline": task.deadline, "strict": True}
    given: Any = {"prompt": task.prompt, "session": task.session, **options}
    return TrimtabReAct("task -> answer", list(task.tools), 12, **given)


async def play(task: Task) -> Played:
    """Let an agent of DSPy do a task.

    Args:
        task: what it shall do.
    """
    return await _played(task, asyncio.to_thread)


async def play_on_a_loop(task: Task) -> Played:
    """As `play`, by DSPy's own coroutines.

    Args:
        task: what it shall do.
    """
    return await _played(task, lambda agent, **given: agent.acall(**given))


async def _played(task: Task, call: Callable[..., Awaitable[Any]]) -> Played:
    import dspy

    agent = task.once(lambda: agent_of(task))
    lm = dspy.LM("openai/m", api_base=f"{task.url}/v1", api_key="x", cache=False, num_retries=2)
    adapter = dspy.ChatAdapter(use_native_function_calling=True)
    out: Any = None
    with dspy.context(lm=lm, adapter=adapter):
        for said in task.user:
            more: Any = {"conversation": task.conversation} if task.guided else {}
            if out is not None:
                more["history"] = out.history
            out = await call(agent, task=said, **more)
    return Played(str(out.answer), [str(one) for one in out.history.messages])


KIT = HostKit(
    "dspy",
    HOST,
    play,
    claims="equal errors gate invalid parallel resume rich shared stop",
    answers_by="submit",
)
"""What DSPy's host claims."""
