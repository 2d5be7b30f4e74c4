"""Running a model's tool calls, each recorded with its outcome, on threads that may be left."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from trimtab._boundary import wait_for
from trimtab._contract.tools import Tool, ToolContext, ToolResult
from trimtab._events import Outcome, ToolCall
from trimtab._types.errors import ToolError, is_cancelled
from trimtab._types.options import bounded, tuple_of
from trimtab._types.text import as_text, did_you_mean, quote, replace_surrogates, shorten

if TYPE_CHECKING:
    from trimtab._run.run import Run
    from trimtab._types.limits import Heartbeat

T = TypeVar("T")
LOG = logging.getLogger("trimtab")


def start(work: Callable[[], T]) -> Future[T]:
    """Begin `work` on a daemon thread, in a copy of this context.

    ``asyncio.to_thread`` and ``ThreadPoolExecutor`` would hold up the end of the loop, or of the
    program, until it is done.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    inside = copy_context().run
    Thread(target=inside, args=(_settle, future, work), name="trimtab-tool", daemon=True).start()
    return future


def call_within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of `work`; stop waiting for it if it takes longer.

    Args:
        seconds: how long to wait.
        work: called on another thread, which goes on after the time is over.

    Raises:
        TimeoutError: it took longer.
        Exception: what `work` raises.
    """
    future = start(work)
    if not wait([future], timeout=bounded(seconds)).done:
        raise TimeoutError(f"no result after {seconds:.3g} seconds")
    return future.result()


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
        future.set_exception(error)


MAX_ERROR_TEXT = 2_000
"""Most characters of an error, for the model and the record."""

UNNAMED = "unnamed_tool"
"""Recorded where the model names no tool: hosts must name one, models need not."""

RAISED = (Exception, SystemExit, asyncio.CancelledError)
"""What a handler may raise of its own accord; see `is_cancelled` for the last."""


def format_error(error: BaseException) -> str:
    """Return an error as the model reads it, at most `MAX_ERROR_TEXT` characters."""
    return shorten(f"{type(error).__name__}: {as_text(error)}", MAX_ERROR_TEXT)


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

    The run's deadline holds: a tool that outlasts it is cancelled if it is ``async def``, else
    left behind on its thread, and the call is recorded as interrupted.

    Args:
        run: where the calls are recorded.
        tools: what the model may call.
        heartbeat: beaten by handlers, and once at the end of every call.

    Raises:
        ToolError: two tools share a name.
        TypeError: one of them is something else.
    """

    def __init__(
        self, run: Run, tools: Iterable[Tool[Any, Any]], *, heartbeat: Heartbeat | None = None
    ) -> None:
        self._run = run
        self._heartbeat = heartbeat
        self._tools: dict[str, Tool[Any, Any]] = {}
        self._guard = Lock()
        self._running: set[_Bound] = set()
        for tool in tuple_of("tools", tools, Tool):
            if self._tools.setdefault(tool.name, tool) is not tool:
                raise ToolError(f"two tools are called {tool.name!r}; rename one")

    def groups(self, calls: Iterable[ToolCall]) -> tuple[Sequence[ToolCall], ...]:
        """Return the calls of one response in groups that run one after the other.

        The calls of a group may run at the same time; a tool that is `sequential` has a group
        for each call.

        Args:
            calls: of one response, in its order.
        """
        groups: list[list[ToolCall]] = []
        beside = False  # whether the next call may join the last group
        for call in calls:
            tool = self._tools.get(call.tool)
            alone = tool is not None and tool.sequential
            if beside and not alone:
                groups[-1].append(call)
            else:
                groups.append([call])
            beside = not alone
        return tuple(groups)

    def execute(self, call: ToolCall, *, guidance: str = "") -> ToolAnswer:
        """Run one call on this thread; ``async def`` handlers get an event loop for it.

        Args:
            call: as the model asked for it.
            guidance: what providers say about the call, for `ToolContext.guidance`.
        """
        bound = self._bind(call, guidance)
        if isinstance(bound, ToolAnswer):
            return bound
        seconds = self._seconds_left()
        try:
            answer = bound.answer() if seconds is None else call_within(seconds, bound.answer)
        except TimeoutError:
            answer = bound.late()
        except BaseException:
            self._interrupted(bound)
            raise
        return self._record(answer, bound)

    async def aexecute(self, call: ToolCall, *, guidance: str = "") -> ToolAnswer:
        """Run one call: ``async def`` handlers in this event loop, others on a thread.

        A thread can't be ended from outside: if the task is cancelled, the call is recorded as
        interrupted at once, its handler runs on, and the result is not recorded.

        Args:
            call, guidance: as for `execute`.
        """
        bound = self._bind(call, guidance)
        if isinstance(bound, ToolAnswer):
            return bound
        try:
            async with asyncio.timeout(self._seconds_left()):
                if _is_async(bound.tool.handler):
                    answer = await bound.aanswer()
                else:
                    answer = await asyncio.wrap_future(start(bound.answer))
        except TimeoutError:
            answer = bound.late()
        except BaseException:
            self._interrupted(bound)
            raise
        return self._record(answer, bound)

    def abandon(self) -> None:
        """Record the calls that still run as interrupted; their results are dropped."""
        with self._guard:
            running = tuple(self._running)
        for bound in running:
            self._interrupted(bound)

    def _seconds_left(self) -> float | None:
        deadline = self._run.deadline
        return None if deadline is None else max(deadline.remaining().total_seconds(), 0.0)

    def _bind(self, call: ToolCall, guidance: str) -> _Bound | ToolAnswer:
        """Return the call, ready to run and recorded as started, or why it can't run."""
        call = named(call)
        tool = self._tools.get(call.tool)
        if tool is None:
            names, hint = ", ".join(self._tools) or "none", did_you_mean(call.tool, self._tools)
            what = f"There is no tool {quote(call.tool)}.{hint} Tools: {names}."
            return self._invalid(call, what)
        if not isinstance(call.params, Mapping):
            return self._invalid(call, _no_object(tool, call.params))
        if self._seconds_left() == 0:
            text = "interrupted: the deadline had passed before the tool could run"
            return self._record(ToolAnswer(call, text, Outcome.INTERRUPTED))
        try:
            params = tool.parse(call.params)
        except ToolError as error:
            return self._invalid(call, str(error))
        except RAISED as error:  # a validator of the user
            return self._invalid(call, format_error(error))
        self._run.tool_started(call.tool, call.params, call.call_id)
        bound = _Bound(call, tool, params, self._context(guidance))
        with self._guard:
            self._running.add(bound)
        return bound

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

    def _interrupted(self, bound: _Bound) -> None:
        self._record(ToolAnswer(bound.call, "interrupted", Outcome.INTERRUPTED), bound)

    def _record(self, answer: ToolAnswer, bound: _Bound | None = None) -> ToolAnswer:
        """Record the end of a call, once."""
        if bound is not None:
            with self._guard:
                if bound not in self._running:
                    return answer
                self._running.discard(bound)
        call, text, outcome = answer.call, answer.text, answer.outcome
        error = None if outcome is Outcome.OK else shorten(text, MAX_ERROR_TEXT)
        self._run.tool_finished(
            call.call_id, text, outcome=outcome, error=error, tool=call.tool, params=call.params
        )
        if self._heartbeat is not None:
            self._heartbeat.beat()
        return answer


