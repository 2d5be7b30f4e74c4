"""A prompt's compiled providers: what a run calls, in the prompt's order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab._events.guidance import ClassificationResult, GuidanceInjection, Proposal
from trimtab._events.provenance import DecisionPoint, Provenance
from trimtab._events.providers import Feedback
from trimtab._policy.settings import GuidanceProviderConfig

if TYPE_CHECKING:
    from pathlib import Path

    from trimtab._contract.context import FeedbackContext, GuidanceContext, TaskCompletionContext
    from trimtab._events.providers import ProviderSkipped
    from trimtab._policy.settings import FeedbackTrigger, ProviderConfig


FeedbackDelivery = Literal["first", "all"]


class WrongReturn(TypeError):
    """A provider returned something that its hook doesn't take."""


def expect(value: object, kind: type, hook: str) -> None:
    """Raise `WrongReturn` if `value` is not of `kind`; a stray coroutine is closed."""
    if not isinstance(value, kind):
        raise wrong_return(value, hook)


def wrong_return(value: object, hook: str) -> WrongReturn:
    """Return the error for a value that a hook doesn't take."""
    if inspect.iscoroutine(value):
        value.close()
    return WrongReturn(f"{hook} returned {type(value).__name__}")


ProviderResult = Proposal | ClassificationResult | None


@attrs.frozen(eq=False, repr=False)
class GuidanceEntry:
    """One guidance provider at one decision point.

    Attributes:
        source: who it is.
        config: the prompt's settings for it.
        order: its place in the prompt.
        hook: the hook's name, for events.
        category: of its injections that name none.
        ask: asks the provider. Returns None if it has nothing to say or is not confident enough;
            a proposal; or a classification: relevant, so that `provide` makes the text, or not
            relevant but with an episode, which has ended.
        provide: makes the text of a relevant classification; None if `ask` returns proposals.
        judge: takes what `ask` returned, unless that is None, and returns what `ask` should;
            None if there is nothing to judge.
        name: of the provider, under which its projection is attached.
    """

    source: Provenance
    config: GuidanceProviderConfig
    order: int
    hook: str
    category: str
    ask: Callable[[GuidanceContext], Any]
    provide: Callable[[GuidanceContext], GuidanceInjection] | None = None
    judge: Callable[[object], ProviderResult] | None = None
    name: str = attrs.field(
        init=False, default=attrs.Factory(lambda entry: entry.source.name, takes_self=True)
    )


@attrs.frozen(eq=False, repr=False)
class FeedbackEntry:
    """One feedback provider and when it is asked.

    Attributes:
        source: who it is.
        trigger: when it is asked.
        ask: asks the provider; returns None if it has nothing to say.
        limits_only: whether it is about deadline and budget: a run without both never asks it.
    """

    source: Provenance
    trigger: FeedbackTrigger
    ask: Callable[[FeedbackContext], Feedback | None]
    limits_only: bool = False


@attrs.frozen(eq=False, repr=False)
class CheckEntry:
    """One completion checker."""

    source: Provenance
    timeout: float
    check: Callable[[TaskCompletionContext], Any]


RunHook = tuple[Provenance, Callable[[Any], object]]


@attrs.frozen(eq=False, repr=False)
class PromptTable:
    """All providers of one prompt, ready to call.

    Attributes:
        guides: guidance providers by decision point.
        feedback: feedback providers.
        checks: completion checkers.
        opened, closed: hooks of the run.
        recorders: the ``open`` of each recorder.
        settings: the settings of all providers that were loaded.
        skipped: providers that were left out, on record.
        guidance_limit: injections per decision.
        feedback_delivery: whether the first provider that speaks is delivered, or all.
        state_folder: where the prompt's recorders keep their files; it may not exist yet.
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

    @property
    def sources(self) -> tuple[Provenance, ...]:
        """All providers, each once, in the order of the prompt."""
        guides = sorted((e.order, e.source) for entries in self.guides.values() for e in entries)
        found = [source for _, source in guides]
        found += [entry.source for entry in self.feedback]
        found += [entry.source for entry in self.checks]
        found += [source for source, _ in self.recorders]
        return tuple(dict.fromkeys(found))
