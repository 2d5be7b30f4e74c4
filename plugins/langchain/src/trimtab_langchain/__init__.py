"""trimtab for LangChain: a middleware for `create_agent` and deepagents."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired, Unpack
from uuid import uuid4
from weakref import WeakKeyDictionary

import attrs
from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain.agents.middleware.types import ModelRequest, ModelResponse, OmitFromSchema
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from trimtab import DecisionPoint, Delivery, Host, Outcome, Prompt, Session, ToolCall as Call
from trimtab.hosting import Chat, DriverOptions, Drivers, contained, names_known
from trimtab_langchain._messages import (
    answers,
    broken_calls,
    calls_of,
    described_tools,
    newly_said,
    reasoning_of,
    summary_of,
    usage_of,
)

__all__ = ["HOST", "TrimtabMiddleware"]


HOST = Host(
    name="langchain",
    delivery=dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL),
    parallel_calls=True,
    feedback=Delivery.EPHEMERAL,
    # Interrupts that ask the user, and commands to another graph: the call has no end yet.
    control_flow=(GraphBubbleUp,),
    stops=True,
)
"""An agent of LangChain, described: text stands at the end of one request."""

WAITING = 10_000
"""Most conversations whose user has spoken and whose model was not asked: their agents failed."""


STEPS_OF_TURN = 3
"""Steps of the graph in a turn, without other middleware: the model, this middleware, the tools."""

UNLIMITED = 9_999
"""The recursion limit of an agent that was given none."""


class TrimtabState(AgentState[Any]):
    """The state of an agent, with the name of a conversation that no thread names."""

    trimtab_conversation: NotRequired[Annotated[str, OmitFromSchema(input=False, output=True)]]


@attrs.define(eq=False)
class _Seen:
    """What is remembered of one conversation beside its run."""

    final: Any = None
    summary: str | None = None


@names_known(more=DriverOptions)
class TrimtabMiddleware(AgentMiddleware[TrimtabState, Any, Any]):
    """Lets the providers of a prompt guide an agent; give it to ``create_agent``.

    One object serves all conversations of an agent, plain and on event loops, and all agents that
    are given it: each subagent has a run of its own. Conversations are told apart by the
    thread of the checkpointer; without one, each invocation is a conversation.

    Guidance and feedback stand in a message of the user at the end of one request and in
    no later one. Feedback of completion checkers stays in the conversation. What goes wrong in
    trimtab is logged (logger ``trimtab.hosting``), and the agent goes on without it.

    Args:
        prompt: names the providers. Its sections are not sent: the agent has its own prompt.
        session: where all conversations are recorded; or a function from the name of a
            conversation to its session. None makes one for each conversation.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for
            `trimtab.hosting.Drivers`.

    Attributes:
        drivers: finds the run of a conversation: ``middleware.drivers.of(thread_id).run``.
    """

    state_schema = TrimtabState

    def __init__(
        self,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        **options: Unpack[DriverOptions],
    ) -> None:
        super().__init__()
        self.strict = options.get("strict", False)
        self.drivers = Drivers(prompt, session, HOST, **options)
        self._seen: WeakKeyDictionary[Chat, _Seen] = WeakKeyDictionary()
        self._said: OrderedDict[tuple[str, str | None], list[str]] = OrderedDict()

    # The hooks of LangChain. Only what is contained here may fail.

    def before_agent(self, state: TrimtabState, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """As `AgentMiddleware.before_agent`: note what the user newly said, name a conversation."""
        return self._begin(state)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """As `AgentMiddleware.wrap_model_call`: add guidance, record request and response."""
        text = self._ask(request)
        ending = self._ending(request)
        if ending:
            return ModelResponse([AIMessage(ending)])
        response = handler(_with(request, text))
        self._heard(request, response)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """As `wrap_model_call`, off the event loop."""
        text = await self._aask(request)
        ending = self._ending(request)
        if ending:
            return ModelResponse([AIMessage(ending)])
        response = await handler(_with(request, text))
        await self._aheard(request, response)
        return response

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """As `AgentMiddleware.wrap_tool_call`: record when a tool runs, and what it raises."""
        chat = self._chat(request.state)
        if chat is None:
            return handler(request)
        if request.tool is None:
            answer = handler(request)
            self._unknown(chat, request, answer)
            return answer
        with chat.running(_call(request)):
            return handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """As `wrap_tool_call`."""
        chat = self._chat(request.state)
        if chat is None:
            return await handler(request)
        if request.tool is None:
            answer = await handler(request)
            self._unknown(chat, request, answer)
            return answer
        async with chat.running(_call(request)):
            return await handler(request)

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: TrimtabState, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """As `AgentMiddleware.after_model`: send the agent back if it may not stop yet."""
        return self._may_stop(state)

    def after_agent(self, state: TrimtabState, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """As `AgentMiddleware.after_agent`: close the run, which is opened again if need be."""
        self._end(state)
        return None

    # What they do.

    @contained(None)
    def _begin(self, state: TrimtabState) -> dict[str, Any] | None:
        named = {} if _names(state)[0] else {"trimtab_conversation": uuid4().hex}
        self._said[_names({**state, **named})] = newly_said(state["messages"])
        while len(self._said) > WAITING:
            self._said.popitem(last=False)
        return named or None

    @contained(None)
    def _chat(self, state: Any) -> Chat | None:
        """Return the driver of the conversation that runs here."""
        conversation, agent_id = _names(state)
        return self.drivers.of(conversation, agent_id) if conversation else None

    def _prepared(self, request: ModelRequest[Any]) -> tuple[Chat, list[Any], list[str]]:
        """Return the driver, the answers and the user's messages of a request."""
        names = _names(request.state)
        tools = described_tools(request.tools)
        host = attrs.evolve(
            HOST, tools=frozenset(tools), tool_descriptions=tools, max_turns=_most_turns()
        )
        chat = self.drivers.of(names[0] or uuid4().hex, names[1], host=host)
        messages = request.messages
        seen = self._seen.setdefault(chat, _Seen())
        summary = summary_of(messages)
        if summary is not None and seen.summary != summary.text:
            seen.summary = str(summary.text)
            chat.run.compacted(seen.summary)
        return chat, answers(messages, chat.run.state.running), self._said.pop(names, [])

    @contained("")
    def _ask(self, request: ModelRequest[Any]) -> str:
        chat, answered, said = self._prepared(request)
        return chat.request(answered, said)

    @contained("")
    async def _aask(self, request: ModelRequest[Any]) -> str:
        chat, answered, said = self._prepared(request)
        return await chat.arequest(answered, said)

    @contained("")
    def _ending(self, request: ModelRequest[Any]) -> str:
        """Return the text that ends the agent in place of a response, if nudges had no effect."""
        chat = self._chat(request.state)
        return chat.stop_request.summary if chat is not None and chat.stop_request else ""

    @contained(None)
    def _heard(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> None:
        chat, said = self._answered(request, response)
        chat.response(said.text, calls_of(said), usage_of(said), reasoning=reasoning_of(said))
        self._settle(chat, said, response)

    @contained(None)
    async def _aheard(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> None:
        chat, said = self._answered(request, response)
        await chat.aresponse(
            said.text, calls_of(said), usage_of(said), reasoning=reasoning_of(said)
        )
        self._settle(chat, said, response)

    def _answered(
        self, request: ModelRequest[Any], response: ModelResponse[Any]
    ) -> tuple[Chat, AIMessage]:
        chat = self._chat(request.state)
        assert chat is not None
        said = next(m for m in response.result if isinstance(m, AIMessage))
        return chat, said

    def _settle(self, chat: Chat, said: AIMessage, response: ModelResponse[Any]) -> None:
        """Record the calls that have their answer with the response itself."""
        for call in broken_calls(said):
            chat.answered(call, "the arguments are no JSON", Outcome.INVALID)
        structured = [m.tool_call_id for m in response.result if isinstance(m, ToolMessage)]
        chat.settle(answers(response.result, structured))
        self._seen.setdefault(chat, _Seen()).final = response.structured_response

    @contained(None)
    def _may_stop(self, state: TrimtabState) -> dict[str, Any] | None:
        chat = self._chat(state)
        last = state["messages"][-1]
        if chat is None:
            return None
        seen = self._seen.setdefault(chat, _Seen())
        final, seen.final = seen.final, None
        if final is None and (not isinstance(last, AIMessage) or last.tool_calls):
            return None
        decision = chat.may_stop(output=final)
        if decision:
            return None
        said = [HumanMessage(decision.text)] if decision.text else []
        return {"messages": said, "jump_to": "model"}

    @contained(None)
    def _end(self, state: TrimtabState) -> None:
        chat = self._chat(state)
        if chat is not None:
            chat.settle(answers(state["messages"], chat.run.state.running))
            chat.close()

    @contained(None)
    def _unknown(self, chat: Chat, request: ToolCallRequest, answer: object) -> None:
        """Record a call of a tool that the agent does not have."""
        text = str(answer.text) if isinstance(answer, ToolMessage) else "unknown tool"
        chat.answered(_call(request), text, Outcome.INVALID)


def _with(request: ModelRequest[Any], text: str) -> ModelRequest[Any]:
    """Return the request with guidance: as the user's message, which every service reads there."""
    if not text:
        return request
    messages: list[AnyMessage] = [*request.messages, HumanMessage(text)]
    return request.override(messages=messages)


def _call(request: ToolCallRequest) -> Call:
    call = request.tool_call
    return Call(call["name"], call["args"], call["id"] or "")


def _most_turns() -> int | None:
    """Return the turns that the recursion limit allows at most; None if nobody has set one."""
    limit = get_config().get("recursion_limit") or 0
    if not STEPS_OF_TURN < limit < UNLIMITED:
        return None
    # One step before the first turn, and one for the input.
    return (limit - 2) // STEPS_OF_TURN


def _names(state: Any) -> tuple[str, str | None]:
    """Return the names of the conversation and of the subagent that run here; "" if unknown."""
    configurable = get_config().get("configurable") or {}
    # Each step of a graph has a namespace of its own, below that of the graph: a graph which runs
    # within a tool of another agent is a subagent.
    outer, _, _ = (configurable.get("checkpoint_ns") or "").rpartition("|")
    conversation = configurable.get("thread_id") or state.get("trimtab_conversation") or ""
    return str(conversation), outer or None
