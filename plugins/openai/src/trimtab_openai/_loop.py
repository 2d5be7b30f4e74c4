"""The loop of an agent: ask the model, whole or streamed, run its tools, until it may stop."""

from __future__ import annotations

import asyncio
import inspect
import json
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import aclosing, closing, contextmanager
from functools import partial
from typing import Any

import attrs

from trimtab import Heartbeat, Run, TaskCompletionChecker, Tool, ToolCall, ToolExecutor, Usage
from trimtab.hosting import call_within, names_known
from trimtab_openai._hooks import LoopHooks
from trimtab_openai._loop_state import LoopResult, LoopState, request_fields, seconds
from trimtab_openai._model_response import (
    ClientMismatch,
    Json,
    ModelFailed,
    ModelResponse,
    OutputForm,
    UnmeasuredBudget,
    as_messages,
    field,
)
from trimtab_openai._parallel import call_in_parallel
from trimtab_openai._settings import DEFAULTS, Settings, guidance_role

Cost = Callable[[str, Usage], float | None]
OnChunk = Callable[[Any], object]


class _CallbackFailed(Exception):
    """The caller's `on_chunk` raised: no failure of the service."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class ModelClient:
    """Sends requests, reads responses, and counts what they cost.

    Args:
        heartbeat: beaten at every response.
        cost: the price of a response that the service does not report.
    """

    def __init__(
        self,
        create: Callable[..., Any],
        model: str,
        settings: Settings,
        *,
        heartbeat: Heartbeat | None,
        cost: Cost | None,
    ) -> None:
        self._create = create
        self._model = model
        self._interface = settings.interface
        self._heartbeat = heartbeat
        self._cost = cost
        self._warned: set[str] = set()

    def ask(self, state: LoopState, request: Json, on_chunk: OnChunk | None) -> ModelResponse:
        """Return the response to a request; what `on_chunk` and the client raise passes through."""
        with _record_failures(state):
            return self._counted(state, self._received(state, request, on_chunk))

    async def aask(
        self, state: LoopState, request: Json, on_chunk: OnChunk | None
    ) -> ModelResponse:
        """As `ask`, without blocking the event loop; `on_chunk` may be ``async def``."""
        with _record_failures(state):
            return self._counted(state, await self._areceived(state, request, on_chunk))

    def _received(self, state: LoopState, request: Json, on_chunk: OnChunk | None) -> ModelResponse:
        streaming = {} if on_chunk is None else self._interface.streaming
        send = partial(self._create, **request, **streaming)
        left = state.seconds_left()
        sent = _present(send() if left is None else call_within(left, send))
        if on_chunk is None:
            return self._interface.read(sent)
        return self._collected(state, sent, on_chunk)

    async def _areceived(
        self, state: LoopState, request: Json, on_chunk: OnChunk | None
    ) -> ModelResponse:
        async with asyncio.timeout(state.seconds_left()):
            if on_chunk is None:
                return self._interface.read(await _awaitable(self._create(**request)))
            streamed = self._create(**request, **self._interface.streaming)
            return await self._acollected(await _awaitable(streamed), on_chunk)

    def _collected(
        self, state: LoopState, pieces: Iterable[Any], on_chunk: OnChunk
    ) -> ModelResponse:
        stream = self._interface.stream()
        with closing(_each(pieces)) as opened:
            for piece in opened:
                state.check_time()
                stream.add(piece)
                try:
                    on_chunk(piece)
                except Exception as error:
                    raise _CallbackFailed(error) from error
        return stream.reply()

    async def _acollected(self, pieces: Any, on_chunk: OnChunk) -> ModelResponse:
        stream = self._interface.stream()
        async with aclosing(_aeach(pieces)) as opened:
            async for piece in opened:
                stream.add(piece)
                try:
                    returned = on_chunk(piece)
                    if inspect.isawaitable(returned):
                        await returned
                except Exception as error:
                    raise _CallbackFailed(error) from error
        return stream.reply()

    def _counted(self, state: LoopState, response: ModelResponse) -> ModelResponse:
        if self._heartbeat is not None:
            self._heartbeat.beat()
        if not response.model:
            response = attrs.evolve(response, model=self._model[:200])
        usage = response.usage
        if usage is None or usage.cost or self._cost is None:
            priced = usage is not None and usage.cost > 0
        else:
            cost = self._cost(self._model, usage)
            priced = cost is not None
            response = attrs.evolve(response, usage=attrs.evolve(usage, cost=cost or 0.0))
        self._warn(state, usage, priced=priced)
        return response

    def _warn(self, state: LoopState, usage: Usage | None, *, priced: bool) -> None:
        """Warn once of a limit that can't hold because nothing is measured."""
        budget = state.hooks.run.budget
        if budget is None:
            return
        tokens = (budget.max_total_tokens, budget.max_input_tokens, budget.max_output_tokens)
        if usage is None and any(limit is not None for limit in tokens):
            self._warn_once("tokens", "the service reports no usage, so limits on tokens")
        if not priced and budget.max_cost is not None:
            why = f"the price of model {self._model!r} is unknown, so Budget.max_cost"
            self._warn_once("cost", why, " Give cost=, a function of model and usage.")

    def _warn_once(self, what: str, why: str, advice: str = "") -> None:
        if what not in self._warned:
            self._warned.add(what)
            warnings.warn(f"{why} can't hold.{advice}", UnmeasuredBudget, stacklevel=6)


@contextmanager
def _record_failures(state: LoopState) -> Generator[None]:
    """Record what the service or the client raises; errors of the caller are none of these."""
    try:
        yield
    except ClientMismatch:
        raise
    except _CallbackFailed as failed:
        raise failed.error from None
    except json.JSONDecodeError as error:
        state.failed(error)
        raise ModelFailed(f"the service's answer is not JSON: {error}") from error
    except Exception as error:
        state.failed(error)
        raise


def _present(response: Any) -> Any:
    """Return a synchronous client's answer."""
    if not inspect.isawaitable(response):
        return response
    if inspect.iscoroutine(response):
        response.close()
    raise ClientMismatch("the client is asynchronous: use acomplete(), or give openai.OpenAI()")


def _awaitable(response: Any) -> Awaitable[Any]:
    """Return an asynchronous client's answer, to be awaited."""
    if inspect.isawaitable(response):
        return response
    raise ClientMismatch(
        "the client is synchronous and blocks the event loop: use complete(), or give "
        "openai.AsyncOpenAI()"
    )


def _each(pieces: Iterable[Any]) -> Generator[Any]:
    """Yield the pieces of a client's stream and close it, however it ends."""
    try:
        yield from pieces
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


async def _aeach(pieces: Any) -> AsyncGenerator[Any]:
    try:
        async for piece in pieces:
            yield piece
    finally:
        close = getattr(pieces, "close", None) or getattr(pieces, "aclose", None)
        closing_now = None if close is None else close()
        if inspect.isawaitable(closing_now):
            await closing_now


@names_known()
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
