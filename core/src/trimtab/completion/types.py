"""The records of completion checks (seed 003)."""

from __future__ import annotations

from collections.abc import Awaitable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import attrs

from trimtab.plugins.source import Source
from trimtab.session.context import RunContext
from trimtab.session.events import Event

if TYPE_CHECKING:
    pass


class CompletionStatus(StrEnum):
    """What a check found, or why it was not made."""

    OK = "ok"
    INCOMPLETE = "incomplete"
    UNVERIFIED = "unverified"
    SKIPPED = "skipped"


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


@attrs.frozen(kw_only=True)
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


@attrs.frozen(kw_only=True)
class CompletionChecked(Event):
    """The gate was asked whether the agent may stop.

    Args:
        status: what came of it; only `INCOMPLETE` sends the agent back.
        feedback: for the agent where incomplete.
        reason: why it was skipped or could not be verified, for the record.
        sources: the providers that were asked, in order; an incomplete verdict is the last one's.
        attempt: how often the run had been checked before.
        progress: the checker's mark of progress.
        final: asked after the end, when nothing could be sent back.
    """

    status: CompletionStatus
    feedback: str | None = None
    reason: str | None = None
    sources: tuple[Source, ...] = ()
    attempt: int = 0
    progress: str | None = None
    final: bool = False
    call_index: int = -1
    turn: int = 0

    @property
    def may_stop(self) -> bool:
        """Whether the agent may stop: everything but incomplete lets it."""
        return self.status is not CompletionStatus.INCOMPLETE
