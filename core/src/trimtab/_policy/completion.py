"""Verdicts of completion checkers, and how often the gate may send an agent back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from trimtab._events.providers import MAX_FEEDBACK, CompletionStatus
from trimtab._types.options import text
from trimtab._types.text import shorten

if TYPE_CHECKING:
    from trimtab._events.providers import CompletionChecked

MAX_BLOCKS_WITHOUT_PROGRESS = 3
"""An agent that was told three times what is open and did none of it can't do it, or won't."""
MAX_BLOCKS = 8
"""In one request of the user, also with progress: what is left is for the user to judge."""


@attrs.define(eq=False, repr=False)
class GateState:
    """Blocks of one run: in all, and since the plan last moved."""

    attempts: int = 0
    blocks: int = 0
    stuck: int = 0
    progress: str | None = None

    def exhausted(self, progress: str | None) -> str | None:
        """Return why one more block is not allowed, None if it is."""
        if self.blocks >= MAX_BLOCKS:
            return f"sent back {self.blocks} times in this request"
        stuck = self.stuck if progress == self.progress else 0
        if stuck >= MAX_BLOCKS_WITHOUT_PROGRESS:
            return f"sent back {stuck} times without progress"
        return None

    def checked(self, event: CompletionChecked) -> None:
        """Count one check."""
        self.attempts += 1
        if event.status.value != "incomplete" or event.final:
            return
        self.stuck = self.stuck + 1 if event.progress == self.progress else 1
        self.progress = event.progress
        self.blocks += 1

    def user_spoke(self) -> None:
        """Reset the counts: a new request of the user is a new piece of work."""
        self.blocks = 0
        self.stuck = 0
        self.progress = None


def _bounded(value: Any) -> Any:
    return shorten(value, MAX_FEEDBACK) if isinstance(value, str) else value


def _feedback(result: TaskCompletionResult, attribute: attrs.Attribute[Any], value: Any) -> None:
    text(optional=True)(result, attribute, value)
    if result.status is CompletionStatus.INCOMPLETE and not (value or "").strip():
        raise ValueError("incomplete work needs feedback that tells the agent what is left")


@attrs.frozen
class TaskCompletionResult:
    """The verdict of one checker; make it with `ok`, `incomplete` or `unverified`.

    Args:
        status: `CompletionStatus.OK`, `INCOMPLETE` or `UNVERIFIED`; its plain string is accepted.
        feedback: for the agent if incomplete, for the record otherwise; cut to 4,000 characters.
        progress: any text that changes when work is done (e.g. ``"3/5"``); the gate's count of
            blocks is reset when it changes. If None, the feedback is used.

    Raises:
        TypeError, ValueError: a field has the wrong type, or incomplete work has no feedback.
    """

    status: CompletionStatus = attrs.field(converter=CompletionStatus)
    feedback: str | None = attrs.field(default=None, converter=_bounded, validator=_feedback)
    progress: str | None = attrs.field(default=None, validator=text(optional=True))

    @classmethod
    def ok(cls, feedback: str | None = None) -> TaskCompletionResult:
        """Return the verdict that all required work is done.

        Args:
            feedback: a note for the record, or None.
        """
        return cls(CompletionStatus.OK, feedback)

    @classmethod
    def incomplete(cls, feedback: str, *, progress: str | None = None) -> TaskCompletionResult:
        """Return the verdict that work is left.

        Args:
            feedback: tells the agent what is left.
            progress: as for the class.
        """
        return cls(CompletionStatus.INCOMPLETE, feedback, progress)

    @classmethod
    def unverified(cls, reason: str) -> TaskCompletionResult:
        """Return the verdict that the checker could not look; the agent may stop.

        Args:
            reason: why, for the record.
        """
        return cls(CompletionStatus.UNVERIFIED, reason)

    @property
    def complete(self) -> bool:
        """Whether all required work is done."""
        return self.status is CompletionStatus.OK
