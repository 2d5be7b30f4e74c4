"""Tells the agent that its lease is lost, or that a limit of its lease is near."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from trimtab import Feedback, FeedbackTrigger
from trimtab_worker._events import LeaseCapNear, LeaseEvent, LeaseLost, LeaseRegained

if TYPE_CHECKING:
    from trimtab import FeedbackContext

NAME = "lease"


@attrs.frozen
class LeaseFeedback:
    """Speaks once after each change: the lease was lost, regained, or its limit is near."""

    name: str = attrs.field(default=NAME, init=False)
    default_trigger: FeedbackTrigger = attrs.field(
        factory=lambda: FeedbackTrigger(every_n_calls=1), init=False
    )

    def should_run(self, *, context: FeedbackContext) -> bool:
        """Whether something happened that the agent was not told."""
        return _untold(context) is not None

    def provide(self, *, context: FeedbackContext) -> Feedback | None:
        """Say what happened to the lease."""
        event = _untold(context)
        if isinstance(event, LeaseLost):
            return Feedback(
                provider_name=NAME,
                summary="The lease on this task was lost: another worker may be doing it now.",
                suggestions=(
                    "Make no further changes outside this session.",
                    "Say what is done and what is not, and end.",
                ),
                severity="warning",
            )
        if isinstance(event, LeaseCapNear):
            left = max(0, round(event.remaining))
            return Feedback(
                provider_name=NAME,
                summary=f"This task ends in {left} seconds; the time can't be extended.",
                suggestions=("Save what is done, and end before that.",),
                severity="warning",
            )
        return None


def _untold(context: FeedbackContext) -> LeaseEvent | None:
    """The run's last event of its lease, where nothing was said since; None if it was."""
    events = [
        event
        for kind in (LeaseLost, LeaseRegained, LeaseCapNear)
        for event in context.session[kind].all()[-1:]
        if event.run_id in ("", context.run_id)
    ]
    latest = max(events, key=_when, default=None)
    if latest is None or isinstance(latest, LeaseRegained):
        return None
    said = context.last_feedback_for_provider(NAME)
    return latest if said is None or _when(said) < _when(latest) else None


def _when(event: LeaseEvent | Feedback) -> float:
    return event.at.timestamp() if event.at is not None else 0.0
