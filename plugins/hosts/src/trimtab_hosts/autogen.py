"""trimtab for AutoGen AgentChat: an assistant agent whose model client is guided."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Any
from uuid import uuid4

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    StructuredMessage,
    TextMessage,
    ToolCallExecutionEvent,
)
from autogen_core import CancellationToken
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    LLMMessage,
    RequestUsage,
    UserMessage,
)

from trimtab import Outcome, Prompt, Session, ToolCall
from trimtab.hosting import Answer, Chat, Drivers
from trimtab_hosts._hosts import AUTOGEN as HOST, arguments, failed_outcome

__all__ = ["HOST", "TrimtabAssistantAgent"]


class TrimtabAssistantAgent(AssistantAgent):
    """An ``AssistantAgent`` that the providers of a prompt guide.

    An agent is a conversation, until ``on_reset``.

    Args:
        name, model_client, more: as for ``AssistantAgent``.
        prompt: names the providers. Its sections are not sent.
        session: where conversations are recorded, as for `Drivers`.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for `Drivers`.
    """

    def __init__(
        self,
        name: str,
        model_client: ChatCompletionClient,
        *,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        options: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.drivers = Drivers(prompt, session, HOST, **(options or {}))
        self.conversation = uuid4().hex
        self._guided = _GuidedClient(model_client, self)
        guided: Any = self._guided
        super().__init__(name, guided, **more)

    async def chat(self) -> Chat:
        """Return the driver of the conversation."""
        return await self.drivers.aof(self.conversation)

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """As `AssistantAgent.on_messages_stream`; an answer with which the agent may not stop is
        followed by another.
        """
        chat = await self.chat()
        for message in messages:
            if message.source == "user":
                chat.user_said(message.to_model_text())
        async with chat:
            while True:
                response: Any = None
                async for event in super().on_messages_stream(messages, cancellation_token):
                    if isinstance(event, ToolCallExecutionEvent):
                        await asyncio.to_thread(chat.settle, self._guided.answers(event.content))
                    if isinstance(event, Response):
                        response = event
                    else:
                        yield event
                text = await _sent_back(chat, response)
                if text is None:
                    break
                yield response.chat_message
                messages = [TextMessage(content=text, source="trimtab")] if text else []
        yield response

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """As `AssistantAgent.on_reset`: forget the conversation."""
        self.conversation = uuid4().hex
        await super().on_reset(cancellation_token)


async def _sent_back(chat: Chat, response: Response) -> str | None:
    """Return what the model reads if the agent may not stop; None if it may, or hands over."""
    if not isinstance(response.chat_message, TextMessage | StructuredMessage):
        return None
    decision = await chat.amay_stop(final=chat.stop_request is not None)
    return None if decision else decision.text


class _GuidedClient:
    """A model client whose requests of one agent are guided."""

    def __init__(self, client: ChatCompletionClient, agent: TrimtabAssistantAgent) -> None:
        self.client = client
        self.agent = agent
        self.asked: dict[str, ToolCall] = {}
        self.schemas: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def answers(self, results: Iterable[FunctionExecutionResult]) -> list[Answer]:
        return [Answer(one.call_id, one.content, self._outcome(one)) for one in results]

    def _outcome(self, result: FunctionExecutionResult) -> Outcome:
        if not result.is_error:
            return Outcome.OK
        call = self.asked.get(result.call_id)
        return failed_outcome(self.schemas.get(result.name), call.params if call else {})

    async def create(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Any] = (), **how: Any
    ) -> CreateResult:
        asked = await self._request(messages, tools)
        if isinstance(asked, CreateResult):
            return asked
        return await self._heard(await self.client.create(asked, tools=tools, **how))

    async def create_stream(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Any] = (), **how: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        asked = await self._request(messages, tools)
        if isinstance(asked, CreateResult):
            yield asked
            return
        async for chunk in self.client.create_stream(asked, tools=tools, **how):
            yield chunk if isinstance(chunk, str) else await self._heard(chunk)

    async def _request(
        self, messages: Sequence[LLMMessage], tools: Sequence[Any]
    ) -> Sequence[LLMMessage] | CreateResult:
        """Return the messages to send; the answer if the agent is to end."""
        schemas = [tool if isinstance(tool, dict) else tool.schema for tool in tools]
        self.schemas = {one["name"]: one.get("parameters", {}) for one in schemas}
        chat = await self.agent.chat()
        text = await chat.arequest()
        if chat.stop_request is not None:
            none = RequestUsage(prompt_tokens=0, completion_tokens=0)
            summary = chat.stop_request.summary
            return CreateResult(finish_reason="stop", content=summary, usage=none, cached=False)
        return [*messages, UserMessage(content=text, source="trimtab")] if text else messages

    async def _heard(self, said: CreateResult) -> CreateResult:
        asked = [] if isinstance(said.content, str) else said.content
        calls = [ToolCall(one.name, arguments(one.arguments), one.id) for one in asked]
        self.asked = {call.call_id: call for call in calls}
        chat = await self.agent.chat()
        await chat.aresponse(said.content if isinstance(said.content, str) else "", calls)
        return said
