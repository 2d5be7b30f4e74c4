"""The conformance kits of the frameworks; each imports its framework where it plays."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any

from trimtab_hosts._hosts import (
    AGENT_FRAMEWORK,
    AUTOGEN,
    CREWAI,
    DSPY,
    HAYSTACK,
    LLAMA_INDEX,
    SMOLAGENTS,
)
from trimtab_testing import HostKit, Played, Task

if TYPE_CHECKING:
    from agent_framework import Agent


def _agent_framework_agent(task: Task) -> Agent[Any]:
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
        guided["middleware"] = trimtab_middleware(task.prompt, task.session, **task.options)
    tools = [tool(one, approval_mode="never_require") for one in task.tools]
    return Agent(client, "You are an agent.", tools=tools, **guided)


async def _play_agent_framework(task: Task) -> Played:
    agent = task.once(lambda: _agent_framework_agent(task))
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


AGENT_FRAMEWORK_KIT = HostKit(
    "agent-framework",
    AGENT_FRAMEWORK,
    _play_agent_framework,
    claims=(
        "cancel equal errors gate invalid parallel responses resume rich shared stop stream "
        "structured"
    ),
)


def _autogen_agent(task: Task) -> Any:
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core.tools import FunctionTool
    from autogen_ext.models.openai import OpenAIChatCompletionClient
    from pydantic import create_model

    from trimtab_hosts.autogen import TrimtabAssistantAgent

    model: Any = {
        "model": "m",
        "model_info": {
            "vision": False,
            "function_calling": True,
            "json_output": True,
            "family": "unknown",
            "structured_output": True,
        },
    }
    client = OpenAIChatCompletionClient(
        **model, base_url=f"{task.url}/v1", api_key="x", max_retries=1
    )
    given: Any = {
        "tools": [
            FunctionTool(one, one.__doc__ or "", strict=task.mode == "structured")
            for one in task.tools
        ],
        "max_tool_iterations": 12,
        "model_client_stream": task.mode == "stream",
    }
    if task.mode == "structured":
        given["output_content_type"] = create_model("Final", answer=(int, ...))
    if not task.guided:
        return AssistantAgent("agent", client, **given)
    return TrimtabAssistantAgent(
        "agent", client, prompt=task.prompt, session=task.session, options=task.options, **given
    )


async def _play_autogen(task: Task) -> Played:
    agent = _autogen_agent(task)
    last: Any = None
    for said in task.user:
        if task.mode == "stream":
            async for event in agent.run_stream(task=said):
                last = event
        else:
            last = await agent.run(task=said)
    message = last.messages[-1]
    history = [str(one.content) for one in await agent.model_context.get_messages()]
    if task.mode == "structured":
        return Played("", history, message.content.answer)
    return Played(message.to_text(), history)


AUTOGEN_KIT = HostKit(
    "autogen",
    AUTOGEN,
    _play_autogen,
    claims="cancel equal errors gate invalid parallel resume rich stop stream structured",
)


_CREWAI_QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}


def _crew(task: Task) -> Any:
    for name, value in _CREWAI_QUIET.items():
        os.environ.setdefault(name, value)
    from crewai import LLM, Agent, Crew, Task as Work
    from crewai.tools import tool
    from pydantic import create_model

    from trimtab_hosts.crewai import guided_llm

    url = f"{task.url}/v1"
    llm: Any = LLM("gpt-4o", provider="openai", base_url=url, api_key="x", max_retries=1)
    if task.guided:
        llm = guided_llm(llm, task.prompt, task.session, **task.options)
    tools = [tool(one) for one in task.tools]
    who: Any = {"role": "Worker", "goal": "Work", "backstory": "You work."}
    agent = Agent(**who, llm=llm, tools=tools, cache=False, verbose=False)
    kind = create_model("Final", answer=(int, ...)) if task.mode == "structured" else None
    work = Work(description="{said}", expected_output="A result", agent=agent, output_pydantic=kind)
    return Crew(agents=[agent], tasks=[work], verbose=False, cache=False)


async def _play_crewai(task: Task) -> Played:
    crew = task.once(lambda: _crew(task)).copy()
    return _crewai_played(await asyncio.to_thread(crew.kickoff, {"said": task.user[0]}))


async def _play_crewai_on_a_loop(task: Task) -> Played:
    crew = task.once(lambda: _crew(task)).copy()
    return _crewai_played(await crew.akickoff({"said": task.user[0]}))


def _crewai_played(out: Any) -> Played:
    history = [str(message) for message in out.tasks_output[0].messages]
    return Played(out.raw, history, getattr(out.pydantic, "answer", None))


CREWAI_KIT = HostKit(
    "crewai",
    CREWAI,
    _play_crewai,
    claims="equal errors gate invalid parallel rich shared stop structured",
)


def _dspy_agent(task: Task) -> Any:
    import dspy

    from trimtab_hosts.dspy import TrimtabReAct

    if not task.guided:
        return dspy.ReActV2("task -> answer", list(task.tools), 12)
    given: Any = {"prompt": task.prompt, "session": task.session, **task.options}
    return TrimtabReAct("task -> answer", list(task.tools), 12, **given)


async def _play_dspy(task: Task) -> Played:
    return await _dspy_played(task, asyncio.to_thread)


async def _play_dspy_on_a_loop(task: Task) -> Played:
    return await _dspy_played(task, lambda agent, **given: agent.acall(**given))


async def _dspy_played(task: Task, call: Callable[..., Awaitable[Any]]) -> Played:
    import dspy

    agent = task.once(lambda: _dspy_agent(task))
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


DSPY_KIT = HostKit(
    "dspy",
    DSPY,
    _play_dspy,
    claims="equal errors gate invalid parallel resume rich shared stop",
    answers_by="submit",
)


def _haystack_agent(task: Task) -> Any:
    os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.tools.from_function import create_tool_from_function
    from haystack.utils import Secret

    from trimtab_hosts.haystack import TrimtabChatGenerator

    key, url = Secret.from_token("x"), f"{task.url}/v1"
    generator: Any = OpenAIChatGenerator(key, "m", api_base_url=url, max_retries=1)
    given: Any = {}
    if task.guided:
        generator = TrimtabChatGenerator(generator, task.prompt, task.session, **task.options)
        given["hooks"] = generator.hooks
    return Agent(
        chat_generator=generator,
        system_prompt="You are an agent.",
        tools=[create_tool_from_function(tool) for tool in task.tools],
        raise_on_tool_invocation_failure=False,
        **given,
    )


async def _play_haystack(task: Task) -> Played:
    from haystack.dataclasses import ChatMessage

    agent = task.once(lambda: _haystack_agent(task))
    given: Any = {"hook_context": {"conversation": task.conversation}}
    if task.mode == "stream":
        given["streaming_callback"] = lambda _: None
    messages: list[Any] = []
    for said in task.user:
        asked = [*messages[1:], ChatMessage.from_user(said)]
        out = await asyncio.to_thread(agent.run, messages=asked, **given)
        messages = out["messages"]
    return Played(messages[-1].text, [str(message.to_dict()) for message in messages])


HAYSTACK_KIT = HostKit(
    "haystack",
    HAYSTACK,
    _play_haystack,
    claims="equal errors gate invalid parallel resume rich shared stop stream",
)


def _llama_index_agent(task: Task) -> Any:
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
    return TrimtabFunctionAgent(
        prompt=task.prompt, session=task.session, options=task.options, **given
    )


async def _play_llama_index(task: Task) -> Played:
    from llama_index.core.workflow import Context

    agent = task.once(lambda: _llama_index_agent(task))
    ctx: Any = Context(agent)
    out: Any = None
    for said in task.user:
        handler = agent.run(user_msg=said, ctx=ctx)
        async for _ in handler.stream_events():
            pass
        out = await handler
    memory = await ctx.store.get("memory")
    return Played(str(out), [str(message.content) for message in await memory.aget_all()])


LLAMA_INDEX_KIT = HostKit(
    "llama-index",
    LLAMA_INDEX,
    _play_llama_index,
    claims="equal errors gate invalid parallel resume rich shared stop stream",
)


def _smolagents_tool(function: Callable[..., Any]) -> Any:
    """Return a tool for a function; smolagents' own decorator wants to read its source."""
    from smolagents import Tool  # type: ignore[import-untyped]

    class Made(Tool):  # type: ignore[misc]
        name, description, output_type = function.__name__, function.__doc__ or "", "any"
        inputs = {  # noqa: RUF012 - as the runtime wants it
            one: {"type": "string", "description": one} for one in signature(function).parameters
        }
        skip_forward_signature_validation = True

        def forward(self, *given: Any, **named: Any) -> Any:
            return function(*given, **named)

    return Made()


