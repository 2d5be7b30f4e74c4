"""Asking the feedback providers of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from trimtab._contract.context import FeedbackContext
from trimtab._events.providers import Feedback, ProviderSkipped
from trimtab._policy.feedback import Mark
from trimtab._run.invoker import fault_key
from trimtab._table.entries import FeedbackEntry

if TYPE_CHECKING:
    from trimtab._run.run import Run


def feedback(run: Run, limit: float | None) -> tuple[Feedback, ...]:
    """Ask those that are due; first match wins unless the prompt says all.

    A provider that is due is reserved under the lock, asked outside it, and counted when it
    has spoken; so parallel calls never deliver one firing twice.
    """
    table = run.prompt.table
    limited = run.deadline is not None or run.budget is not None
    said: list[Feedback] = []
    for entry in table.feedback:
        if entry.limits_only and not limited:
            continue
        spoken = _ask(run, entry, limit)
        if spoken is not None:
            said.append(spoken)
            if table.feedback_delivery == "first":
                break
    return tuple(said)


def _ask(run: Run, entry: FeedbackEntry, limit: float | None) -> Feedback | None:
    if run.state.quarantined and fault_key(entry.source) in run.state.quarantined:
        return None
    name = entry.source.name
    created = entry.trigger.on_file_created is not None and _created(run, entry)
    with run.session.lock:
        if not _due(run, entry, created=created) or not run.state.feedback.reserve(name):
            return None
    try:
        context = FeedbackContext(run)
        value = run.caller.call(entry.source, "give_feedback", entry.ask, context, limit)
        if value is None or run.state.closed:
            return None
        return _deliver(run, entry, value, created=created)
    finally:
        run.state.feedback.release(name)


def _due(run: Run, entry: FeedbackEntry, *, created: bool) -> bool:
    return run.state.feedback.due(
        entry.source.name,
        entry.trigger,
        now=Mark(run.state.calls, run.active_seconds),
        created=created,
    )


def _created(run: Run, entry: FeedbackEntry) -> bool:
    path = entry.trigger.on_file_created
    files = FeedbackContext(run).filesystem if path else None
    return bool(path and files and files.exists(path))


def _deliver(run: Run, entry: FeedbackEntry, value: Feedback, *, created: bool) -> Feedback:
    if created:
        run.state.feedback.file_created(entry.source.name)
    stamped = run.stamp(
        attrs.evolve(
            value,
            provider_name=entry.source.name,
            call_index=run.state.calls,
            source=entry.source,
        )
    )
    run.session.dispatch(stamped)
    return stamped


def note_existing_files(run: Run) -> None:
    """Look which files of ``on_file_created`` are there already: those will not be created."""
    for entry in run.prompt.table.feedback:
        if entry.trigger.on_file_created is None:
            continue
        if FeedbackContext(run).filesystem is None:
            run.dispatch(
                ProviderSkipped,
                source=entry.source,
                hook="give_feedback",
                reason="on_file_created needs a Filesystem among the prompt's resources",
            )
        elif _created(run, entry):
            run.state.feedback.file_created(entry.source.name)
