"""Asking the feedback providers of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab._contract.context import FeedbackContext
from trimtab._events.providers import Feedback, FeedbackSuppressed, ProviderSkipped
from trimtab._policy.feedback import Mark
from trimtab._table.entries import FeedbackEntry

if TYPE_CHECKING:
    from trimtab._run.open_run import OpenRun


def feedback(
    run: OpenRun, timeout: float | None, *, replayed: bool = False
) -> tuple[Feedback, ...]:
    """Ask the providers that are due; the first that speaks wins unless the prompt wants all.

    A provider that is due is reserved under the lock, asked outside it, and counted when it
    has spoken, so that parallel calls never deliver one firing twice.

    Args:
        run: the run that asks.
        timeout: seconds per provider; None for no limit.
        replayed: count what would be delivered, and return nothing.
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
    name = entry.source.name
    created = _created(run, entry, timeout)
    with run.session.lock:
        if not _due(run, entry, created=created) or not run.state.feedback.reserve(name):
            return None
    try:
        context = FeedbackContext(run)
        value = run.invoker.call(entry.source, "give_feedback", entry.ask, context, timeout).value
        if value is None or run.state.closed:
            return None
        return _deliver(run, entry, value, created=created, replayed=replayed)
    finally:
        run.state.feedback.release(name)


def _due(run: OpenRun, entry: FeedbackEntry, *, created: bool) -> bool:
    return run.state.feedback.due(
        entry.source.name,
        entry.trigger,
        now=Mark(run.state.calls, run.active_seconds),
        created=created,
    )


def _created(run: OpenRun, entry: FeedbackEntry, timeout: float | None) -> bool:
    path = entry.trigger.on_file_created
    return path is not None and _exists(run, entry, path, timeout) is True


def _exists(run: OpenRun, entry: FeedbackEntry, path: str, timeout: float | None) -> bool | None:
    """Whether a file exists; None without a filesystem, or if that fails (recorded)."""

    def look(path: str) -> bool | None:
        files = FeedbackContext(run).filesystem
        return None if files is None else bool(files.exists(path))

    return run.invoker.call(entry.source, "on_file_created", look, path, timeout).value


def _deliver(
    run: OpenRun, entry: FeedbackEntry, value: Feedback, *, created: bool, replayed: bool
) -> Feedback:
    if created:
        run.state.feedback.file_created(entry.source.name)
    stamped = run.stamp(
        value,
        provider_name=entry.source.name,
        call_index=run.state.calls - 1,
        source=entry.source,
    )
    if replayed:
        run.dispatch(FeedbackSuppressed, feedback=stamped, reason="replayed")
    else:
        run.session.dispatch(stamped)
    return stamped


def note_existing_files(run: OpenRun, timeout: float | None) -> None:
    """Look which files of ``on_file_created`` exist already: those will not be created.

    Args:
        run: the run that is being opened.
        timeout: seconds per look; None for no limit.
    """
    for entry in run.prompt.table.feedback:
        path = entry.trigger.on_file_created
        if path is None:
            continue
        there = _exists(run, entry, path, timeout)
        if there:
            run.state.feedback.file_created(entry.source.name)
        elif there is None:
            run.dispatch(
                ProviderSkipped,
                source=entry.source,
                hook="give_feedback",
                reason="on_file_created needs a Filesystem that works among the prompt's resources",
            )
