"""Asking the completion checkers whether an agent may stop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._contract.context import TaskCompletionContext
from trimtab._events.providers import CompletionChecked, CompletionStatus
from trimtab._policy.completion import TaskCompletionResult
from trimtab._policy.settings import CompletionCheckerConfig
from trimtab._table.entries import CheckEntry

if TYPE_CHECKING:
    from trimtab._run.open_run import OpenRun


_RANK = {
    CompletionStatus.OK: 0,
    CompletionStatus.UNVERIFIED: 1,
    CompletionStatus.INCOMPLETE: 2,
}


@attrs.frozen(kw_only=True)
class StopRequest:
    """How and why an agent wants to stop, as far as the host knows.

    Args:
        output: what it would end with, if anything.
        reason: why it stops, in the host's words.
        background_work: whether something it started still runs and will wake it.
        awaiting_user: whether it has asked the user, or the user has paused it.
        api_error: the error's text, if the turn ended because the model's service failed.
        final: whether the run has ended already, so that the verdict can only be reported.
    """

    output: Any = None
    reason: str | None = None
    background_work: bool = False
    awaiting_user: bool = False
    api_error: str | None = None
    final: bool = False


def check(run: OpenRun, stop: StopRequest, extra: Iterable[Any] = ()) -> CompletionChecked:
    """Ask the prompt's checkers, then the client's own, and record the verdict.

    Args:
        run: the run that asks.
        stop: how and why the agent wants to stop.
        extra: the client's own checkers: objects, entry names, ``enable(…)`` or
            `CompletionCheckerConfig`.

    Raises:
        ProviderError: one of `extra` can't be used; nothing is recorded.
    """
    entries = (*run.prompt.table.checks, *own_checks(extra))
    if not entries:
        return CompletionChecked(status=CompletionStatus.SKIPPED, reason="no completion checker")
    why = _skipped(run, stop)
    if why:
        return _record(run, stop, (), CompletionStatus.SKIPPED, reason=why)
    verdict, asked = _verdict(run, entries, stop)
    if verdict.status is CompletionStatus.UNVERIFIED:
        return _record(run, stop, asked, verdict.status, reason=verdict.feedback)
    if verdict.status is CompletionStatus.OK:
        return _record(run, stop, asked, verdict.status, feedback=verdict.feedback)
    return _block(run, stop, asked, verdict)


def own_checks(checkers: Iterable[Any]) -> tuple[CheckEntry, ...]:
    """Return a client's own checkers, resolved and validated like those of a prompt.

    Args:
        checkers: objects, entry names, ``enable(…)`` or `CompletionCheckerConfig`.

    Raises:
        ProviderError: one can't be used; the message names it and says what to do.
    """
    if not checkers:
        return ()
    from trimtab._plugins.config_tables import Configuration
    from trimtab._plugins.resolution import resolve
    from trimtab._table.compiling import compile_check

    entries = []
    for checker in checkers:
        if isinstance(checker, CheckEntry):
            entries.append(checker)
            continue
        wrapped = isinstance(checker, CompletionCheckerConfig)
        config = checker if wrapped else CompletionCheckerConfig(checker)
        entries.append(compile_check(resolve(config, Configuration()), config))
    return tuple(entries)


def _block(
    run: OpenRun, stop: StopRequest, entries: tuple[CheckEntry, ...], verdict: TaskCompletionResult
) -> CompletionChecked:
    progress = verdict.progress or verdict.feedback
    why = None if stop.final else run.state.gate.exhausted(progress)
    status = CompletionStatus.SKIPPED if why else CompletionStatus.INCOMPLETE
    return _record(
        run, stop, entries, status, feedback=verdict.feedback, reason=why, progress=progress
    )


def _skipped(run: OpenRun, stop: StopRequest) -> str | None:
    asked = run.state.guidance.stop
    reasons = (
        (run.state.closed, "the run is closed"),
        (stop.api_error, f"the model's service failed: {stop.api_error}"),
        (asked, f"nudges of {asked.provider_name if asked else ''} had no effect"),
        (stop.background_work, "background work is still running"),
        (stop.awaiting_user, "waiting for the user's reply"),
        (run.deadline is not None and run.deadline.expired, "the deadline has passed"),
    )
    found = next((reason for holds, reason in reasons if holds), None)
    limit = None if found else run.exhausted_budget()
    return f"the budget is used up: {limit}" if limit else found


def _verdict(
    run: OpenRun, entries: Iterable[CheckEntry], stop: StopRequest
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


def _ask(run: OpenRun, entry: CheckEntry, context: TaskCompletionContext) -> TaskCompletionResult:
    reply = run.invoker.check(entry.source, entry.check, context, entry.timeout)
    if reply.value is None:
        failure = f"the checker {entry.source.name!r} failed: {reply.error}"
        return TaskCompletionResult.unverified(failure)
    return reply.value


def _record(
    run: OpenRun,
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
