"""The loop of an agent: ask the model, run its tools, until it may stop."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from typing import Any

import attrs

from trimtab import (
    Heartbeat,
    Run,
    TaskCompletionChecker,
    Tool,
    ToolCall,
    ToolExecutor,
    Usage,
)
from trimtab_openai.errors import ClientMismatch
from trimtab_openai.reply import Json, Reply, as_messages, field
from trimtab_openai.settings import DEFAULTS, Settings
from trimtab_openai.steps import Steps
from trimtab_openai.structured import OutputForm
from trimtab_openai.talk import Ending, Talk, request_fields, seconds

Cost = Callable[[str, Usage], float]
OnChunk = Callable[[Any], object]


class GuidedLoop:
    """Brings conversations to their end, with the guidance, feedback and gate of one run.

    Args:
        client: ``openai.OpenAI`` for `complete`, ``openai.AsyncOpenAI`` for `acomplete`.
        run: opened by ``session.open_run(prompt, host=HOST, …)``; its deadline and budget hold.
        model: the model's name.
        tools: what the model may call; those of the rendered prompt, else of its template,
            where None.
        output_type: attrs class or dataclass of the final answer; free text where None.
        settings: how requests are made and guidance is placed.
        checkers: completion checkers, asked after the prompt's own.
        heartbeat: beaten at every answer of the model and at the end of every tool call.
        cost: ``cost(model, usage)`` in the unit of ``Budget.max_cost``, where the service does
            not tell it.

    Attributes:
        messages: the latest conversation so far, without guidance, to go on with after the
            client has raised.
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
        self.run = run
        self.steps = Steps(run, settings)
        self.messages: list[Any] = []
        self._create = settings.wire.endpoint(client)
        self._patience = seconds(settings.options.get("timeout", field(client, "timeout")))
        self._model = model
        self._tools = None if tools is None else tuple(tools)
        self._form = OutputForm.of(output_type)
        self._settings = settings
        self._checkers = tuple(checkers)
        self._heartbeat = heartbeat
        self._cost = cost

    def complete(self, messages: str | Sequence[Any], *, on_chunk: OnChunk | None = None) -> Ending:
        """Ask the model and run its tools until it may stop; `messages` are left alone.

        Args:
            on_chunk: called with every piece of a streamed response, as the client makes them;
                requests are streamed where it is given.

        Raises:
            LoopStopped: by the deadline, the budget or the limit of turns.
            ModelFailed: the service answered with a failure.
            ClientMismatch: the client is an asynchronous one.
            What the client raises passes through.
        """
        talk, executor = self._begin(messages)
        while True:
            talk.next_turn()
            request = talk.request(self.steps.before_request(talk.messages))
            reply = self._ask(talk, request, on_chunk)
            talk.heard(reply)
            if reply.tool_calls:
                talk.answered(self._run_tools(talk, executor, reply.tool_calls))
            elif ending := talk.ended(reply):
                return ending

    async def acomplete(
        self, messages: str | Sequence[Any], *, on_chunk: OnChunk | None = None
    ) -> Ending:
        """As `complete`, without blocking the event loop; `on_chunk` may be ``async def``."""
        talk, executor = self._begin(messages)
        while True:
            talk.next_turn()
            request = talk.request(await self.steps.abefore_request(talk.messages))
            reply = await self._aask(talk, request, on_chunk)
            talk.heard(reply)
            if reply.tool_calls:
                talk.answered(await self._arun_tools(talk, executor, reply.tool_calls))
            elif ending := await asyncio.to_thread(talk.ended, reply):
                return ending

    def _begin(self, messages: str | Sequence[Any]) -> tuple[Talk, ToolExecutor]:
        tools = self._known_tools()
        talk = Talk(
            self.steps,
            self._settings,
            fields=request_fields(self._model, self._settings, tools, self._form),
            messages=as_messages(messages),
            patience=self._patience,
            form=self._form,
            checkers=self._checkers,
        )
        self.messages = talk.messages
        return talk, ToolExecutor(self.run, tools, heartbeat=self._heartbeat)

    def _known_tools(self) -> tuple[Tool[Any, Any], ...]:
        if self._tools is not None:
            return self._tools
        return (self.run.rendered or self.run.prompt.template).tools

    # Asking.

    def _ask(self, talk: Talk, request: Json, on_chunk: OnChunk | None) -> Reply:
        try:
            return self._billed(self._received(talk, request, on_chunk))
        except ClientMismatch:
            raise
        except Exception as error:
            talk.failed(error)
            raise

    def _received(self, talk: Talk, request: Json, on_chunk: OnChunk | None) -> Reply:
        if on_chunk is None:
            return self._settings.wire.read(_present(self._create(**request)))
        pieces = _present(self._create(**request, **self._settings.wire.streaming))
        return self._collected(talk, pieces, on_chunk)

    async def _aask(self, talk: Talk, request: Json, on_chunk: OnChunk | None) -> Reply:
        try:
            return self._billed(await self._areceived(talk, request, on_chunk))
        except ClientMismatch:
            raise
        except Exception as error:
            talk.failed(error)
            raise

    async def _areceived(self, talk: Talk, request: Json, on_chunk: OnChunk | None) -> Reply:
        async with asyncio.timeout(talk.seconds_left()):
            if on_chunk is None:
                return self._settings.wire.read(await _awaitable(self._create(**request)))
            streamed = self._create(**request, **self._settings.wire.streaming)
            return await self._acollected(await _awaitable(streamed), on_chunk)

    def _collected(self, talk: Talk, pieces: Iterable[Any], on_chunk: OnChunk) -> Reply:
        stream = self._settings.wire.stream()
        with closing(_each(pieces)) as opened:
            for piece in opened:
                talk.check_time()
                stream.add(piece)
                on_chunk(piece)
        return stream.reply()

    async def _acollected(self, pieces: Any, on_chunk: OnChunk) -> Reply:
        stream = self._settings.wire.stream()
        async with aclosing(_aeach(pieces)) as opened:
            async for piece in opened:
                stream.add(piece)
                told = on_chunk(piece)
                if inspect.isawaitable(told):
                    await told
        return stream.reply()

    def _billed(self, reply: Reply) -> Reply:
        if self._heartbeat is not None:
            self._heartbeat.beat()
        if self._cost is None or reply.usage is None or reply.usage.cost:
            return reply
        cost = self._cost(self._model, reply.usage)
        return attrs.evolve(reply, usage=attrs.evolve(reply.usage, cost=cost))

    # Running tools.

    def _run_tools(
        self, talk: Talk, executor: ToolExecutor, calls: Sequence[ToolCall]
    ) -> list[tuple[str, Any]]:
        guidance = self.steps.before_tools(calls, last=talk.last)

        def answer(call: ToolCall) -> tuple[str, Any]:
            text = executor.execute(call, guidance=guidance).text
            return call.call_id, self.steps.comment(text, last=talk.last)

        if len(calls) == 1 or self._settings.max_parallel == 1:
            return [answer(call) for call in calls]
        with ThreadPoolExecutor(min(len(calls), self._settings.max_parallel)) as pool:
            jobs = [pool.submit(contextvars.copy_context().run, answer, call) for call in calls]
            try:
                return [job.result() for job in jobs]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    async def _arun_tools(
        self, talk: Talk, executor: ToolExecutor, calls: Sequence[ToolCall]
    ) -> list[tuple[str, Any]]:
        guidance = await self.steps.abefore_tools(calls, last=talk.last)
        room = asyncio.Semaphore(self._settings.max_parallel)

        async def answer(call: ToolCall) -> tuple[str, Any]:
            async with room:
                done = await executor.aexecute(call, guidance=guidance)
                return call.call_id, await self.steps.acomment(done.text, last=talk.last)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(answer(call)) for call in calls]
        return [task.result() for task in tasks]


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
