"""The conformance kit's loops of litellm: ``trimtab doctor litellm`` plays them."""

from __future__ import annotations

import os
from typing import Any

import attrs

from trimtab.testing import HostKit, Played, Task
from trimtab_litellm._adapter import HOST, SETTINGS
from trimtab_litellm._client import async_client
from trimtab_openai import Exhausted, GuidedLoop, LoopResult

MODELS = {
    "anthropic": ("anthropic/claude-sonnet-4-5", ""),
    "gemini": ("gemini/gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro"),
    "openai": ("openai/m", "/v1"),
    "responses": ("openai/m", "/v1"),
}
"""The model of each dialect, and the path of its service."""


@attrs.frozen
class Final:
    """The structured output."""

    answer: int


def loop_of(task: Task) -> GuidedLoop:
    """Return a loop for a task, as a user would build it.

    Args:
        task: what the agent shall do.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it is fetched
    model, path = MODELS[task.wire]
    limit: Any = {} if task.max_turns is None else {"max_turns": task.max_turns}
    run = task.session.open_run(
        task.prompt,
        host=attrs.evolve(HOST, **limit),
        deadline=task.deadline,
        timeout=task.timeout,
    )
    return GuidedLoop(
        async_client(api_base=f"{task.url}{path}", api_key="x", num_retries=1),
        run,
        model=model,
        tools=task.as_tools(),
        output_type=Final if task.mode == "structured" else None,
        settings=attrs.evolve(
            SETTINGS,
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
    "litellm",
    HOST,
    play,
    claims=(
        "anthropic cancel errors gate gemini invalid limit parallel responses resume shared stop "
        "stream structured"
    ),
)
"""What the loop claims; it is trimtab's own, so there is none without it."""
