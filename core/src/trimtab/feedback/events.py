"""What feedback providers say (seeds 001 and 002)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from trimtab.convert import as_tuple
from trimtab.plugins.source import Source
from trimtab.session.events import Event

if TYPE_CHECKING:
    from datetime import datetime

Severity = Literal["info", "caution", "warning"]


@attrs.frozen
class Observation:
    """One detail that was observed.

    Args:
        category: what kind of detail it is.
        description: what was observed.
        evidence: what shows it, where anything does.
    """

    category: str
    description: str
    evidence: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Feedback(Event):
    """What a feedback provider says.

    Args:
        provider_name: who says it; core puts the entry name there.
        summary: main message.
        observations: details.
        suggestions: recommendations.
        severity: ``"info"``, ``"caution"`` or ``"warning"``.
        call_index: tool calls of the run when it was delivered; filled in by core.
        source: where the provider comes from; filled in by core.
    """

    provider_name: str = ""
    summary: str
    observations: tuple[Observation, ...] = attrs.field(default=(), converter=as_tuple)
    suggestions: tuple[str, ...] = attrs.field(default=(), converter=as_tuple)
    severity: Severity = attrs.field(
        default="info", validator=attrs.validators.in_(("info", "caution", "warning"))
    )
    call_index: int = 0
    source: Source | None = None

    @property
    def timestamp(self) -> datetime | None:
        """When it was delivered (the seeds' name for `at`)."""
        return self.at

    def render(self) -> str:
        """Return the block that the agent reads, tagged and escaped."""
        from trimtab.feedback.rendering import render_feedback

        return render_feedback(self)
