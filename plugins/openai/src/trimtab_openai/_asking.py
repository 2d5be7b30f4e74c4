"""Asking the model through a client: whole or streamed, with or without an event loop."""

from __future__ import annotations

import asyncio
import inspect
import json
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
from contextlib import aclosing, closing, contextmanager
from functools import partial
from typing import Any

import attrs

from trimtab import Heartbeat, Usage
from trimtab.hosting import call_within
from trimtab_openai._errors import ClientMismatch, ModelFailed, UnmeasuredBudget
from trimtab_openai._loop_state import LoopState
from trimtab_openai._model_response import Json, ModelResponse
from trimtab_openai._settings import Settings

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
        create: the client's method that asks the model.
        model: the model's name.
        settings: of the loop.
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
        """Return the response to a request.

        Raises:
            Exhausted: the deadline passed before it came.
            ModelFailed: it can't be read.
            ClientMismatch: the client is asynchronous.
            What `on_chunk` and the client raise passes through.
        """
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
