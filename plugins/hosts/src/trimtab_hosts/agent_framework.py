"""trimtab for Microsoft's Agent Framework: middleware for an ``Agent``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from agent_framework import (
    AgentContext,
    AgentMiddleware,
    AgentResponse,
    AgentResponseUpdate,
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    Message,
    ResponseStream,
)

from trimtab import Outcome, Prompt, Session, ToolCall
from trimtab.hosting import AgentStopped, Answer, Chat, Drivers
from trimtab_hosts._hosts import AGENT_FRAMEWORK as HOST, arguments

__all__ = ["HOST", "trimtab_middleware"]

_NEVER_RAN = ("Error: Requested function", "Error: Argument parsing failed")


def trimtab_middleware(
    prompt: Prompt[Any], session: Session | Callable[[str], Session] | None = None, **options: Any
) -> list[AgentMiddleware | ChatMiddleware]:
    """Return middleware by which a prompt's providers guide an agent: ``Agent(middleware=…)``.

    A session of the agent is a conversation; without one, each run of the agent is.

    Args:
        prompt: names the providers. Its sections are not sent.
        session: where conversations are recorded, as for `Drivers`.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for `Drivers`.
    """
    drivers = Drivers(prompt, session, HOST, **options)
    return [_Turns(drivers), _Requests(drivers)]


class _Turns(AgentMiddleware):
    """Stands around a run of the agent, and sends it back if it may not stop."""

    def __init__(self, drivers: Drivers) -> None:
        self.drivers = drivers

    async def process(
        self, context: AgentContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        if context.session is None:
            context.session = context.agent.create_session()
        chat = await self.drivers.aof(context.session.session_id)
        chat.user_said("\n".join(message.text for message in context.messages))
        if context.stream:
            updates = self._streamed(chat, context, call_next)
            context.result = ResponseStream(updates, finalizer=AgentResponse.from_updates)
            return
        async with chat:
            await call_next()
            while not await _may_stop(chat, context):
                await call_next()

    async def _streamed(
        self, chat: Chat, context: AgentContext, call_next: Callable[[], Awaitable[None]]
    ) -> AsyncIterator[AgentResponseUpdate]:
        async with chat:
            while True:
                await call_next()
                stream: Any = context.result
                async for update in stream:
                    yield update
                if await _may_stop(chat, context):
                    return


async def _may_stop(chat: Chat, context: AgentContext) -> bool:
    decision = await chat.amay_stop()
    if not decision:  # the session has what was said so far
        context.messages = [Message("user", [decision.text])] if decision.text else []
    return bool(decision)


class _Requests(ChatMiddleware):
    """Stands around a request to the model."""

    def __init__(self, drivers: Drivers) -> None:
        self.drivers = drivers

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        if context.session is None:  # a request of nobody's agent
            return await call_next()
        chat = await self.drivers.aof(context.session.session_id)

        async def heard(response: ChatResponse) -> None:
            calls = [c for m in response.messages for c in m.contents if c.type == "function_call"]
            asked = [ToolCall(c.name or "", arguments(c.arguments), c.call_id or "") for c in calls]
            await chat.aresponse(response.text, asked)

        text = await chat.arequest(_answers(context.messages))
        if chat.stop_request is not None:
            raise AgentStopped(chat.stop_request)
        if text:
            context.messages = [*context.messages, Message("user", [text])]
        context.stream_result_hooks.append(heard)
        await call_next()
        if isinstance(context.result, ChatResponse):
            await heard(context.result)
        return None


def _answers(messages: Sequence[Message]) -> list[Answer]:
    results = (c for m in messages for c in m.contents if c.type == "function_result")
    return [Answer(c.call_id or "", c.result, _outcome(c)) for c in results]


def _outcome(content: Any) -> Outcome:
    if not content.exception:
        return Outcome.OK
    return Outcome.INVALID if str(content.result).startswith(_NEVER_RAN) else Outcome.ERROR
