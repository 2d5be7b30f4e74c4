"""Events of feedback, completion checks, and problems with providers."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

import attrs

from trimtab._events.provenance import Provenance
from trimtab._events.run import Event
from trimtab._types.options import as_tuple, items_of, one_of, text
from trimtab._types.text import render_block, shorten

if TYPE_CHECKING:
    from datetime import datetime


MAX_FEEDBACK = 4_000
"""Characters of one block of feedback."""
Severity = Literal["info", "caution", "warning"]


@attrs.frozen
class Observation:
    """One detail that was observed.

    Args:
        category: what kind of detail it is.
        description: what was observed.
        evidence: what shows it, if anything.

    Raises:
        TypeError: a field is not text.
    """

    category: str = attrs.field(validator=text())
    description: str = attrs.field(validator=text())
    evidence: str | None = attrs.field(default=None, validator=text(optional=True))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Feedback(Event):
    """What a feedback provider says.

    Args:
        provider_name: who says it; core puts the entry name there.
        summary: main message.
        observations: details.
        suggestions: recommendations.
        severity: ``"info"``, ``"caution"`` or ``"warning"``.
        call_index: 0-based index of the last ended call when it was delivered, -1 before the
            first; filled in by core.
        source: where the provider comes from; filled in by core.

    Raises:
        TypeError, ValueError: a field has the wrong type or is out of bounds.
    """

    provider_name: str = ""
    summary: str = attrs.field(validator=text(needed=True))
    observations: tuple[Observation, ...] = attrs.field(
        default=(), converter=as_tuple, validator=items_of(Observation)
    )
    suggestions: tuple[str, ...] = attrs.field(
        default=(), converter=as_tuple, validator=items_of(str)
    )
    severity: Severity = attrs.field(default="info", validator=one_of("info", "caution", "warning"))
    call_index: int = -1
    source: Provenance | None = None

    @property
    def timestamp(self) -> datetime | None:
        """When it was delivered (another name for `at`)."""
        return self.at

    def render(self) -> str:
        """Return the block that the agent reads: tagged, escaped, at most 4,000 characters."""
        lines = [self.summary]
        if self.observations:
            lines += ["", *(f"• {o.category}: {o.description}" for o in self.observations)]
        if self.suggestions:
            lines += ["", *(f"→ {suggestion}" for suggestion in self.suggestions)]
        content = shorten("\n".join(lines), MAX_FEEDBACK)
        return render_block("feedback", content, source=self.provider_name, severity=self.severity)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class FeedbackSuppressed(Event):
    """Feedback was due and not delivered; it counts like a delivery.

    Args:
        feedback: what the provider said.
        reason: why the agent does not read it: ``"replayed"``.
    """

    feedback: Feedback
    reason: str


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
        call_index: 0-based index of the run's last ended call; -1 before the first.
        turn: the run's turn, from 0; -1 before the first.
    """

    status: CompletionStatus = attrs.field(converter=CompletionStatus)
    feedback: str | None = None
    reason: str | None = None
    sources: tuple[Provenance, ...] = ()
    attempt: int = 0
    progress: str | None = None
    final: bool = False
    call_index: int = -1
    turn: int = 0

    @property
    def may_stop(self) -> bool:
        """Whether the agent may stop; only incomplete work holds it."""
        return self.status is not CompletionStatus.INCOMPLETE


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProviderEvent(Event):
    """Something about one provider.

    Args:
        source: where the provider comes from.
        hook: which of its hooks or methods was called; empty if none was.
    """

    source: Provenance
    hook: str = ""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProviderSkipped(ProviderEvent):
    """An optional provider was not usable, or a switch turned it off.

    Args:
        reason: why.
    """

    reason: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProviderFaulted(ProviderEvent):
    """A provider raised, was overdue or returned what its hook doesn't take.

    Args:
        error: what it raised, as text.
        turn: the run's turn, from 0; -1 before the first.
        call_index: 0-based index of the run's last ended call; -1 before the first.
    """

    error: str
    turn: int = 0
    call_index: int = -1


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProviderQuarantined(ProviderEvent):
    """A provider is no longer called in this run, after too many failures in a row.

    Args:
        faults: how many.
    """

    faults: int


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProviderSlow(ProviderEvent):
    """A provider took longer than it should.

    Args:
        seconds: how long it took.
    """

    seconds: float


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ObserverFaulted(Event):
    """An observer raised; the record and the other observers are untouched.

    Args:
        observer: its name.
        error: what it raised, as text.
    """

    observer: str
    error: str
