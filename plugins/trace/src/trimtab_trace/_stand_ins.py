"""Stand-ins for a client's own completion checkers, which a trace does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from trimtab import TaskCompletionContext, TaskCompletionResult
from trimtab.events import CompletionChecked, CompletionStatus, ProviderFaulted


@attrs.frozen
class _StandIn:
    """Says at a stop what a checker of the client said when the trace was recorded."""

    name: str
    answer: Callable[[], TaskCompletionResult]

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:  # noqa: ARG002
        return self.answer()


def stand_in(name: str, verdict: CompletionChecked | None, faults: list[Any]) -> _StandIn:
    """Return a checker that answers as the client's own did when the trace was recorded.

    Args:
        name: of the client's checker.
        verdict: what the stop came to; None if the trace ends before it.
        faults: failures that were recorded during the stop.
    """
    errors = [
        one.error for one in faults if isinstance(one, ProviderFaulted) and one.source.name == name
    ]
    if errors:
        return _StandIn(name, lambda: _raise(errors[0]))
    if verdict is None or not verdict.sources or verdict.sources[-1].name != name:
        return _StandIn(name, TaskCompletionResult.ok)
    feedback, progress = verdict.feedback or "", verdict.progress
    if verdict.status is CompletionStatus.UNVERIFIED:
        return _StandIn(name, lambda: TaskCompletionResult.unverified(verdict.reason or ""))
    if verdict.status is CompletionStatus.OK:
        return _StandIn(name, lambda: TaskCompletionResult.ok(verdict.feedback))
    return _StandIn(name, lambda: TaskCompletionResult.incomplete(feedback, progress=progress))


def _raise(error: str) -> TaskCompletionResult:
    """Raise what describes itself as `error`."""
    name, _, message = error.partition(": ")
    kind = type(name if name.isidentifier() else "RecordedError", (Exception,), {})
    raise kind(message)
