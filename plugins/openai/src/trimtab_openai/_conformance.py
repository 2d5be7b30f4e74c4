"""The conformance kit's loops of the OpenAI client: ``trimtab doctor openai`` plays them."""

from __future__ import annotations

from typing import Any

import attrs
from openai import AsyncOpenAI

from trimtab.testing import HostKit, Played, Task
from trimtab_openai._errors import Exhausted
from trimtab_openai._host import HOST
from trimtab_openai._loop import GuidedLoop
from trimtab_openai._loop_state import LoopResult
from trimtab_openai._settings import Settings


@attrs.frozen
class Final:
    """The structured output."""

    answer: int


def loop_of(task: Task) -> GuidedLoop:
    """Return a loop for a task, as a user would build it.

    Args:
        task: what the agent shall do.
    """
    url = f"{task.url}/v1"
    client = task.once(lambda: AsyncOpenAI(base_url=url, api_key="x", max_retries=1), "client")
    limit: Any = {} if task.max_turns is None else {"max_turns": task.max_turns}
    host = attrs.evolve(HOST, **limit)
    run = task.session.open_run(
        task.prompt, host=host, deadline=task.deadline, timeout=task.timeout
    )
    return GuidedLoop(
        client,
        run,
        model="m",
        tools=task.as_tools(),
        output_type=Final if task.mode == "structured" else None,
        settings=Settings(
            api="responses" if task.wire == "responses" else "chat",
            timeout=task.timeout,
            **limit,
        ),
    )


async def play(task: Task) -> Played:
    """Let a loop do a task.

    Args:
        task: what it shall do.
    """
    loop = loop_of(task)
    result = LoopResult("", None, [{"role": "system", "content": "You are an agent."}], None)
    on_chunk = (lambda _: None) if task.mode == "stream" else None
    with loop.hooks.driver:
        for said in task.user:
            messages = [*result.messages, {"role": "user", "content": said}]
            try:
                result = await loop.acomplete(messages, on_chunk=on_chunk)
            except Exhausted as ended:
                return Played(str(ended), map(str, ended.messages))
    final = result.output.answer if isinstance(result.output, Final) else None
    return Played(result.text, map(str, result.messages), final)


KIT = HostKit(
    "openai",
    HOST,
    play,
    claims=(
        "cancel errors gate invalid limit parallel responses resume shared stop stream structured"
    ),
)
"""What the loop claims; it is trimtab's own, so there is none without it."""
