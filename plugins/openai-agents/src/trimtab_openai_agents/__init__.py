"""Guidance, feedback and completion checks on the OpenAI Agents SDK: `TrimtabRunner`."""

from __future__ import annotations

import asyncio
import inspect
import json
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack
from uuid import uuid4

import attrs
from agents import (
    ModelBehaviorError,
    RunConfig,
    RunHooks,
    Runner,
    RunResult,
    RunResultStreaming,
    RunState,
)
from agents.run import DEFAULT_MAX_TURNS
from agents.run_config import CallModelData, ModelInputData, ToolErrorFormatterArgs

from trimtab import DecisionPoint, Delivery, Host, Outcome, Prompt, Session, ToolCall, Usage
from trimtab.hosting import AgentStopped, Answer, Chat, DriverOptions, Drivers, names_known

__all__ = ["HOST", "GuidedStream", "TrimtabRunner"]


_OUTCOMES = {
    "approval_rejected": Outcome.DENIED,
    "tool_not_found": Outcome.INVALID,
    "tool_exception": Outcome.ERROR,
}
_ANSWERS = ("function_call_output", "custom_tool_call_output")
_CALLS = ("function_call", "custom_tool_call")


class Following(RunHooks[Any]):
    """Follows one run of the SDK; everything that the user gave is called as before."""

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
        """Return the user's configuration with our filter and formatter around the user's."""
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


def _loop_of_thread() -> asyncio.AbstractEventLoop:
    """Return the loop that `Runner.run_sync` uses and leaves open: clients and sessions keep it."""
    with warnings.catch_warnings():
        # Python 3.12 and 3.13 warn where they make the thread's first loop.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            loop = asyncio.get_event_loop()
        except RuntimeError:  # it was taken away, as `asyncio.run` does
            loop = None
    if loop is None or loop.is_closed():
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    return loop


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


HOST = Host(
    "openai-agents",
    dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL),
    parallel_calls=True,
    stops=True,
)
_Result = RunResult | RunResultStreaming


@names_known(more=DriverOptions)
class TrimtabRunner:
    """Runs agents as `agents.Runner` does, and nudges them on the way.

    Make one and use it for all agents and conversations, also at the same time.

    Args:
        prompt: says which providers are asked; its text is not used.
        session: where runs are recorded, or a function from a conversation's name to its session;
            None makes a session for each conversation.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for
            `trimtab.hosting.Drivers`.

    Attributes:
        drivers: the drivers of all conversations.
    """

    def __init__(
        self,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        **options: Unpack[DriverOptions],
    ) -> None:
        self.drivers = Drivers(prompt, session, HOST, **options)
        self._waiting: dict[str, Chat] = {}

    async def run(
        self, agent: Any, input: Any, *, conversation: str | None = None, **options: Any
    ) -> RunResult:
        """Run an agent until it may stop.

        Args:
            agent, input, options: as for `agents.Runner.run`.
            conversation: its name; the id of the SDK's session or conversation if None, else a
                new one. A state that waited for an approval is known by its calls.

        Returns:
            the result of the last round: a completion check that finds open work begins another.

        Raises:
            AgentStopped: nudges had no effect, and the prompt's ``stop_after`` ends the agent.
        """
        rounds = self._rounds(agent, input, conversation, options)
        while True:
            work = Runner.run(rounds.agent, rounds.input, **rounds.options)
            result: RunResult = await rounds.guarded(work)
            if await rounds.finished(result):
                return result

    def run_sync(
        self, agent: Any, input: Any, *, conversation: str | None = None, **options: Any
    ) -> RunResult:
        """As `run`, where no event loop runs; on the thread's own, as `agents.Runner.run_sync`."""
        work = self.run(agent, input, conversation=conversation, **options)
        return asyncio.Runner(loop_factory=_loop_of_thread).run(work)

    def run_streamed(
        self, agent: Any, input: Any, *, conversation: str | None = None, **options: Any
    ) -> GuidedStream:
        """Return a stream of the events of an agent, until it may stop.

        Args:
            agent, input, options: as for `agents.Runner.run_streamed`.
            conversation: as for `run`.
        """
        return GuidedStream(self._rounds(agent, input, conversation, options))

    def _rounds(
        self, agent: Any, input: Any, conversation: str | None, options: dict[str, Any]
    ) -> _Rounds:
        chat = None if conversation else self._waiting_for(input)
        if chat is None:
            kept = getattr(options.get("session"), "session_id", None)
            name = conversation or kept or options.get("conversation_id") or uuid4().hex
            host = attrs.evolve(HOST, max_turns=options.get("max_turns", DEFAULT_MAX_TURNS))
            chat = self.drivers.of(str(name), host=host)
        return _Rounds(chat, agent, input, options, self._waiting)

    def _waiting_for(self, input: Any) -> Chat | None:
        """Return the driver of the conversation whose calls the user has decided on."""
        if not isinstance(input, RunState):
            return None
        names = (str(getattr(item, "call_id", None)) for item in input.get_interruptions())
        found = [self._waiting.pop(name, None) for name in names]
        return next((chat for chat in found if chat is not None), None)


class _Rounds:
    """The rounds of one run: each begins with what a completion check found open."""

    def __init__(
        self, chat: Chat, agent: Any, input: Any, options: dict[str, Any], waiting: dict[str, Chat]
    ) -> None:
        self.chat = chat
        self.agent: Any = agent
        self.input: Any = input
        self._waiting = waiting
        following = Following(chat, options.get("hooks"))
        given = options.get("run_config") or RunConfig()
        config = RunConfig(**given) if isinstance(given, dict) else given
        self.options = {**options, "hooks": following, "run_config": following.config(config)}

    async def guarded(self, work: Any) -> Any:
        """Await work of the SDK; where it fails, the record ends."""
        try:
            return await work
        except BaseException as error:
            self.chat.close(type(error).__name__)
            raise

    async def finished(self, result: _Result) -> bool:
        """Return whether the agent may stop; if not, `input` is that of the next round."""
        if result.interruptions:
            for item in result.interruptions:
                self._waiting[str(getattr(item, "call_id", None))] = self.chat
            return True
        decision = await self.chat.amay_stop(output=result.final_output)
        if decision:
            self.chat.close()
            return True
        # Without a text of its own the next request carries what is to be said.
        said = [{"role": "user", "content": decision.text}] if decision.text else []
        kept = ("session", "conversation_id", "auto_previous_response_id")
        if self.options.get("previous_response_id"):
            self.options["previous_response_id"] = result.last_response_id
            self.input = said
        elif any(self.options.get(name) for name in kept):
            self.input = said
        else:
            self.input = [*result.to_input_list(), *said]
        self.agent = result.last_agent
        return False


class GuidedStream:
    """The events of all rounds of a run; everything else is that of the last round's result.

    Attributes:
        result: the SDK's result of the round that is streamed.
    """

    def __init__(self, rounds: _Rounds) -> None:
        self._rounds = rounds
        self.result = self._begin()

    def _begin(self) -> RunResultStreaming:
        rounds = self._rounds
        return Runner.run_streamed(rounds.agent, rounds.input, **rounds.options)

    async def stream_events(self) -> AsyncIterator[Any]:
        """Yield the events of each round as they come."""
        while True:
            try:
                async for event in self.result.stream_events():
                    yield event
            except BaseException as error:
                self._rounds.chat.close(type(error).__name__)
                raise
            if await self._rounds.finished(self.result):
                return
            self.result = self._begin()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result, name)
