"""trimtab for LlamaIndex: a function agent whose steps are guided."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ToolCallResult
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from llama_index.core.workflow import Context
from pydantic import PrivateAttr

from trimtab import Outcome, Prompt, Session, ToolCall
from trimtab.hosting import Answer, Chat, Drivers
from trimtab_hosts._hosts import LLAMA_INDEX as HOST, failed_outcome

__all__ = ["HOST", "TrimtabFunctionAgent"]

_KEY = "trimtab_conversation"


class TrimtabFunctionAgent(FunctionAgent):
    """A ``FunctionAgent`` that the providers of a prompt guide.

    A ``Context`` is a conversation; a run without one is a conversation of its own.

    Args:
        prompt: names the providers. Its sections are not sent.
        session: where conversations are recorded, as for `Drivers`.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for `Drivers`.
        more: as for ``FunctionAgent``.
    """

    _drivers: Drivers = PrivateAttr()

    def __init__(
        self,
        *,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        options: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self._drivers = Drivers(prompt, session, HOST, **(options or {}))

    async def take_step(
        self,
        ctx: Any,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
    ) -> AgentOutput:
        """As `FunctionAgent.take_step`: ask the model; again, if it ends and may not."""
        chat = await self._chat(ctx)
        if not await self._scratchpad(ctx) and llm_input and llm_input[-1].role == "user":
            chat.user_said(llm_input[-1].content or "")
        try:
            while True:
                text = await chat.arequest()
                if chat.stop_request is not None:
                    said = ChatMessage(role="assistant", content=chat.stop_request.summary)
                    await self._add(ctx, said)
                    return AgentOutput(response=said, current_agent_name=self.name)
                out = await self._asked(text, ctx, llm_input, tools, memory)
                calls = [ToolCall(c.tool_name, c.tool_kwargs, c.tool_id) for c in out.tool_calls]
                await chat.aresponse(out.response.content or "", calls)
                decision = None if calls else await chat.amay_stop()
                if decision is None or decision:
                    return out
                await self._add(ctx, ChatMessage(role="user", content=decision.text))
        except BaseException as error:
            chat.__exit__(type(error), error, None)
            raise

    async def handle_tool_call_results(
        self, ctx: Context, results: list[ToolCallResult], memory: BaseMemory
    ) -> None:
        """As `FunctionAgent.handle_tool_call_results`: take what the calls of a response gave."""
        chat = await self._chat(ctx)
        tools = {tool.metadata.get_name(): tool.metadata for tool in await self.get_tools()}
        answers = [Answer(one.tool_id, *_end(one, tools)) for one in results]
        await asyncio.to_thread(chat.settle, answers)
        await super().handle_tool_call_results(ctx, results, memory)

    async def finalize(self, ctx: Context, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """As `FunctionAgent.finalize`: end a turn."""
        (await self._chat(ctx)).close("completed")
        return await super().finalize(ctx, output, memory)

    async def _asked(self, text: str, ctx: Any, *step: Any) -> AgentOutput:
        """Take the plain step with a text at the end of its request, which is the scratchpad's."""
        extra = ChatMessage(role="user", content=text)
        if text:
            await self._add(ctx, extra)
        try:
            return await super().take_step(ctx, *step)
        finally:
            if text:
                pad = await self._scratchpad(ctx)
                await ctx.store.set(self.scratchpad_key, [one for one in pad if one != extra])

    async def _scratchpad(self, ctx: Any) -> list[ChatMessage]:
        pad: list[ChatMessage] = await ctx.store.get(self.scratchpad_key, default=[])
        return pad

    async def _add(self, ctx: Any, message: ChatMessage) -> None:
        pad = await self._scratchpad(ctx)
        await ctx.store.set(self.scratchpad_key, [*pad, message])

    async def _chat(self, ctx: Any) -> Chat:
        conversation = await ctx.store.get(_KEY, default=None)
        if conversation is None:
            conversation = uuid4().hex
            await ctx.store.set(_KEY, conversation)
        return await self._drivers.aof(conversation)


def _end(result: ToolCallResult, tools: dict[str, Any]) -> tuple[Any, Outcome]:
    """Return what a call gave and how it ended."""
    output = result.tool_output
    if not output.is_error:
        return output.content, Outcome.OK
    known = tools.get(result.tool_name)
    schema = None if known is None else known.get_parameters_dict()
    return output.content, failed_outcome(schema, result.tool_kwargs)
