"""Agents of CrewAI: ``trimtab doctor crewai`` plays them."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from trimtab.testing import HostKit, Played, Task
from trimtab_hosts._hosts import CREWAI as HOST

QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}


def crew_of(task: Task) -> Any:
    """Return a crew of one agent for a task, as a user would build it.

    Args:
        task: what the agent shall do.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    from crewai import LLM, Agent, Crew, Task as Work
    from crewai.tools import tool
    from pydantic import create_model

    from trimtab_hosts.crewai import guided_llm

    url = f"{task.url}/v1"
    llm: Any = LLM("gpt-4o", provider="openai", base_url=url, api_key="x", max_retries=1)
    if task.guided:
        more: Any = {"timeout": task.timeout, "deadline": task.deadline, "strict": True}
        llm = guided_llm(llm, task.prompt, task.session, **more)
    tools = [tool(one) for one in task.tools]
    who: Any = {"role": "Worker", "goal": "Work", "backstory": "You work."}
    agent = Agent(**who, llm=llm, tools=tools, cache=False, verbose=False)
    kind = create_model("Final", answer=(int, ...)) if task.mode == "structured" else None
    work = Work(description="{said}", expected_output="A result", agent=agent, output_pydantic=kind)
    return Crew(agents=[agent], tasks=[work], verbose=False, cache=False)


async def play(task: Task) -> Played:
    """Let an agent of CrewAI do a task.

    Args:
        task: what it shall do.
    """
    crew = task.once(lambda: crew_of(task)).copy()
    return _played(await asyncio.to_thread(crew.kickoff, {"said": task.user[0]}))


async def play_on_a_loop(task: Task) -> Played:
    """As `play`, by CrewAI's own coroutines.

    Args:
        task: what it shall do.
    """
    crew = task.once(lambda: crew_of(task)).copy()
    return _played(await crew.akickoff({"said": task.user[0]}))


def _played(out: Any) -> Played:
    history = [str(message) for message in out.tasks_output[0].messages]
    return Played(out.raw, history, getattr(out.pydantic, "answer", None))


KIT = HostKit(
    "crewai", HOST, play, claims="equal errors gate invalid parallel rich shared stop structured"
)
"""What CrewAI's host claims."""
