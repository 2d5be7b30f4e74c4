"""Verdicts of completion checkers."""

from __future__ import annotations

from typing import Any

import attrs

from trimtab._events.providers import MAX_FEEDBACK, CompletionStatus
from trimtab._types.options import text
from trimtab._types.text import shorten


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
