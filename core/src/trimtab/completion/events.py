"""What a completion check comes to, for the record."""

from __future__ import annotations

from enum import StrEnum

import attrs

from trimtab.plugins.source import Source
from trimtab.session.events import Event


class CompletionStatus(StrEnum):
    """What a check found, or why it was not made."""

    OK = "ok"
    INCOMPLETE = "incomplete"
    UNVERIFIED = "unverified"
    SKIPPED = "skipped"


@attrs.frozen(kw_only=True, eq=False, repr=False)
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
        call_index: number of the run's last tool call, from 0; -1 before the first.
        turn: the run's turn, from 0.
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