def _smolagents_agent(task: Task) -> Any:
    from smolagents import OpenAIModel, ToolCallingAgent

    from trimtab_hosts.smolagents import TrimtabAgent

    retry: Any = {"max_retries": 1}
    model = OpenAIModel("m", api_base=f"{task.url}/v1", api_key="x", client_kwargs=retry)
    tools = [_smolagents_tool(one) for one in task.tools]
    plain: Any = {
        "stream_outputs": task.mode == "stream",
        "verbosity_level": -1,
        "max_steps": task.max_turns or 12,
    }
    if not task.guided:
        return ToolCallingAgent(tools, model, **plain)
    return TrimtabAgent(
        tools, model, prompt=task.prompt, session=task.session, options=task.options, **plain
    )


async def _play_smolagents(task: Task) -> Played:
    agent = _smolagents_agent(task)
    text = ""
    for said in task.user:
        reset = said == task.user[0]
        text = str(await asyncio.to_thread(agent.run, said, reset=reset))
    return Played(text, [str(message.content) for message in agent.write_memory_to_messages()])


SMOLAGENTS_KIT = HostKit(
    "smolagents",
    SMOLAGENTS,
    _play_smolagents,
    claims="equal errors gate invalid limit parallel resume rich stop stream",
    answers_by="final_answer",
)
