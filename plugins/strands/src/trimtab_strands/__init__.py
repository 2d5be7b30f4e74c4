"""Guidance, feedback and completion checks for agents on Strands: `TrimtabPlugin`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Unpack

from strands.hooks import AfterInvocationEvent, AfterToolCallEvent
from strands.middleware import InvokeModelContext, InvokeModelStage, ModelStopReason
from strands.plugins import Plugin

from trimtab import DecisionPoint, Delivery, Host, Outcome, Prompt, Session, ToolCall, Usage
from trimtab.hosting import Answer, Chat, DriverOptions, Drivers, names_known

__all__ = ["HOST", "TrimtabPlugin"]


HOST = Host(
    "strands",
    {
        **dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL),
        # What sends the agent back is a message that it keeps.
        DecisionPoint.PRE_RESPONSE: Delivery.PERSISTED,
    },
    parallel_calls=True,
    stops=True,
)
_INVALID = ("Unknown tool", "Validation failed", "validation error")
"""How the runtime begins an answer to a call that fits no tool."""
_MAIN = "default"


@names_known(more=DriverOptions)
class TrimtabPlugin(Plugin):
    """Guides the agents that have it among their plugins.

    An agent's session is the conversation; an agent with an ``agent_id`` of its own has a run of
    its own in it.

    Args:
        prompt: says which providers are asked; its text is not used.
        session: where runs are recorded, or a function from a session's id of Strands to ours;
            None makes a session for each conversation.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for
            `trimtab.hosting.Drivers`.

    Attributes:
        drivers: the drivers of all conversations.
    """

    name = "trimtab"

    def __init__(
        self,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        **options: Unpack[DriverOptions],
    ) -> None:
        super().__init__()
        self.drivers = Drivers(prompt, session, HOST, **options)
        self._denied: set[str] = set()

    def init_agent(self, agent: Any) -> None:
        """As `Plugin.init_agent`: follow an agent that has this plugin."""
        agent.add_middleware(InvokeModelStage, self._model)
        agent.add_hook(self._tool_ended, AfterToolCallEvent)
        agent.add_hook(self._invocation_ended, AfterInvocationEvent)

    async def _model(
        self, context: InvokeModelContext, next_fn: Callable[[Any], AsyncIterator[Any]]
    ) -> AsyncIterator[Any]:
        chat = await self._chat(context.agent)
        last = context.messages[-1]["content"] if context.messages else []
        text = await chat.arequest(self._answers(last), _user(last))
        if chat.stop_request is not None:
            yield _ending(chat.stop_request.summary)
            return
        if text:
            said: Any = {"role": "user", "content": [{"text": text}]}
            context = context.replace(messages=[*context.messages, said])
        async for event in next_fn(context):
            if isinstance(event, ModelStopReason):
                blocks = event.message["content"]
                calls = [
                    ToolCall(use["name"], use["input"], use["toolUseId"])
                    for block in blocks
                    if (use := block.get("toolUse")) is not None
                ]
                await chat.aresponse(_text(blocks), calls, _usage(event))
            yield event

    def _tool_ended(self, event: AfterToolCallEvent) -> None:
        if event.cancel_message:
            self._denied.add(str(event.tool_use["toolUseId"]))

    async def _invocation_ended(self, event: AfterInvocationEvent) -> None:
        chat = await self._chat(event.agent)
        result = event.result
        if result is None:
            chat.close("failed")
        elif result.stop_reason == "interrupt":
            return  # a call waits for the user's decision
        elif result.stop_reason == "end_turn" or result.structured_output is not None:
            decision = await chat.amay_stop(output=result.structured_output)
            if decision or not decision.text:
                chat.close()
            else:
                event.resume = decision.text
        else:
            chat.close(result.stop_reason)

    async def _chat(self, agent: Any) -> Chat:
        name = getattr(agent, "agent_id", _MAIN)
        return await self.drivers.aof(agent.session_id, None if name == _MAIN else name)

    def _answers(self, blocks: Sequence[Mapping[str, Any]]) -> Iterator[Answer]:
        for block in blocks:
            result = block.get("toolResult")
            if result is not None:
                text = _text(result["content"])
                content = text or list(result["content"])
                yield Answer(result["toolUseId"], content, self._outcome(result, text))

    def _outcome(self, result: Mapping[str, Any], text: str) -> Outcome:
        if result["toolUseId"] in self._denied:
            self._denied.discard(result["toolUseId"])
            return Outcome.DENIED
        if result["status"] != "error":
            return Outcome.OK
        unfit = any(words in text for words in _INVALID)
        return Outcome.INVALID if unfit else Outcome.ERROR


def _ending(text: str) -> ModelStopReason:
    """Return the response that ends an agent whose nudges had no effect."""
    message: Any = {"role": "assistant", "content": [{"text": text}]}
    used: Any = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
    return ModelStopReason("end_turn", message, used, {"latencyMs": 0})


def _text(blocks: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(block["text"] for block in blocks if "text" in block)


def _user(blocks: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what the user said, if the message is not one of answers."""
    if any("toolResult" in block for block in blocks):
        return None
    return _text(blocks) or None


def _usage(event: ModelStopReason) -> Usage | None:
    stop = event.get("stop")
    used = stop[2] if isinstance(stop, tuple) and len(stop) > 2 else None
    if not isinstance(used, dict):
        return None
    return Usage(used.get("inputTokens", 0), used.get("outputTokens", 0))
