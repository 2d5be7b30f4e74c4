"""trimtab for smolagents: a tool-calling agent whose model and tools are followed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import attrs
from smolagents import (  # type: ignore[import-untyped]
    AgentError,
    AgentToolCallError,
    ChatMessage,
    ChatMessageStreamDelta,
    FinalAnswerStep,
    MessageRole,
    Model,
    Tool,
    ToolCallingAgent,
)
from smolagents.models import (  # type: ignore[import-untyped]
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    agglomerate_stream_deltas,
)

from trimtab import Outcome, Prompt, Session, ToolCall
from trimtab.hosting import Chat, Drivers
from trimtab_hosts._hosts import SMOLAGENTS as HOST, arguments

__all__ = ["HOST", "TrimtabAgent"]

_FINAL = "final_answer"


class TrimtabAgent(ToolCallingAgent):  # type: ignore[misc]
    """A ``ToolCallingAgent`` that the providers of a prompt guide.

    An agent is a conversation: a run with ``reset=False`` goes on with it, any other begins anew.

    Args:
        tools, model, more: as for ``ToolCallingAgent``.
        prompt: names the providers. Its sections are not sent.
        session: where conversations are recorded, as for `Drivers`.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for `Drivers`.
    """

    def __init__(
        self,
        tools: list[Tool],
        model: Model,
        *,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        options: dict[str, Any] | None = None,
        final_answer_checks: list[Callable[..., Any]] | None = None,
        **more: Any,
    ) -> None:
        self.drivers = Drivers(prompt, session, HOST, **(options or {}))
        self.conversation = uuid4().hex
        checks = [*(final_answer_checks or ()), self._may_stop]
        guided: Any = _GuidedModel(model, self)
        super().__init__(tools, guided, final_answer_checks=checks, **more)
        self.step_callbacks.register(FinalAnswerStep, self._ended)

    @property
    def chat(self) -> Chat:
        """The driver of the conversation."""
        host = attrs.evolve(HOST, tools=frozenset(self.tools), max_turns=self.max_steps)
        return self.drivers.of(self.conversation, host=host)

    def run(
        self, task: str, stream: bool = False, reset: bool = True, *more: Any, **named: Any
    ) -> Any:
        """As `ToolCallingAgent.run`: let the agent do a task."""
        if reset:
            self.conversation = uuid4().hex
        self.chat.user_said(task)
        return super().run(task, stream, reset, *more, **named)

    def execute_tool_call(self, tool_name: str, arguments: Any) -> Any:
        """As `ToolCallingAgent.execute_tool_call`: run a tool, and record how the call ended."""
        chat = self.chat
        open_ = [call for call in chat.open_calls if call.tool == tool_name]
        call = next((call for call in open_ if call.params == arguments), None)
        if call is None:  # the final answer
            return super().execute_tool_call(tool_name, arguments)
        try:
            with chat.running(call, passes=(AgentError,)):
                result = super().execute_tool_call(tool_name, arguments)
        except AgentError as error:
            known = tool_name in {**self.tools, **self.managed_agents}
            ran = known and not isinstance(error, AgentToolCallError)
            # The runtime's own sentence repeats the arguments.
            why = f"{type(error.__cause__ or error).__name__}: {error.__cause__ or error}"
            chat.answered(call, why, Outcome.ERROR if ran else Outcome.INVALID)
            raise
        chat.answered(call, result)
        return result

    def _may_stop(self, answer: Any, memory: Any, agent: Any) -> bool:  # noqa: ARG002
        chat = self.chat
        decision = chat.may_stop(final=chat.stop_request is not None)
        if not decision:
            raise ValueError(decision.text)
        return True

    def _ended(self, step: Any, agent: Any) -> None:  # noqa: ARG002 - as smolagents calls it
        self.chat.close("completed")


class _GuidedModel:
    """A model whose requests of one agent are guided."""

    def __init__(self, model: Model, agent: TrimtabAgent) -> None:
        self.model = model
        self.agent = agent

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def generate(self, messages: list[ChatMessage], **how: Any) -> ChatMessage:
        asked = self._request(messages)
        if asked is None:
            function = self._ending()
            call = ChatMessageToolCall(function, "stopped", "function")
            return ChatMessage(MessageRole.ASSISTANT, tool_calls=[call])
        said = self.model.generate(asked, **how)
        self._heard(said)
        return said

    def generate_stream(self, messages: list[ChatMessage], **how: Any) -> Iterator[Any]:
        asked = self._request(messages)
        if asked is None:
            call = ChatMessageToolCallStreamDelta(0, "stopped", "function", self._ending())
            yield ChatMessageStreamDelta(tool_calls=[call])
            return
        deltas = []
        stream: Any = self.model
        for delta in stream.generate_stream(asked, **how):
            deltas.append(delta)
            yield delta
        self._heard(agglomerate_stream_deltas(deltas))

    def _ending(self) -> ChatMessageToolCallFunction:
        """Return the final answer of an agent whose nudges have no effect."""
        stopped = self.agent.chat.stop_request
        answer = stopped.summary if stopped is not None else ""
        return ChatMessageToolCallFunction({"answer": answer}, _FINAL)

    def _request(self, messages: list[ChatMessage]) -> list[ChatMessage] | None:
        """Return the messages to send; None if the agent is to end."""
        chat = self.agent.chat
        text = chat.request()
        if chat.stop_request is not None:
            return None
        if not text:
            return messages
        return [*messages, ChatMessage(MessageRole.USER, [{"type": "text", "text": text}])]

    def _heard(self, said: ChatMessage) -> None:
        calls = [
            ToolCall(c.function.name, arguments(c.function.arguments), c.id)
            for c in said.tool_calls or ()
        ]
        final = "".join(str(call.params) for call in calls if call.tool == _FINAL)
        text = said.content if isinstance(said.content, str) else ""
        self.agent.chat.response(text or final, [c for c in calls if c.tool != _FINAL])
