"""Records and events of guidance, feedback, completion checks, and problems with providers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab._events import DecisionPoint, Delivery, Event, Provenance
from trimtab._types.options import (
    as_tuple,
    instance_of,
    items_of,
    names_known,
    number,
    one_of,
    text,
    tuple_of,
    yes_or_no,
)
from trimtab._types.text import CONTROL_CHARACTERS, render_block, shorten, shown

if TYPE_CHECKING:
    from datetime import datetime

KEY = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MAX_CONTENT = 500
"""Characters of one nudge: specification 001. A longer one costs attention in every request."""


def _key(_: object, attribute: attrs.Attribute[str], value: Any) -> None:
    if not isinstance(value, str) or not KEY.fullmatch(value):
        raise ValueError(f"{attribute.name} {shown(value)} does not match {KEY.pattern}")


def _content(_: object, attribute: attrs.Attribute[str], value: Any) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_CONTENT:
        given = f"{len(value)} of them" if isinstance(value, str) else shown(value)
        what = f"text of 1 to {MAX_CONTENT} characters, not {given}"
        raise ValueError(f"{attribute.name} must be {what}")
    if CONTROL_CHARACTERS.search(value):
        raise ValueError(f"{attribute.name} holds control characters; escape them first")


@names_known()
@attrs.frozen
class GuidanceInjection:
    """One piece of guidance.

    Args:
        key: identifier, ``^[a-z0-9][a-z0-9._-]{0,63}$``.
        content: what the agent reads, 1–500 characters, no control characters.
        priority: lower speaks first.
        category: grouping, e.g. ``"diagnostic"``; one injection per category and decision. The
            provider's own category if empty.
        source: the provider's name; core fills it in.

    Raises:
        TypeError, ValueError: a field has the wrong type or is out of bounds.
    """

    key: str = attrs.field(validator=_key)
    content: str = attrs.field(validator=_content)
    priority: int = attrs.field(default=100, validator=instance_of(int))
    category: str = attrs.field(default="", validator=text())
    source: str = attrs.field(default="", validator=text())


class _Finding:
    """Keeps what a provider found beside the fields of a record, so that nothing records it."""

    __slots__ = ("_found",)


@names_known()
@attrs.frozen(init=False)
class ClassificationResult(_Finding):
    """Whether guidance applies.

    Args:
        relevant: whether to inject.
        confidence: 0.0–1.0.
        reason: why, in a few words; goes to the record, not to the agent.
        episode: names the one problem that is meant, e.g. the fingerprint of a loop, so that
            core can tell a second problem from the first; the injection's key if None.
        found: what the provider found, any object: `provide` reads it as ``context.found``, and
            need not look at the run again, which may have gone on. It is not recorded.

    Raises:
        TypeError, ValueError: a field has the wrong type or is out of bounds.
    """

    relevant: bool = attrs.field(validator=yes_or_no())
    confidence: float = attrs.field(default=1.0, validator=number(0, 1))
    reason: str | None = attrs.field(default=None, validator=text(optional=True))
    episode: str | None = attrs.field(default=None, validator=text(optional=True))

    def __init__(
        self,
        relevant: bool,
        confidence: float = 1.0,
        reason: str | None = None,
        episode: str | None = None,
        *,
        found: Any = None,
    ) -> None:
        self.__attrs_init__(relevant, confidence, reason, episode)  # pyright: ignore[reportAttributeAccessIssue]
        object.__setattr__(self, "_found", found)

    @property
    def found(self) -> Any:
        """What the provider found, until the event is made; None afterwards."""
        return getattr(self, "_found", None)


NOT_RELEVANT = ClassificationResult(relevant=False, confidence=0.0)
CERTAIN = ClassificationResult(relevant=True)


@names_known()
@attrs.frozen
class Proposal:
    """What a guidance hook returns: the text and why.

    Args:
        injection: the text.
        classification: why it applies, and how sure the provider is; certain by default.
    """

    injection: GuidanceInjection
    classification: ClassificationResult = CERTAIN


@attrs.frozen(kw_only=True, eq=False, repr=False)
class GuidanceDelivered(Event):
    """Guidance was handed to the host.

    Args:
        provider_name: who says it.
        injection: what the agent reads.
        decision_point: where.
        classification: why.
        delivery: how the host places it.
        source: where the provider comes from.
        turn: the run's turn, from 0; -1 before the first.
        call_index: 0-based index of the run's last ended call; -1 before the first.
        level: of the nudge: 1 nudge, 2 firmer, 3 suggest consultation.
        episode: name of the problem; empty if the provider paces itself.
    """

    provider_name: str
    injection: GuidanceInjection
    decision_point: DecisionPoint
    classification: ClassificationResult
    delivery: Delivery
    source: Provenance
    turn: int
    call_index: int
    level: int
    episode: str

    @property
    def timestamp(self) -> Any:
        """When it was delivered (another name for `at`)."""
        return self.at


@attrs.frozen(kw_only=True, eq=False, repr=False)
class GuidanceSuppressed(Event):
    """Guidance was proposed and not delivered.

    Args:
        provider_name, decision_point, classification, source, turn, call_index, episode: as for
            `GuidanceDelivered`.
        reason: which rule held it back; ``"in shadow"`` or ``"replayed"`` if it counts like a
            delivery.
        counted: the injection, if it counts.
        in_history: whether a counted text stands in the model's history.
    """

    provider_name: str
    decision_point: DecisionPoint
    classification: ClassificationResult
    source: Provenance
    turn: int
    call_index: int
    episode: str
    reason: str
    counted: GuidanceInjection | None = None
    in_history: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StopRequested(Event):
    """Nudges had no effect, and the host was to end the turn (`GuidanceProviderConfig.stop_after`).

    Args:
        provider_name, decision_point, source, turn, call_index, episode: as for
            `GuidanceDelivered`.
        nudges: how many there were about the problem.
        summary: what was tried, for the user; tool names and arguments in it are quoted.
        outcome: ``"asked"``; ``"shadow"`` if the provider is only watched; ``"unsupported"`` if
            the host declares that it can't end a turn. Only ``"asked"`` ends one.
    """

    provider_name: str
    decision_point: DecisionPoint
    source: Provenance
    turn: int
    call_index: int
    episode: str
    nudges: int
    summary: str
    outcome: Literal["asked", "shadow", "unsupported"]


def format_guidance(injections: Iterable[GuidanceInjection]) -> str:
    """Return one tagged, escaped block per injection, a line each.

    Args:
        injections: in their order; empty text if there are none.

    Raises:
        TypeError: one of them is something else.
    """
    several = tuple_of("injections", injections, GuidanceInjection)
    return "\n".join(render_block("guidance", i.content, source=i.source) for i in several)


MAX_FEEDBACK = 4_000
"""Characters of one block of feedback."""
Severity = Literal["info", "caution", "warning"]


@names_known()
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


@names_known()
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
