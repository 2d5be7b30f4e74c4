"""trimtab for Haystack: a chat generator that is wrapped, and hooks of the ``Agent``."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from haystack import component
from haystack.components.agents import State
from haystack.dataclasses import ChatMessage
from haystack.hooks import hook
from haystack.tools import flatten_tools_or_toolsets

from trimtab import Outcome, Prompt, Session, ToolCall
from trimtab.hosting import AgentStopped, Answer, Chat, Drivers
from trimtab_hosts._hosts import HAYSTACK as HOST, failed_outcome

__all__ = ["HOST", "TrimtabChatGenerator"]

_CONVERSATION: ContextVar[str] = ContextVar("trimtab_conversation", default="")


@component
class TrimtabChatGenerator:
    """A chat generator whose requests the providers of a prompt guide.

    Give it to one agent, and `hooks` too: ``Agent(chat_generator=guided, hooks=guided.hooks)``.
    A run of the agent is a conversation, unless its ``hook_context`` names one:
    ``agent.run(messages, hook_context={"conversation": "ada"})``.

    Args:
        chat_generator: what asks the model.
        prompt: names the providers. Its sections are not sent.
        session: where conversations are recorded, as for `Drivers`.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for `Drivers`.

    Attributes:
        hooks: for the agent: what the user said, and whether the agent may stop.
    """

    def __init__(
        self,
        chat_generator: Any,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        **options: Any,
    ) -> None:
        self.chat_generator = chat_generator
        self.drivers = Drivers(prompt, session, HOST, **options)

        @hook
        def begin(state: State) -> None:
            context = state.data.get("hook_context") or {}
            _CONVERSATION.set(context.get("conversation") or uuid4().hex)
            self._chat().user_said(_newly_said(state.data["messages"]))

        @hook
        def gate(state: State) -> None:
            decision = self._chat().may_stop()
            if not decision:
                said = [ChatMessage.from_user(decision.text)] if decision.text else []
                state.set("messages", said)
                state.set("continue_run", True)

        @hook
        def end(state: State) -> None:  # noqa: ARG001 - as Haystack calls it
            self._chat().close("completed")

        self.hooks: dict[Any, list[Any]] = {
            "before_run": [begin],
            "on_exit": [gate],
            "after_run": [end],
        }

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **how: Any) -> dict[str, Any]:
        """As `run` of the generator that is wrapped: ask the model."""
        if not _CONVERSATION.get():
            return dict(self.chat_generator.run(messages, tools=tools, **how))
        sent = self._request(messages, tools)
        return self._heard(self.chat_generator.run(sent, tools=tools, **how))

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], tools: Any = None, **how: Any
    ) -> dict[str, Any]:
        """As `run`, on an event loop."""
        if not _CONVERSATION.get():
            return dict(await self.chat_generator.run_async(messages, tools=tools, **how))
        sent = self._request(messages, tools)
        return self._heard(await self.chat_generator.run_async(sent, tools=tools, **how))

    def _chat(self) -> Chat:
        return self.drivers.of(_CONVERSATION.get())

    def _request(self, messages: list[ChatMessage], tools: Any) -> list[ChatMessage]:
        chat = self._chat()
        schemas = {tool.name: tool.parameters for tool in flatten_tools_or_toolsets(tools)}
        results = [result for message in messages for result in message.tool_call_results]
        text = chat.request(
            Answer(result.origin.id or "", result.result, _outcome(result, schemas))
            for result in results
        )
        if chat.stop_request is not None:
            raise AgentStopped(chat.stop_request)
        return [*messages, ChatMessage.from_user(text)] if text else messages

    def _heard(self, out: dict[str, Any]) -> dict[str, Any]:
        said = out["replies"][0]
        calls = [ToolCall(c.tool_name, c.arguments, c.id or "") for c in said.tool_calls]
        self._chat().response(said.text or "", calls)
        return out


def _newly_said(messages: list[ChatMessage]) -> str:
    said: list[str] = []
    for message in reversed(messages):
        if not message.is_from("user"):
            break
        said.insert(0, message.text or "")
    return "\n".join(said)


def _outcome(result: Any, schemas: dict[str, dict[str, Any]]) -> Outcome:
    if not result.error:
        return Outcome.OK
    return failed_outcome(schemas.get(result.origin.tool_name), result.origin.arguments)
