"""Guidance, feedback and completion checks for agents on Pydantic AI: `Trimtab`, a capability."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Unpack

import attrs
from pydantic_ai import DeferredToolRequests, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import SkipModelRequest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
    tool_return_ta,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult

from trimtab import DecisionPoint, Delivery, Host, Outcome, Prompt, Session, ToolCall, Usage
from trimtab.hosting import AgentStopped, Answer, Chat, DriverOptions, Drivers, names_known

__all__ = ["HOST", "Trimtab"]


HOST = Host(
    "pydantic-ai",
    {
        **dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL),
        # What sends the agent back is enqueued, and stays in its history.
        DecisionPoint.PRE_RESPONSE: Delivery.PERSISTED,
    },
    parallel_calls=True,
    stops=True,
)
_OUTCOMES = {"success": Outcome.OK, "denied": Outcome.DENIED, "interrupted": Outcome.INTERRUPTED}
_INVALID = ("Unknown tool", "validation error")
_NEWEST = 3
"""The newest messages of a request hold the answers that no earlier request had."""


@names_known(more=DriverOptions)
class Trimtab(AbstractCapability[Any]):
    """Guides the agents that have it among their capabilities.

    One object serves all agents, runs and conversations: Pydantic AI's ``conversation_id`` tells
    them apart, so a run that goes on with ``message_history`` goes on being followed.

    Args:
        prompt: says which providers are asked; its text is not used.
        session: where runs are recorded, or a function from a conversation's id to its session;
            None makes a session for each conversation.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for
            `trimtab.hosting.Drivers`.

    Attributes:
        drivers: the drivers of all conversations.
        chat: in the copy that follows one run, its driver; else None.
    """

    def __init__(
        self,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        **options: Unpack[DriverOptions],
    ) -> None:
        self.drivers = Drivers(prompt, session, HOST, **options)
        self.chat: Chat | None = None

    async def for_run(self, ctx: RunContext[Any]) -> Trimtab:
        """As `AbstractCapability.for_run`: return a copy that follows one run."""
        own = copy(self)
        name = ctx.conversation_id or ctx.run_id or "run"
        host = attrs.evolve(HOST, max_turns=_requests_left(ctx))
        own.chat = await self.drivers.aof(name, host=host)
        return own

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """As `AbstractCapability.before_model_request`: add what is to be said to its end."""
        if self.chat is None:
            return request_context
        messages = request_context.messages
        text = await self.chat.arequest(_answers(messages), _user(messages))
        stop = self.chat.stop_request
        if stop is not None:
            if request_context.model_request_parameters.output_mode != "text":
                raise AgentStopped(stop)  # text would be refused, and the model asked again
            raise SkipModelRequest(ModelResponse([TextPart(stop.summary)]))
        if not text:
            return request_context
        said = ModelRequest(parts=[UserPromptPart(text)])
        return replace(request_context, messages=[*messages, said])

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """As `AbstractCapability.after_model_request`: record it; text alone may be sent back."""
        if self.chat is not None and self.chat.stop_request is None:
            calls = [
                ToolCall(call.tool_name, call.args_as_dict(), call.tool_call_id)
                for call in response.tool_calls
            ]
            text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
            usage = Usage(response.usage.input_tokens, response.usage.output_tokens)
            await self.chat.aresponse(text, calls, usage)
            if not calls and request_context.model_request_parameters.output_mode == "text":
                await self._may_stop(ctx, text)
        return response

    async def after_output_process(
        self, ctx: RunContext[Any], *, output_context: Any, output: Any
    ) -> Any:
        """As `AbstractCapability.after_output_process`: check output that ends a run."""
        if not isinstance(output, str | DeferredToolRequests):
            await self._may_stop(ctx, output)
        return output

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """As `AbstractCapability.after_run`: end the record, unless calls wait for an approval or
        for another process.
        """
        if self.chat is not None and not isinstance(result.output, DeferredToolRequests):
            self.chat.close()
        return result

    async def on_run_error(
        self, ctx: RunContext[Any], *, error: BaseException
    ) -> AgentRunResult[Any]:
        """As `AbstractCapability.on_run_error`: end the record of a run that failed."""
        if self.chat is not None:
            self.chat.close(type(error).__name__)
        raise error

    async def _may_stop(self, ctx: RunContext[Any], output: Any) -> None:
        if self.chat is None:
            return
        decision = await self.chat.amay_stop(output=output)
        if not decision and decision.text:
            ctx.enqueue(decision.text, priority="when_idle")


def _requests_left(ctx: RunContext[Any]) -> int | None:
    """Return the requests that a run may still make; None without limit, or if it is used up."""
    limits = getattr(ctx, "usage_limits", None)  # older releases do not tell them
    most = None if limits is None else limits.request_limit
    left = 0 if most is None else most - ctx.usage.requests
    return left if left > 0 else None


def _answers(messages: Sequence[ModelMessage]) -> Iterator[Answer]:
    for message in messages[-_NEWEST:]:
        for part in message.parts:
            # Older releases ask for a call again with a RetryPromptPart, newer ones with "retried".
            if isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_name is not None:
                told = part.content
                text = told if isinstance(told, str) else tool_return_ta.dump_json(told).decode()
                yield Answer(part.tool_call_id, text, _outcome(part, text))


def _outcome(part: ToolReturnPart | RetryPromptPart, text: str) -> Outcome:
    known = _OUTCOMES.get(getattr(part, "outcome", "retried"))
    if known is not None:
        return known
    # "retried" is what a tool asked for, or what the runtime answered to arguments that don't fit.
    refused = not isinstance(part.content, str) or any(words in text for words in _INVALID)
    return Outcome.INVALID if refused else Outcome.ERROR


def _user(messages: Sequence[ModelMessage]) -> list[str]:
    """Return what the user said since the last response."""
    said: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, ModelRequest):
            break
        texts = [
            part.content
            for part in message.parts
            if isinstance(part, UserPromptPart) and isinstance(part.content, str)
        ]
        said[:0] = texts
    return said
