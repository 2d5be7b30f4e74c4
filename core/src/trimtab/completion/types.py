"""What completion checkers see and say (seed 003)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, runtime_checkable

import attrs

from trimtab.completion.events import CompletionStatus
from trimtab.session.context import RunContext


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


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TaskCompletionContext(RunContext):
    """What a checker may look at (seed 003).

    Attributes:
        tentative_output: what the agent wants to end with, where there is something.
        stop_reason: the host's word for why it stops.
        attempt: how often this run was checked before, from 0.
        final: whether this is the verification after the end, when nothing can be sent back.
    """

    tentative_output: Any = None
    stop_reason: str | None = None
    attempt: int = 0
    final: bool = False


@runtime_checkable
class TaskCompletionChecker(Protocol):
    """Verifies that required work is done; may do I/O and may be ``async def``."""

    def check(
        self, context: TaskCompletionContext
    ) -> TaskCompletionResult | Awaitable[TaskCompletionResult]:
        """Return the verdict."""
        ...
