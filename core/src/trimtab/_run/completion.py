"""Whether an agent may stop, when it must, and the feedback that it reads meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from trimtab._boundary import Ask
from trimtab._contract import FeedbackContext, TaskCompletionContext
from trimtab._events.guidance import (
    CompletionChecked,
    CompletionStatus,
    Feedback,
    FeedbackSuppressed,
    ProviderSkipped,
    StopRequested,
)
from trimtab._policy.feedback import Mark, TaskCompletionResult, seriousness
from trimtab._policy.guidance import in_shadow
from trimtab._table import CheckEntry, FeedbackEntry
from trimtab._types.errors import TrimtabError
from trimtab._types.text import plural, quote

if TYPE_CHECKING:
    from trimtab._events import CompletionAsked, DecisionPoint, ToolInvoked
    from trimtab._run import OpenRun
    from trimtab._table import GuidanceEntry


def check(
    run: OpenRun, stop: CompletionAsked, own: tuple[CheckEntry, ...] = ()
) -> CompletionChecked:
    """Ask the prompt's checkers, then the client's own, and record the verdict."""
    entries = (*run.prompt.table.checks, *own)
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
    progress = verdict.progress or verdict.feedback
    why = None if stop.final else run.state.gate.exhausted(progress)
    status = CompletionStatus.SKIPPED if why else CompletionStatus.INCOMPLETE
    return _record(
        run, stop, asked, status, feedback=verdict.feedback, reason=why, progress=progress
    )


def _skipped(run: OpenRun, stop: CompletionAsked) -> str | None:
    reasons = (
        (run.state.closed, "the run is closed"),
        (stop.api_error, f"the model's service failed: {stop.api_error}"),
        (stop.background_work, "background work is still running"),
        (stop.awaiting_user, "waiting for the user's reply"),
    )
    return next((reason for holds, reason in reasons if holds), None) or exhausted(run)


def exhausted(run: OpenRun) -> str | None:
    """Return why nothing more may be asked of the model; None if it may."""
    asked = run.state.guidance.stop
    if asked is not None:
        return f"nudges of {asked.provider_name} had no effect"
    if run.deadline is not None and run.deadline.expired:
        return "the deadline has passed"
    limit = run.exhausted_budget()
    return f"the budget is used up: {limit}" if limit else None


def _verdict(
    run: OpenRun, entries: Iterable[CheckEntry], stop: CompletionAsked
) -> tuple[TaskCompletionResult, tuple[CheckEntry, ...]]:
    context = TaskCompletionContext(
        run=run,
        tentative_output=stop.output,
        stop_reason=stop.stop_reason,
        attempt=run.state.gate.attempts,
        final=stop.final,
    )
    worst: TaskCompletionResult | None = None
    asked: list[CheckEntry] = []
    for entry in entries:
        asked.append(entry)
        reply = run.invoker.check(entry, context, entry.timeout)
        result = reply.value or TaskCompletionResult.unverified(
            f"the checker {entry.source.name!r} failed: {reply.error}"
        )
        worst = result if worst is None else max(worst, result, key=seriousness)
        if result.status is CompletionStatus.INCOMPLETE:
            break
    assert worst is not None
    return worst, tuple(asked)


def _record(
    run: OpenRun,
    stop: CompletionAsked,
    entries: Iterable[CheckEntry],
    status: CompletionStatus,
    **said: Any,
) -> CompletionChecked:
    return run.dispatch(
        CompletionChecked,
        status=status,
        **said,
        sources=tuple(entry.source for entry in entries),
        attempt=run.state.gate.attempts,
        final=stop.final,
        call_index=run.state.calls - 1,
        turn=run.state.turn,
    )


class AgentStopped(TrimtabError):
    """Nudges had no effect, and the prompt's ``stop_after`` ends the agent then.

    For runtimes in which a host has no other way to end an agent.

    Args:
        request: what asked for it; its summary is the message.
    """

    def __init__(self, request: StopRequested) -> None:
        super().__init__(request.summary)
        self.request = request


CALLS_LOOKED_AT = 20
CALLS_NAMED = 3
LONGEST_CALL = 120
LONGEST_WORDS = 240
"""A summary that fits on a screen: the calls made most often lately, and what was said last."""


def request_stop(run: OpenRun, entry: GuidanceEntry, episode: str, point: DecisionPoint) -> None:
    """Record that the host is to end the turn, or would be; call it while holding the lock."""
    outcome: Literal["asked", "shadow", "unsupported"] = "asked"
    if in_shadow(entry.config, entry.source, run.run_id):
        outcome = "shadow"
    elif not run.host.stops:
        outcome = "unsupported"
    known = run.state.episodes.open.get(episode)
    nudges = known.nudges if known is not None else 0
    run.dispatch(
        StopRequested,
        provider_name=entry.source.name,
        decision_point=point,
        source=entry.source,
        turn=run.state.turn,
        call_index=run.state.calls - 1,
        episode=episode,
        nudges=nudges,
        summary=_summary(run, entry.source.name, nudges),
        outcome=outcome,
    )


def _summary(run: OpenRun, provider: str, nudges: int) -> str:
    """Return what was tried: what the agent was told last, and what it called most since."""
    words = run.state.guidance.spoken[provider].last_text
    recent = Counter(map(_shown, run.recent_tool_calls(CALLS_LOOKED_AT)))
    tried = [
        call if times == 1 else f"{call} ({times} times)"
        for call, times in recent.most_common(CALLS_NAMED)
    ]
    parts = [
        f"Stopped: {plural(nudges, 'nudge')} of {provider} had no effect.",
        f"The agent was told: {quote(words, LONGEST_WORDS)}",
        f"Its last calls: {'; '.join(tried)}" if tried else "",
    ]
    return "\n".join(filter(None, parts))


def _shown(call: ToolInvoked) -> str:
    import json  # few agents are stopped

    params = json.dumps(call.params, ensure_ascii=False, default=lambda _: "…")
    return f"{call.tool[:40]} {quote(params, LONGEST_CALL)[1:-1]} → {call.outcome.value}"


def feedback(
    run: OpenRun, timeout: float | None, *, replayed: bool = False
) -> tuple[Feedback, ...]:
    """Ask the providers that are due; the first that speaks wins unless the prompt wants all.

    A provider that is due is reserved under the lock, asked outside it, and counted when it
    has spoken, so that parallel calls never deliver one firing twice.
    """
    table = run.prompt.table
    limits = (run.deadline, run.budget, run.host.max_turns)
    limited = any(limit is not None for limit in limits)
    said: list[Feedback] = []
    for entry in table.feedback:
        if entry.limits_only and not limited:
            continue
        spoken = _ask(run, entry, timeout, replayed)
        if spoken is not None:
            said.append(spoken)
            if table.feedback_delivery == "first":
                break
    return () if replayed else tuple(said)


def _ask(
    run: OpenRun, entry: FeedbackEntry, timeout: float | None, replayed: bool
) -> Feedback | None:
    if run.state.quarantined and entry.source.key in run.state.quarantined:
        return None
    name, path, feedback = entry.source.name, entry.trigger.on_file_created, run.state.feedback
    created = path is not None and _exists(run, entry, path, timeout) is True
    with run.session.lock:
        now = Mark(run.state.calls, run.active_seconds)
        is_due = feedback.due(name, entry.trigger, now=now, created=created)
        if not is_due or name in feedback.reserved:
            return None
        feedback.reserved.add(name)
    try:
        value = run.invoker.call(entry, FeedbackContext(run), timeout).value
        if value is None or run.state.closed:
            return None
        return _deliver(run, entry, value, created=created, replayed=replayed)
    finally:
        feedback.reserved.discard(name)


def _exists(run: OpenRun, entry: FeedbackEntry, path: str, timeout: float | None) -> bool | None:
    """Whether a file exists; None without a filesystem, or if that fails (recorded)."""

    def look(path: str) -> bool | None:
        files = FeedbackContext(run).filesystem
        return None if files is None else bool(files.exists(path))

    ask = Ask(entry.source, "on_file_created", look)
    return run.invoker.call(ask, path, timeout).value


def _deliver(
    run: OpenRun, entry: FeedbackEntry, value: Feedback, *, created: bool, replayed: bool
) -> Feedback:
    if created:
        run.state.feedback.created.add(entry.source.name)
    stamped = run.stamp(
        value, provider_name=entry.source.name, call_index=run.state.calls - 1, source=entry.source
    )
    if replayed:
        run.dispatch(FeedbackSuppressed, feedback=stamped, reason="replayed")
    else:
        run.session.dispatch(stamped)
    return stamped


def note_existing_files(run: OpenRun, timeout: float | None) -> None:
    """Look which files of ``on_file_created`` exist already: those will not be created."""
    for entry in run.prompt.table.feedback:
        path = entry.trigger.on_file_created
        if path is None:
            continue
        there = _exists(run, entry, path, timeout)
        if there:
            run.state.feedback.created.add(entry.source.name)
        elif there is None:
            run.dispatch(
                ProviderSkipped,
                source=entry.source,
                hook="give_feedback",
                reason="on_file_created needs a Filesystem that works among the prompt's resources",
            )
