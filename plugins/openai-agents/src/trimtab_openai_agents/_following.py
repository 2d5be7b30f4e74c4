"""What one run tells trimtab: hooks, a filter of the model's input, a formatter of errors."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agents import ModelBehaviorError, RunConfig, RunHooks
from agents.run_config import CallModelData, ModelInputData, ToolErrorFormatterArgs

from trimtab import Outcome, ToolCall, Usage
from trimtab.hosting import AgentStopped, Answer, Chat

_OUTCOMES = {
    "approval_rejected": Outcome.DENIED,
    "tool_not_found": Outcome.INVALID,
    "tool_exception": Outcome.ERROR,
}
_ANSWERS = ("function_call_output", "custom_tool_call_output")
_CALLS = ("function_call", "custom_tool_call")


class Following(RunHooks[Any]):
    """Follows one run of the SDK; everything that the user gave is called as before.

    Args:
        chat: the driver of the conversation.
        theirs: the user's hooks.
    """

    def __init__(self, chat: Chat, theirs: RunHooks[Any] | None) -> None:
        self.chat = chat
        self._theirs = theirs
        self._agent: Any = None
        self._outcomes: dict[str, Outcome] = {}
        for name in dir(RunHooks) if theirs is not None else ():
            if name.startswith("on_") and name not in vars(type(self)):
                setattr(self, name, getattr(theirs, name))

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """Note whose turn it is: agents that run as tools have requests of their own."""
        self._agent = agent
        if self._theirs is not None:
            await self._theirs.on_agent_start(context, agent)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Record a response."""
        calls = [
            ToolCall(item.name, _arguments(item), item.call_id)
            for item in response.output
            if getattr(item, "type", "") in _CALLS
        ]
        text = "".join(
            getattr(part, "text", "")
            for item in response.output
            if getattr(item, "type", "") == "message"
            for part in item.content
        )
        usage = Usage(response.usage.input_tokens, response.usage.output_tokens)
        await self.chat.aresponse(text, calls, usage)
        if self._theirs is not None:
            await self._theirs.on_llm_end(context, agent, response)

    def config(self, given: RunConfig) -> RunConfig:
        """Return the user's configuration with our filter and formatter around the user's.

        Args:
            given: the user's configuration.
        """
        their_filter, their_formatter = given.call_model_input_filter, given.tool_error_formatter

        async def filtered(data: CallModelData[Any]) -> ModelInputData:
            sent = data.model_data
            if their_filter is not None:
                answer = their_filter(data)
                sent = await answer if inspect.isawaitable(answer) else answer
            if self._agent is not None and data.agent is not self._agent:
                return sent
            text = await self.chat.arequest(self._answers(sent.input), _user(sent.input))
            if self.chat.stop_request is not None:
                raise AgentStopped(self.chat.stop_request)
            if not text:
                return sent
            said: Any = {"role": "user", "content": text}
            return replace(sent, input=[*sent.input, said])

        async def formatted(args: ToolErrorFormatterArgs[Any]) -> str | None:
            unfit = isinstance(args.error, ModelBehaviorError)
            known = _OUTCOMES.get(args.kind, Outcome.ERROR)
            self._outcomes[args.call_id] = Outcome.INVALID if unfit else known
            answer = None if their_formatter is None else their_formatter(args)
            return await answer if inspect.isawaitable(answer) else answer

        return replace(given, call_model_input_filter=filtered, tool_error_formatter=formatted)

    def _answers(self, items: Sequence[Any]) -> Iterator[Answer]:
        for item in items:
            if isinstance(item, dict) and item.get("type") in _ANSWERS:
                name = str(item["call_id"])
                yield Answer(name, item.get("output"), self._outcomes.get(name, Outcome.OK))


def _arguments(item: Any) -> Any:
    text = getattr(item, "arguments", None)
    if text is None:
        return {"input": getattr(item, "input", "")}
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {"arguments": text}


def _user(items: Sequence[Any]) -> list[str]:
    """Return what the user said since the last response."""
    said: list[str] = []
    for item in reversed(items):
        if not isinstance(item, dict) or item.get("role") != "user":
            break
        content = item.get("content")
        if isinstance(content, str):
            said.insert(0, content)
    return said
