"""Asking the completion checkers whether an agent may stop."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._contract.context import TaskCompletionContext
from trimtab._contract.providers import TaskCompletionChecker
from trimtab._events.provenance import Provenance, ProviderKind
from trimtab._events.providers import CompletionChecked, CompletionStatus
from trimtab._policy.completion import TaskCompletionResult
from trimtab._table.entries import CheckEntry, expect

if TYPE_CHECKING:
    from trimtab._run.run import Run


DEFAULT_TIMEOUT = 30.0
_RANK = {
    CompletionStatus.OK: 0,
    CompletionStatus.UNVERIFIED: 1,
    CompletionStatus.INCOMPLETE: 2,
}


@attrs.frozen(kw_only=True)
class StopRequest:
    """How and why an agent wants to stop, as the host knows it.

    Args:
        output: what it would end with, where there is something.
        reason: the host's word.
        background_work: something it started still runs and will wake it.
        awaiting_user: it has asked the user, or the user has paused it.
        api_error: the turn ended because the model's service failed; its text.
        final: the run has ended already; the verdict can only be reported.
    """

    output: Any = None
    reason: str | None = None
    background_work: bool = False
    awaiting_user: bool = False
    api_error: str | None = None
    final: bool = False


def check(
    run: Run, stop: StopRequest, extra: Iterable[TaskCompletionChecker] = ()
) -> CompletionChecked:
    """Ask the prompt's checkers, then the client's own, and record what came of it."""
    entries = (*run.prompt.table.checks, *(_own(checker) for checker in extra))
    if not entries:
        return CompletionChecked(status=CompletionStatus.SKIPPED, reason="no completion checker")
    why = _skipped(run, stop)
    if why:
        return _record(run, stop, entries, CompletionStatus.SKIPPED, reason=why)
    verdict, asked = _verdict(run, entries, stop)
    if verdict.status is CompletionStatus.UNVERIFIED:
        return _record(run, stop, asked, verdict.status, reason=verdict.feedback)
    if verdict.status is CompletionStatus.OK:
        return _record(run, stop, asked, verdict.status, feedback=verdict.feedback)
    return _block(run, stop, asked, verdict)


def _block(
    run: Run, stop: StopRequest, entries: tuple[CheckEntry, ...], verdict: TaskCompletionResult
) -> CompletionChecked:
    progress = verdict.progress or verdict.feedback
    why = None if stop.final else run.state.gate.exhausted(progress)
    status = CompletionStatus.SKIPPED if why else CompletionStatus.INCOMPLETE
    return _record(
        run, stop, entries, status, feedback=verdict.feedback, reason=why, progress=progress
    )


def _skipped(run: Run, stop: StopRequest) -> str | None:
    if stop.api_error:
        return f"the model's service failed: {stop.api_error}"
    if stop.background_work:
        return "background work is still running"
    if stop.awaiting_user:
        return "the user has the word"
    if run.deadline is not None and run.deadline.expired:
        return "the deadline has passed"
    limit = run.exhausted_budget()
    return f"the budget is used up: {limit}" if limit else None


def _verdict(
    run: Run, entries: Iterable[CheckEntry], stop: StopRequest
) -> tuple[TaskCompletionResult, tuple[CheckEntry, ...]]:
    context = TaskCompletionContext(
        run=run,
        tentative_output=stop.output,
        stop_reason=stop.reason,
        attempt=run.state.gate.attempts,
        final=stop.final,
    )
    worst: TaskCompletionResult | None = None
    asked: list[CheckEntry] = []
    for entry in entries:
        asked.append(entry)
        result = _ask(run, entry, context)
        if worst is None or _RANK[result.status] > _RANK[worst.status]:
            worst = result
        if result.status is CompletionStatus.INCOMPLETE:
            break
    assert worst is not None
    return worst, tuple(asked)


def _ask(run: Run, entry: CheckEntry, context: TaskCompletionContext) -> TaskCompletionResult:
    value = run.caller.call(
        entry.source,
        "check_completion",
        lambda c: run_check(entry.check, c),
        context,
        entry.timeout,
    )
    if value is None:
        return TaskCompletionResult.unverified(f"the checker {entry.source.name!r} failed")
    return value


def run_check(check: Any, context: TaskCompletionContext) -> TaskCompletionResult:
    """Call one checker, which may be ``async def``; only on a thread without an event loop."""
    value = check(context)
    if inspect.isawaitable(value):
        import asyncio

        value = asyncio.run(_finish(value))
    expect(value, TaskCompletionResult, "check_completion")
    return value  # type: ignore[no-any-return]


async def _finish(value: Any) -> Any:
    return await value


def _own(checker: TaskCompletionChecker) -> CheckEntry:
    name = getattr(checker, "name", None) or type(checker).__name__
    return CheckEntry(
        Provenance(str(name), ProviderKind.COMPLETION), DEFAULT_TIMEOUT, checker.check
    )


def _record(
    run: Run,
    stop: StopRequest,
    entries: Iterable[CheckEntry],
    status: CompletionStatus,
    *,
    feedback: str | None = None,
    reason: str | None = None,
    progress: str | None = None,
) -> CompletionChecked:
    return run.dispatch(
        CompletionChecked,
        status=status,
        feedback=feedback,
        reason=reason,
        progress=progress,
        sources=tuple(entry.source for entry in entries),
        attempt=run.state.gate.attempts,
        final=stop.final,
        call_index=run.state.calls - 1,
        turn=run.state.turn,
    )
