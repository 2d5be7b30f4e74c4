"""Verdicts of completion checkers, and how often the gate may block."""

from __future__ import annotations

import attrs

from trimtab._events.providers import CompletionChecked, CompletionStatus


@attrs.frozen
class TaskCompletionResult:
    """The verdict of one checker; make it with `ok`, `incomplete` or `unverified`.

    Args:
        status: `CompletionStatus.OK`, `INCOMPLETE` or `UNVERIFIED`.
        feedback: for the agent where incomplete, for the record otherwise.
        progress: any text that changes when work is done (e.g. ``"3/5"``); the gate's count of
            blocks starts anew when it changes. The feedback serves where it is None.
    """

    status: CompletionStatus
    feedback: str | None = None
    progress: str | None = None

    @classmethod
    def ok(cls, feedback: str | None = None) -> TaskCompletionResult:
        """All required work is done."""
        return cls(CompletionStatus.OK, feedback)

    @classmethod
    def incomplete(cls, feedback: str, *, progress: str | None = None) -> TaskCompletionResult:
        """Work is left; `feedback` tells the agent which."""
        return cls(CompletionStatus.INCOMPLETE, feedback, progress)

    @classmethod
    def unverified(cls, reason: str) -> TaskCompletionResult:
        """The checker could not look; `reason` goes on record and the agent may stop."""
        return cls(CompletionStatus.UNVERIFIED, reason)

    @property
    def complete(self) -> bool:
        return self.status is CompletionStatus.OK


MAX_BLOCKS_WITHOUT_PROGRESS = 3
MAX_BLOCKS = 8


@attrs.define(eq=False, repr=False)
class GateState:
    """Blocks of one run: in all, and since the plan last moved."""

    attempts: int = 0
    blocks: int = 0
    stuck: int = 0
    progress: str | None = None

    def exhausted(self, progress: str | None) -> str | None:
        """Return why one more block is not allowed, None where it is."""
        if self.blocks >= MAX_BLOCKS:
            return f"sent back {self.blocks} times in this request"
        stuck = self.stuck if progress == self.progress else 0
        if stuck >= MAX_BLOCKS_WITHOUT_PROGRESS:
            return f"sent back {stuck} times without progress"
        return None

    def checked(self, event: CompletionChecked) -> None:
        """Count one check."""
        self.attempts += 1
        if event.status is not CompletionStatus.INCOMPLETE or event.final:
            return
        self.stuck = self.stuck + 1 if event.progress == self.progress else 1
        self.progress = event.progress
        self.blocks += 1

    def user_spoke(self) -> None:
        """Start anew: a new request of the user is a new piece of work."""
        self.blocks = 0
        self.stuck = 0
        self.progress = None
