"""The conformance kit's agents of LangChain: ``trimtab conformance langchain`` plays them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command, interrupt
from pydantic import create_model

from trimtab_langchain import HOST, STEPS_OF_TURN, TrimtabMiddleware
from trimtab_testing import HostKit, Played, Task

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Final = create_model("Final", answer=(int, ...))


class _Errors(AgentMiddleware[Any, Any, Any]):
    """Tells the model of a tool's error; without such middleware it ends the agent."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a tool raises
            return self._told(request, error)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return await handler(request)
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a tool raises
            return self._told(request, error)

    def _told(self, request: Any, error: Exception) -> ToolMessage:
        call_id = request.tool_call["id"]
        return ToolMessage(f"It failed: {error}", tool_call_id=call_id, status="error")


def ask(path: str) -> str:
    """Ask the user.

    Args:
        path: what it is about.
    """
    return str(interrupt(f"May I touch {path}?"))


def model_of(task: Task) -> BaseChatModel:
    """Return the client of the service that the task's wire names."""
    if task.wire == "anthropic":
        from langchain_anthropic import ChatAnthropic

        known: dict[str, Any] = {"model_name": "claude-sonnet-4-5", "api_key": "x"}
        return ChatAnthropic(base_url=task.url, max_retries=1, **known)
    if task.wire == "gemini":
        from langchain_google_genai import ChatGoogleGenerativeAI

        return ChatGoogleGenerativeAI(
            model="gemini-2.5-pro", api_key="x", base_url=task.url, max_retries=1
        )
    from langchain_openai import ChatOpenAI

    known = {"model": "m", "api_key": "x", "use_responses_api": task.wire == "responses"}
    return ChatOpenAI(base_url=f"{task.url}/v1", max_retries=1, **known)


def agent_of(task: Task, saver: InMemorySaver) -> Any:
    """Return an agent for a task, as a user would build it."""
    middleware = [*_guided(task), _Errors(), *_around(task)]
    structured = ToolStrategy(Final) if task.mode == "structured" else None
    tools = [*task.tools, *([ask] if task.mode == "interrupt" else [])]
    return create_agent(
        model_of(task),
        tools=tools,
        system_prompt="You are an agent.",
        middleware=middleware,
        checkpointer=saver,
        response_format=structured,
    )


def _guided(task: Task) -> Sequence[Any]:
    if not task.guided:
        return ()
    make = partial(TrimtabMiddleware, task.prompt, task.session, **task.options)
    return (task.once(make, "guided"),)


def _around(task: Task) -> Sequence[Any]:
    if task.mode == "deny":
        return (HumanInTheLoopMiddleware(interrupt_on={"look": True}),)
    if task.mode == "around":
        limit: Any = ToolCallLimitMiddleware(run_limit=10)
        retry = ToolRetryMiddleware(max_retries=2, initial_delay=0)
        return (TodoListMiddleware(), limit, retry)
    if task.mode == "compact":
        model = model_of(task)
        return (SummarizationMiddleware(model, trigger=("messages", 5), keep=("messages", 1)),)
    return ()


async def play(task: Task) -> Played:
    """Let an agent of LangChain do a task."""
    saver = task.once(InMemorySaver, "saver")
    agent = task.once(lambda: agent_of(task, saver))
    config: Any = {"configurable": {"thread_id": task.conversation}}
    if task.max_turns is not None:
        config["recursion_limit"] = STEPS_OF_TURN * task.max_turns + 2
    out: Any = {}
    for said in task.user:
        out = await _turn(agent, {"messages": [("user", said)]}, config, task.mode)
    if task.mode == "deny":
        refused: Command[Any] = Command(resume={"decisions": [{"type": "reject"}]})
        out = await _turn(agent, refused, config)
    if task.mode == "interrupt":
        again = task.restarted()
        out = await _turn(agent_of(again, saver), Command(resume="yes"), config)
    texts = [message.text for message in out["messages"]]
    return Played(texts[-1], texts, getattr(out.get("structured_response"), "answer", None))


async def _turn(agent: Any, given: Any, config: Any, mode: str = "plain") -> Any:
    if mode != "stream":
        return await agent.ainvoke(given, config)
    async with contextlib.aclosing(agent.astream(given, config, stream_mode="values")) as states:
        return [state async for state in states][-1]


KIT = HostKit(
    "langchain",
    HOST,
    play,
    claims=(
        "anthropic around cancel compact deny equal errors gate gemini interrupt invalid limit "
        "parallel responses stop resume rich shared stream structured"
    ),
)
