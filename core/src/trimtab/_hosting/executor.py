"""Running a model's tool calls, each recorded with its outcome."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from threading import Thread
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._contract.tools import Tool, ToolContext, ToolResult
from trimtab._events.run import Outcome, ToolCall
from trimtab._types.errors import ToolError
from trimtab._types.text import as_text, quote, replace_surrogates, shorten

if TYPE_CHECKING:
    from trimtab._run.run import Run
    from trimtab._types.heartbeat import Heartbeat


MAX_ERROR_TEXT = 2_000
"""Characters of an error that the model, and the record, are told."""

RAISED = (Exception, SystemExit, asyncio.CancelledError)
"""What a handler may raise of its own accord; see `is_cancelled` for the last."""


def format_error(error: BaseException) -> str:
    """Return an error as the model reads it, at most `MAX_ERROR_TEXT` characters."""
    return shorten(f"{type(error).__name__}: {as_text(error)}", MAX_ERROR_TEXT)


def is_cancelled(error: BaseException) -> bool:
    """Tell whether `error` cancels the task that is running, and not one that it waited for."""
    task = asyncio.current_task() if isinstance(error, asyncio.CancelledError) else None
    return task is not None and task.cancelling() > 0


@attrs.frozen
class ToolAnswer:
    """What the model reads as the answer to one call.

    Args:
        call: the call.
        text: the result as the tool renders it, or what went wrong.
        outcome: as recorded.
    """

    call: ToolCall
    text: str
    outcome: Outcome = Outcome.OK


class ToolExecutor:
    """Runs calls of a run's tools; `execute` may be called from several threads at once.

    Args:
        run: where the calls are recorded.
        tools: what the model may call.
        heartbeat: beaten by handlers, and once at the end of every call.

    Raises:
        ToolError: two tools share a name.
    """

    def __init__(
        self, run: Run, tools: Iterable[Tool[Any, Any]], *, heartbeat: Heartbeat | None = None
    ) -> None:
        self._run = run
        self._heartbeat = heartbeat
        self._tools: dict[str, Tool[Any, Any]] = {}
        for tool in tools:
            if self._tools.setdefault(tool.name, tool) is not tool:
                raise ToolError(f"two tools are called {tool.name!r}; rename one")

    def execute(self, call: ToolCall, *, guidance: str = "") -> ToolAnswer:
        """Run one call on this thread; ``async def`` handlers get an event loop for it.

        Args:
            guidance: what providers say about the call, for `ToolContext.guidance`.
        """
        bound = self._bind(call, guidance)
        if isinstance(bound, ToolAnswer):
            return bound
        try:
            answer = bound.answer()
        except BaseException:
            self._interrupted(call)
            raise
        return self._record(answer)

    async def aexecute(self, call: ToolCall, *, guidance: str = "") -> ToolAnswer:
        """Run one call: ``async def`` handlers right here, others on a thread.

        A thread can't be ended from outside: cancelled, the call is recorded as interrupted at
        once, the handler is left behind, and what it comes to is not recorded.
        """
        bound = self._bind(call, guidance)
        if isinstance(bound, ToolAnswer):
            return bound
        on_the_loop = _is_async(bound.tool.handler)
        try:
            answer = await (bound.aanswer() if on_the_loop else _on_a_thread(bound.answer))
        except BaseException:
            self._interrupted(call)
            raise
        return self._record(answer)

    def _bind(self, call: ToolCall, guidance: str) -> _Bound | ToolAnswer:
        """Return the call, ready to run and recorded as started, or why it can't run."""
        tool = self._tools.get(call.tool)
        if tool is None:
            return self._invalid(call, self._unknown(call))
        if not isinstance(call.params, Mapping):
            given = quote(str(call.params))
            return self._invalid(call, f"{tool.name}: arguments must be a JSON object, not {given}")
        try:
            params = tool.parse(call.params)
        except ToolError as error:
            return self._invalid(call, str(error))
        self._run.tool_started(call.tool, call.params, call.call_id)
        return _Bound(call, tool, params, self._context(guidance))

    def _unknown(self, call: ToolCall) -> str:
        names = ", ".join(self._tools) or "none"
        return f"There is no tool {quote(call.tool)}. Tools: {names}."

    def _context(self, guidance: str) -> ToolContext:
        return ToolContext(
            session=self._run.session,
            prompt=self._run.prompt,
            deadline=self._run.deadline,
            heartbeat=self._heartbeat,
            guidance=guidance,
            run_id=self._run.run_id,
            agent_id=self._run.agent_id,
        )

    def _invalid(self, call: ToolCall, text: str) -> ToolAnswer:
        return self._record(ToolAnswer(call, replace_surrogates(text), Outcome.INVALID))

    def _interrupted(self, call: ToolCall) -> None:
        self._record(ToolAnswer(call, "interrupted", Outcome.INTERRUPTED))

    def _record(self, answer: ToolAnswer) -> ToolAnswer:
        call, text, outcome = answer.call, answer.text, answer.outcome
        error = None if outcome is Outcome.OK else shorten(text, MAX_ERROR_TEXT)
        self._run.tool_finished(
            call.call_id, text, outcome=outcome, error=error, tool=call.tool, params=call.params
        )
        if self._heartbeat is not None:
            self._heartbeat.beat()
        return answer


@attrs.frozen
class _Bound:
    """A call with all that its handler needs; whatever that does, it has an answer."""

    call: ToolCall
    tool: Tool[Any, Any]
    params: Any
    context: ToolContext

    def answer(self) -> ToolAnswer:
        try:
            value = self._run()
            return self._ended(_wait(value) if inspect.isawaitable(value) else value)
        except RAISED as error:
            return self._failed(error)

    async def aanswer(self) -> ToolAnswer:
        try:
            return self._ended(await self._run())
        except RAISED as error:
            if is_cancelled(error):
                raise
            return self._failed(error)

    def _run(self) -> Any:
        return self.tool.handler(self.params, context=self.context)

    def _ended(self, result: object) -> ToolAnswer:
        if not isinstance(result, ToolResult):
            what = f"the handler returned {type(result).__name__} instead of a ToolResult"
            raise ToolError(f"{self.tool.name}: {what}")
        outcome = Outcome.OK if result.success else Outcome.ERROR
        return ToolAnswer(self.call, replace_surrogates(result.render()), outcome)

    def _failed(self, error: BaseException) -> ToolAnswer:
        return ToolAnswer(self.call, replace_surrogates(format_error(error)), Outcome.ERROR)


def _is_async(handler: Any) -> bool:
    called = getattr(handler, "__call__", None)  # noqa: B004 - an object with an async __call__
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(called)


async def _on_a_thread(work: Callable[[], ToolAnswer]) -> ToolAnswer:
    """Return what `work` comes to; who is cancelled leaves it behind.

    ``asyncio.to_thread`` would hold up the end of the loop, and of the program, until it is done.
    """
    future: Future[ToolAnswer] = Future()
    future.set_running_or_notify_cancel()
    inside = copy_context().run
    Thread(target=inside, args=(_settle, future, work), name="trimtab-tool", daemon=True).start()
    return await asyncio.wrap_future(future)


def _settle(future: Future[ToolAnswer], work: Callable[[], ToolAnswer]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where the call is awaited
        future.set_exception(error)


def _wait(value: Awaitable[Any]) -> Any:
    """Return what `value` comes to; on a thread of its own where this one has a running loop."""

    async def wait() -> Any:
        return await value

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(wait())).result()
