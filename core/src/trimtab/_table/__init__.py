"""A prompt's compiled providers: what a run calls, in the prompt's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab._boundary import Ask
from trimtab._events import DecisionPoint, Provenance
from trimtab._events.guidance import ClassificationResult, Proposal
from trimtab._policy import GuidanceProviderConfig

if TYPE_CHECKING:
    from pathlib import Path

    from trimtab._contract import FeedbackContext, TaskCompletionContext
    from trimtab._events.guidance import Feedback, ProviderSkipped
    from trimtab._policy import FeedbackTrigger, ProviderConfig
    from trimtab._policy.feedback import TaskCompletionResult
    from trimtab._types.limits import Budget

FeedbackDelivery = Literal["first", "all"]


ProviderResult = Proposal | ClassificationResult | None


@attrs.frozen(eq=False, repr=False)
class GuidanceEntry:
    """One guidance provider at one decision point.

    Attributes:
        ask: asks the provider. Returns None if it has nothing to say or is not confident enough;
            a proposal; or a classification: relevant, so that `provide` makes the text, or not
            relevant but with an episode, which has ended.
        category: of its injections that name none.
        provide: makes the text of a relevant classification; None if `ask` returns proposals.
        paces_itself: whether only limits apply to it, no pauses.
    """

    ask: Ask
    config: GuidanceProviderConfig
    order: int
    category: str
    provide: Ask | None = None
    paces_itself: bool = False
    source: Provenance = attrs.field(
        init=False, default=attrs.Factory(lambda entry: entry.ask.source, takes_self=True)
    )
    name: str = attrs.field(
        init=False, default=attrs.Factory(lambda entry: entry.ask.source.name, takes_self=True)
    )


@attrs.frozen(eq=False, repr=False)
class FeedbackEntry:
    """One feedback provider and when it is asked.

    Attributes:
        limits_only: whether it is about limits: a run without deadline and budget, on a host
            without a limit of turns, never asks it.
    """

    source: Provenance
    trigger: FeedbackTrigger
    ask: Callable[[FeedbackContext], Feedback | None]
    limits_only: bool = False


@attrs.frozen(eq=False, repr=False)
class CheckEntry:
    source: Provenance
    timeout: float
    check: Callable[[TaskCompletionContext], TaskCompletionResult]


RunHook = tuple[Provenance, Callable[[Any], object]]


@attrs.frozen(eq=False, repr=False)
class PromptTable:
    """All providers of one prompt, ready to call.

    Attributes:
        recorders: the ``open`` of each recorder.
        settings: of all providers that were loaded.
        state_folder: where the prompt's recorders keep their files; it may not exist yet.
        budget: of a run whose host gives none.
    """

    guides: Mapping[DecisionPoint, tuple[GuidanceEntry, ...]] = attrs.field(factory=dict)
    feedback: tuple[FeedbackEntry, ...] = ()
    checks: tuple[CheckEntry, ...] = ()
    opened: tuple[RunHook, ...] = ()
    closed: tuple[RunHook, ...] = ()
    recorders: tuple[RunHook, ...] = ()
    settings: tuple[ProviderConfig, ...] = ()
    skipped: tuple[ProviderSkipped, ...] = ()
    guidance_limit: int = 3
    feedback_delivery: FeedbackDelivery = "first"
    state_folder: Path | None = None
    budget: Budget | None = None

    @property
    def sources(self) -> tuple[Provenance, ...]:
        """All providers, each once, in the order of the prompt."""
        guides = sorted((e.order, e.source) for entries in self.guides.values() for e in entries)
        found = [source for _, source in guides]
        found += [entry.source for entry in self.feedback]
        found += [entry.source for entry in self.checks]
        found += [source for source, _ in self.recorders]
        return tuple(dict.fromkeys(found))
