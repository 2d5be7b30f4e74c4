"""trimtab for CrewAI: an LLM that guides the agents that are given it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from crewai import BaseLLM

from trimtab import Outcome, Prompt, Session, ToolCall
from trimtab.events import Evidence
from trimtab.hosting import Answer, Chat, Drivers
from trimtab_hosts._hosts import CREWAI as HOST, arguments, failed_outcome

__all__ = ["HOST", "guided_llm"]

_FAILED = ("Error executing tool", "Error: Failed to parse", "Error: Invalid", "Tool not found")


def guided_llm(
    llm: BaseLLM,
    prompt: Prompt[Any],
    session: Session | Callable[[str], Session] | None = None,
    **options: Any,
) -> BaseLLM:
    """Return a copy of an LLM whose requests the providers of a prompt guide: ``Agent(llm=…)``.

    Each time that an agent does a task is a conversation. Requests without tools, such as
    conversions and summaries, are not guided.

    Args:
        llm: such as ``LLM("openai/gpt-5")``; it has to support function calling.
        prompt: names the providers. Its sections are not sent.
        session: where conversations are recorded, as for `Drivers`.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for `Drivers`.
    """
    guided = llm.model_copy()
    works = _Works(Drivers(prompt, session, HOST, **options))
    inner, ainner = guided.call, guided.acall

    def call(messages: Any, tools: Any = None, *more: Any, **how: Any) -> Any:
        if not tools or isinstance(messages, str):
            return inner(messages, tools, *more, **how)
        with works.step(messages, tools, how) as step:
            while (asked := step.request()) is not None:
                step.heard(inner(asked, tools, *more, **how))
            return step.said

    async def acall(messages: Any, tools: Any = None, *more: Any, **how: Any) -> Any:
        if not tools or isinstance(messages, str):
            return await ainner(messages, tools, *more, **how)
        with works.step(messages, tools, how) as step:
            while (asked := await asyncio.to_thread(step.request)) is not None:
                said = await ainner(asked, tools, *more, **how)
                await asyncio.to_thread(step.heard, said)
            return step.said

    # Attributes of this object alone: CrewAI asks an LLM for much more than calls.
    object.__setattr__(guided, "call", call)
    object.__setattr__(guided, "acall", acall)
    return guided


class _Works:
    """The conversations of the agents that have one LLM."""

    def __init__(self, drivers: Drivers) -> None:
        self.drivers = drivers
        self.names: dict[Any, str] = {}

    @contextmanager
    def step(self, messages: list[Any], tools: list[Any], how: dict[str, Any]) -> Iterator[_Step]:
        """Yield what follows one request of an agent's work on a task."""
        task, agent = how.get("from_task"), how.get("from_agent")
        key = (getattr(task, "id", None), getattr(agent, "id", None))
        begins = not any(message["role"] == "assistant" for message in messages)
        if begins or key not in self.names:
            self.names[key] = uuid4().hex
        chat = self.drivers.of(self.names[key])
        if begins:
            said = messages[-1]["content"] if task is None else task.description
            chat.user_said(str(said))
        try:
            yield _Step(chat, messages, tools)
        except BaseException as error:
            chat.__exit__(type(error), error, None)
            raise
        finally:
            if chat.run.state.closed:
                self.names.pop(key, None)


class _Step:
    """What is one request to CrewAI: several, if the agent may not stop.

    Attributes:
        said: what CrewAI is given.
    """

    def __init__(self, chat: Chat, messages: list[Any], tools: list[dict[str, Any]]) -> None:
        self.chat = chat
        self.messages = [*messages]
        functions = [tool.get("function", tool) for tool in tools]
        self.schemas = {one["name"]: one.get("parameters", {}) for one in functions}
        self.said: Any = None

    def request(self) -> list[Any] | None:
        """Return the messages to send; None if there is nothing more to ask."""
        if self.said is not None:
            return None
        asked = {
            call["id"]: call["function"]
            for message in self.messages
            for call in message.get("tool_calls") or ()
        }
        text = self.chat.request(
            Answer(
                message["tool_call_id"],
                message["content"],
                self._outcome(asked.get(message["tool_call_id"]), str(message["content"])),
                Evidence.DERIVED,
            )
            for message in self.messages
            if message["role"] == "tool"
        )
        if self.chat.stop_request is not None:
            self.said = self.chat.stop_request.summary
            self.chat.close("completed")
            return None
        return [*self.messages, {"role": "user", "content": text}] if text else self.messages

    def heard(self, said: Any) -> None:
        """Take a response; what is no end is what the model reads next."""
        asked = said if isinstance(said, list) else []
        text = "" if asked else str(said)
        self.chat.response(
            text,
            [
                ToolCall(one.function.name, arguments(one.function.arguments), one.id)
                for one in asked
            ],
        )
        decision = None if asked else self.chat.may_stop()
        if decision is None or decision:
            self.said = said
            if decision:
                self.chat.close("completed")
            return
        self.messages.append({"role": "assistant", "content": text})
        if decision.text:
            self.messages.append({"role": "user", "content": decision.text})

    def _outcome(self, function: Any, text: str) -> Outcome:
        if not text.startswith(_FAILED):
            return Outcome.OK
        if function is None:
            return Outcome.ERROR
        return failed_outcome(self.schemas.get(function["name"]), arguments(function["arguments"]))
