"""The loop of an agent: ask the model, run its tools, until it may stop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import attrs

from trimtab import Heartbeat, Run, TaskCompletionChecker, Tool, ToolCall, ToolExecutor
from trimtab.hosting import call_in_parallel
from trimtab_openai._asking import Cost, ModelClient, OnChunk
from trimtab_openai._hooks import LoopHooks
from trimtab_openai._host import guidance_role
from trimtab_openai._loop_state import LoopResult, LoopState, request_fields, seconds
from trimtab_openai._model_response import as_messages, field
from trimtab_openai._output import OutputForm
from trimtab_openai._settings import DEFAULTS, Settings


class GuidedLoop:
    """Runs conversations to their end, with the guidance, feedback and gate of one run.

    Args:
        client: ``openai.OpenAI`` for `complete`, ``openai.AsyncOpenAI`` for `acomplete`.
        run: opened by ``session.open_run(prompt, host=HOST, …)``; its deadline and budget hold.
        model: the model's name.
        tools: what the model may call; if None, the tools of the rendered prompt, else of its
            template.
        output_type: attrs class or dataclass of the final answer; free text if None.
        settings: how requests are made and guidance is placed.
        checkers: completion checkers, asked after the prompt's own.
        heartbeat: beaten at every response of the model and at the end of every tool call.
        cost: ``cost(model, usage)`` in the unit of ``Budget.max_cost``, None for an unknown
            price; asked if the service does not report the cost.

    Attributes:
        hooks: the hooks of the run, to render its prompt.
        messages: the latest conversation so far, without guidance, to go on with after the
            client has raised.

    Raises:
        SessionError: the run is closed.
    """

    def __init__(
        self,
        client: Any,
        run: Run,
        *,
        model: str,
        tools: Iterable[Tool[Any, Any]] | None = None,
        output_type: type[Any] | None = None,
        settings: Settings = DEFAULTS,
        checkers: Iterable[TaskCompletionChecker] = (),
        heartbeat: Heartbeat | None = None,
        cost: Cost | None = None,
    ) -> None:
        role = settings.role or guidance_role(client)
        settings = attrs.evolve(settings, role=role)
        self.run = run
        self.hooks = LoopHooks(run, settings)
        self.messages: list[Any] = []
        self._model_client = ModelClient(
            settings.interface.endpoint(client), model, settings, heartbeat=heartbeat, cost=cost
        )
        self._client_timeout = seconds(settings.options.get("timeout", field(client, "timeout")))
        self._model = model
        self._tools = None if tools is None else tuple(tools)
        self._form = OutputForm.of(output_type)
        self._settings = settings
        self._checkers = tuple(checkers)
        self._heartbeat = heartbeat

    def complete(
        self, messages: str | Sequence[Any], *, on_chunk: OnChunk | None = None
    ) -> LoopResult:
        """Ask the model and run its tools until it may stop.

        Args:
            messages: the conversation, which is not changed; a string is one message of the user.
            on_chunk: called with every piece of a streamed response, as the client makes them;
                requests are streamed if it is given.

        Raises:
            LoopStopped: by the deadline, the budget or the limit of turns, or because the final
                answers don't fit the output type.
            ModelFailed: the service answered with a failure.
            ClientMismatch: the client is an asynchronous one.
            What the client and `on_chunk` raise passes through.
        """
        state, executor = self._begin(messages)
        while True:
            state.next_turn()
            request = state.request(self.hooks.before_request(state.messages))
            response = state.responded(self._model_client.ask(state, request, on_chunk))
            if response.tool_calls:
                state.answered(self._run_tools(state, executor, response.tool_calls))
            elif result := state.ended(response):
                return result

    async def acomplete(
        self, messages: str | Sequence[Any], *, on_chunk: OnChunk | None = None
    ) -> LoopResult:
        """As `complete`, without blocking the event loop; `on_chunk` may be ``async def``."""
        state, executor = self._begin(messages)
        while True:
            state.next_turn()
            request = state.request(await self.hooks.abefore_request(state.messages))
            response = state.responded(await self._model_client.aask(state, request, on_chunk))
            if response.tool_calls:
                state.answered(await self._arun_tools(state, executor, response.tool_calls))
            elif result := await asyncio.to_thread(state.ended, response):
                return result

    def _begin(self, messages: str | Sequence[Any]) -> tuple[LoopState, ToolExecutor]:
        tools = self._known_tools()
        state = LoopState(
            self.hooks,
            self._settings,
            fields=request_fields(self._model, self._settings, tools, self._form),
            messages=as_messages(messages),
            tools=frozenset(tool.name for tool in tools),
            client_timeout=self._client_timeout,
            form=self._form,
            checkers=self._checkers,
        )
        self.messages = state.messages
        return state, ToolExecutor(self.run, tools, heartbeat=self._heartbeat)

    def _known_tools(self) -> tuple[Tool[Any, Any], ...]:
        if self._tools is not None:
            return self._tools
        return (self.run.rendered or self.run.prompt.template).tools

    def _run_tools(
        self, state: LoopState, executor: ToolExecutor, calls: Sequence[ToolCall]
    ) -> list[tuple[str, Any]]:
        guidance = self.hooks.before_tools(last=state.last)

        def answer(call: ToolCall) -> tuple[str, Any]:
            text = executor.execute(call, guidance=guidance).text
            return call.call_id, self.hooks.comment(text, last=state.last)

        answers: list[tuple[str, Any]] = []
        for group in executor.groups(calls):
            if len(group) == 1 or self._settings.max_parallel == 1:
                answers += [answer(call) for call in group]
                continue
            try:
                jobs = [partial(answer, call) for call in group]
                answers += call_in_parallel(jobs, self._settings.max_parallel)
            except BaseException:
                executor.abandon()
                raise
        return answers

    async def _arun_tools(
        self, state: LoopState, executor: ToolExecutor, calls: Sequence[ToolCall]
    ) -> list[tuple[str, Any]]:
        guidance = await self.hooks.abefore_tools(last=state.last)
        room = asyncio.Semaphore(self._settings.max_parallel)

        async def answer(call: ToolCall) -> tuple[str, Any]:
            async with room:
                done = await executor.aexecute(call, guidance=guidance)
                return call.call_id, await self.hooks.acomment(done.text, last=state.last)

        answers: list[tuple[str, Any]] = []
        for group in executor.groups(calls):
            try:
                async with asyncio.TaskGroup() as running:
                    tasks = [running.create_task(answer(call)) for call in group]
            except BaseExceptionGroup as errors:  # what is raised is the same in both modes
                raise errors.exceptions[0] from None
            answers += [task.result() for task in tasks]
        return answers
