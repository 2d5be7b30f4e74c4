"""The kit's agents of the Agent Development Kit: ``trimtab conformance adk`` plays them."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import (  # type: ignore[attr-defined]
    RunConfig,
    StreamingMode,  # pyright: ignore[reportPrivateImportUsage]
)
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import create_model

from trimtab_adk import HOST, TrimtabPlugin
from trimtab_testing import HostKit, Played, Task

Final = create_model("Final", answer=(int, ...))


class _Told(FunctionTool):
    """A tool whose errors the model is told; without, they end the agent."""

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        try:
            return await super().run_async(args=args, tool_context=tool_context)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises
            return {"error": f"It failed: {error}"}


def runner_of(task: Task, plugins: list[Any]) -> InMemoryRunner:
    """Return a runner for a task, as a user would build it."""
    os.environ.setdefault("GOOGLE_API_KEY", "x")
    retry = types.HttpRetryOptions(initial_delay=0.01, attempts=2)
    agent = LlmAgent(
        name="scout",
        instruction="You are an agent.",
        model=Gemini(model="gemini-2.5-pro", base_url=task.url, retry_options=retry),
        tools=[_Told(one) for one in task.tools],
        output_schema=Final if task.mode == "structured" else None,
    )
    return InMemoryRunner(agent, app_name="kit", plugins=plugins)


async def play(task: Task) -> Played:
    """Let an agent of the Agent Development Kit do a task."""
    make = partial(TrimtabPlugin, task.prompt, task.session, **task.options)
    plugin = task.once(make, "plugin")
    runner = task.once(lambda: runner_of(task, [plugin] if task.guided else []))
    names: Any = {"user_id": "user", "session_id": task.conversation}
    sessions = runner.session_service
    await sessions.create_session(app_name=runner.app_name, **names)
    streamed = StreamingMode.SSE if task.mode == "stream" else StreamingMode.NONE
    config = RunConfig(streaming_mode=streamed, max_llm_calls=task.max_turns or 0)
    last = ""
    for said in task.user:
        given = {**names, "new_message": types.UserContent(said), "run_config": config}
        ways = plugin.run_async(runner, **given) if task.guided else runner.run_async(**given)
        async for event in ways:
            parts = event.content.parts if event.content else None
            last = "".join(part.text or "" for part in parts or ()) or last
    kept = await sessions.get_session(app_name=runner.app_name, **names)
    history = [] if kept is None else [event.model_dump_json() for event in kept.events]
    final = json.loads(last)["answer"] if task.mode == "structured" else None
    return Played(last, history, final)


KIT = HostKit(
    "adk",
    HOST,
    play,
    claims="cancel equal errors gate gemini invalid limit parallel resume rich shared stop stream",
)