_ANOTHER_LOOP = (
    ". Here each call of an async tool has an event loop of its own, in which a client of an "
    "earlier call can't be used: open it in the handler, or await aevaluate() or acomplete()"
)


def _is_about_loops(error: BaseException) -> bool:
    """Tell whether asyncio says that something is of an event loop that is not the running one."""
    said = str(error).lower()
    return isinstance(error, RuntimeError) and ("event loop" in said or "different loop" in said)


@attrs.frozen(eq=False)
class _Bound:
    """A call with all that its handler needs; whatever that does, it has an answer."""

    call: ToolCall
    tool: Tool[Any, Any]
    params: Any
    context: ToolContext

    def answer(self) -> ToolAnswer:
        value = None
        try:
            value = self._run()
            return self._ended(wait_for(value) if inspect.isawaitable(value) else value)
        except RAISED as error:
            failed = self._failed(error)
            if inspect.isawaitable(value) and _is_about_loops(error):
                return attrs.evolve(failed, text=failed.text + _ANOTHER_LOOP)
            return failed

    async def aanswer(self) -> ToolAnswer:
        try:
            return self._ended(await self._run())
        except RAISED as error:
            if is_cancelled(error):
                raise
            return self._failed(error)

    def late(self) -> ToolAnswer:
        text = "interrupted: the deadline passed while the tool was running"
        return ToolAnswer(self.call, text, Outcome.INTERRUPTED)

    def _run(self) -> Any:
        return self.tool.handler(self.params, context=self.context)

    def _ended(self, result: object) -> ToolAnswer:
        if isinstance(result, str):
            result = ToolResult.ok(message=result)
        if not isinstance(result, ToolResult):
            what = f"the handler returned {type(result).__name__} instead of a ToolResult"
            LOG.warning("The tool %r failed, as %s.", self.tool.name, what)
            raise ToolError(f"{self.tool.name}: {what}")
        outcome = Outcome.OK if result.success else Outcome.ERROR
        return ToolAnswer(self.call, replace_surrogates(result.render()), outcome)

    def _failed(self, error: BaseException) -> ToolAnswer:
        return ToolAnswer(self.call, replace_surrogates(format_error(error)), Outcome.ERROR)


def _is_async(handler: Any) -> bool:
    called = getattr(handler, "__call__", None)  # noqa: B004 - an object with an async __call__
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(called)


def _no_object(tool: Tool[Any, Any], given: object) -> str:
    problem = "not a JSON object"
    if isinstance(given, str):
        try:
            json.loads(given)
        except (ValueError, RecursionError) as error:
            problem = f"not valid JSON ({error})"
    shown = shorten(as_text(given), 200)
    return f"{tool.name}: the arguments are {problem}: {shown}\n{tool.describe_arguments()}"


def named(call: ToolCall) -> ToolCall:
    """Return a call with a name for its tool, also where the model gave none."""
    return call if call.tool else attrs.evolve(call, tool=UNNAMED)
