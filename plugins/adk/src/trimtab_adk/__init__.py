"""Guidance, feedback and completion checks on the Agent Development Kit: `TrimtabPlugin`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Unpack

import attrs
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.genai import types

from trimtab import DecisionPoint, Delivery, Host, Outcome, Prompt, Session, ToolCall, Usage
from trimtab.hosting import Answer, Chat, DriverOptions, Drivers, names_known

__all__ = ["HOST", "TrimtabPlugin"]


HOST = Host(
    "google-adk",
    {
        **dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL),
        # What sends the agent back is a message of the session.
        DecisionPoint.PRE_RESPONSE: Delivery.PERSISTED,
    },
    parallel_calls=True,
    stops=True,
)
# The kit answers these itself, without a flag; the sentences are those of version 2.
_INVALID = ("mandatory input parameters are not present", "not found")
_DENIED = ("tool call is rejected",)
_WAITING = "requires confirmation"


@names_known(more=DriverOptions)
class TrimtabPlugin(BasePlugin):
    """Guides all agents of a runner or an app.

    The session of the kit is the conversation, and an agent that another one hands over to has a
    run of its own in it.

    Args:
        prompt: says which providers are asked; its text is not used.
        session: where runs are recorded, or a function from the id of the kit's session to ours;
            None makes a session for each conversation.
        name: of the plugin.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for
            `trimtab.hosting.Drivers`.

    Attributes:
        drivers: the drivers of all conversations.
    """

    def __init__(
        self,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        *,
        name: str = "trimtab",
        **options: Unpack[DriverOptions],
    ) -> None:
        super().__init__(name)
        self.drivers = Drivers(prompt, session, HOST, **options)
        self._said: dict[str, str] = {}
        self._guarded: set[str] = set()
        self._agents: dict[str, set[str | None]] = {}
        self._invalid: set[str] = set()

    async def run_async(
        self, runner: Runner, *, user_id: str, session_id: str, new_message: Any, **options: Any
    ) -> AsyncIterator[Event]:
        """Run a runner as its own `run_async` does, until the completion checkers agree.

        Args:
            runner: which has this plugin.
            user_id, session_id, new_message, options: as for its own `run_async`.
        """
        self._guarded.add(session_id)
        try:
            while True:
                events = runner.run_async(
                    user_id=user_id, session_id=session_id, new_message=new_message, **options
                )
                async for event in events:
                    yield event
                chat = await self.drivers.aof(session_id)
                decision = await chat.amay_stop()
                if decision or not decision.text:
                    self._close(session_id)
                    return
                new_message = types.UserContent(decision.text)
        except BaseException as error:  # the kit has no hook for an agent that is cancelled
            self._close(session_id, type(error).__name__)
            raise
        finally:
            self._guarded.discard(session_id)

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> None:
        """As `BasePlugin.on_user_message_callback`: keep what the user said."""
        text = _text(user_message)
        if text:
            self._said[invocation_context.session.id] = text

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """As `BasePlugin.before_model_callback`: add what is to be said to the request."""
        name = callback_context.session.id
        chat = await self._chat(name, callback_context.agent_name, callback_context)
        text = await chat.arequest((), self._said.pop(name, None))
        if chat.stop_request is not None:
            return LlmResponse(content=types.ModelContent(chat.stop_request.summary))
        if text:
            llm_request.contents.append(types.UserContent(text))
        return None

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """As `BasePlugin.on_event_callback`: record a response, or the answers of its calls."""
        if event.partial or event.content is None:
            return None
        chat = await self._chat(invocation_context.session.id, event.author, invocation_context)
        answers = [
            Answer(str(answer.id), answer.response, self._outcome(answer))
            for answer in event.get_function_responses()
            if _WAITING not in str((answer.response or {}).get("error", ""))
        ]
        if answers:
            chat.settle(answers)
        elif event.content.role == "model" and chat.stop_request is None:
            calls = [
                ToolCall(str(call.name), call.args or {}, str(call.id))
                for call in event.get_function_calls()
            ]
            await chat.aresponse(_text(event.content), calls, _usage(event))
        return None

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: Any, tool_context: Any, error: Exception
    ) -> dict[str, Any] | None:
        """As `BasePlugin.on_tool_error_callback`: note a call of a tool that the agent lacks; the
        error goes its way.
        """
        if isinstance(error, ValueError) and "not found" in str(error):
            self._invalid.add(str(tool_context.function_call_id))
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """As `BasePlugin.after_run_callback`: end the record, unless checkers are asked first."""
        name = invocation_context.session.id
        if name not in self._guarded:
            self._close(name)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        """As `BasePlugin.on_run_error_callback`: end the record of a run that failed."""
        self._close(invocation_context.session.id, type(error).__name__)

    async def _chat(self, name: str, agent: str, context: Any) -> Chat:
        inner = getattr(context, "_invocation_context", context)
        root = inner.agent.root_agent.name
        agent_id = None if agent in (root, "user") else agent
        self._agents.setdefault(name, set()).add(agent_id)
        config = inner.run_config
        most = None if config is None or config.max_llm_calls < 1 else config.max_llm_calls
        return await self.drivers.aof(name, agent_id, host=attrs.evolve(HOST, max_turns=most))

    def _close(self, name: str, reason: str = "completed") -> None:
        """End the runs of all agents of a conversation."""
        for agent_id in self._agents.pop(name, ()):
            self.drivers.of(name, agent_id).close(reason)

    def _outcome(self, answer: types.FunctionResponse) -> Outcome:
        error = str((answer.response or {}).get("error", ""))
        name = str(answer.id)
        if name in self._invalid or any(words in error for words in _INVALID):
            self._invalid.discard(name)
            return Outcome.INVALID
        if any(words in error for words in _DENIED):
            return Outcome.DENIED
        return Outcome.ERROR if error else Outcome.OK


def _text(content: types.Content) -> str:
    return "".join(part.text or "" for part in content.parts or () if not part.thought)


def _usage(event: Event) -> Usage | None:
    used = event.usage_metadata
    if used is None:
        return None
    return Usage(used.prompt_token_count or 0, used.candidates_token_count or 0)
