"""The compiled table of a prompt's providers: what a run calls, in the prompt's order.

pluggy has checked the contract when the providers were loaded; here is what is left of it on
the hot path: plain calls (DESIGN 3, "Calls").
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab.errors import ProviderInvalid
from trimtab.feedback.types import Feedback, FeedbackTrigger
from trimtab.guidance.types import ClassificationResult, GuidanceInjection, Proposal
from trimtab.plugins.settings import (
    CompletionCheckerConfig,
    FeedbackProviderConfig,
    GuidanceProviderConfig,
)
from trimtab.plugins.source import Kind, Source
from trimtab.runtime.host import DecisionPoint

if TYPE_CHECKING:
    from trimtab.completion.types import TaskCompletionContext
    from trimtab.feedback.types import FeedbackContext
    from trimtab.guidance.types import GuidanceContext
    from trimtab.plugins.config import Configuration
    from trimtab.plugins.events import ProviderSkipped
    from trimtab.plugins.provider import LoadedProvider

FeedbackDelivery = Literal["first", "all"]


class WrongReturn(TypeError):
    """A provider returned something that its hook doesn't take."""


@attrs.frozen
class Withheld:
    """Guidance that applies and must wait; `reason` says why."""

    classification: ClassificationResult
    reason: str


def expect(value: object, kind: type | tuple[type, ...], hook: str) -> None:
    """Raise `WrongReturn` where `value` is not of `kind`; a stray coroutine is closed."""
    if isinstance(value, kind):
        return
    if inspect.iscoroutine(value):
        value.close()
    raise WrongReturn(f"{hook} returned {type(value).__name__}")


@attrs.frozen
class GuideEntry:
    """One guidance provider at one decision point."""

    source: Source
    config: GuidanceProviderConfig
    order: int
    hook: str
    direct: Callable[[GuidanceContext], object] | None = None
    classify: Callable[..., Any] | None = None
    provide: Callable[..., Any] | None = None

    def propose(
        self, context: GuidanceContext
    ) -> Proposal | Withheld | ClassificationResult | None:
        """Ask the provider.

        Returns:
            a proposal; or what must wait; or a classification that is not relevant and names
            an episode, which has ended thereby; or None.
        """
        if self.direct is not None:
            return self._from_hook(self.direct(context))
        assert self.classify is not None
        verdict = self.classify(context=context)
        if verdict.__class__ is not ClassificationResult:
            expect(verdict, ClassificationResult, "classify")
        if not verdict.relevant:
            return None if verdict.episode is None else verdict  # type: ignore[no-any-return]
        return self._provide(context, verdict)

    def _provide(
        self, context: GuidanceContext, verdict: ClassificationResult
    ) -> Proposal | Withheld | None:
        assert self.provide is not None
        if verdict.confidence < self.config.min_confidence:
            return None
        if verdict.episode is not None:
            guidance = context.run.state.guidance
            turn = context.run.state.turn
            reason = guidance.held_back(self.source.name, verdict.episode, self.config, turn)
            if reason:
                return Withheld(verdict, reason)
        injection = self.provide(context=attrs.evolve(context, classification=verdict))
        expect(injection, GuidanceInjection, "provide")
        return Proposal(injection, verdict)

    def _from_hook(self, value: object) -> Proposal | None:
        if value is None:
            return None
        expect(value, (Proposal, GuidanceInjection), self.hook)
        proposal = value if isinstance(value, Proposal) else Proposal(value)  # type: ignore[arg-type]
        verdict = proposal.classification
        passes = verdict.relevant and verdict.confidence >= self.config.min_confidence
        return proposal if passes else None


@attrs.frozen
class FeedbackEntry:
    """One feedback provider and when it is asked."""

    source: Source
    trigger: FeedbackTrigger
    direct: Callable[[FeedbackContext], object] | None = None
    should_run: Callable[..., Any] | None = None
    provide: Callable[..., Any] | None = None

    def speak(self, context: FeedbackContext) -> Feedback | None:
        """Ask the provider; None is nothing to say."""
        if self.direct is not None:
            value = self.direct(context)
        else:
            assert self.should_run is not None and self.provide is not None
            wanted = self.should_run(context=context)
            expect(wanted, bool, "should_run")
            value = self.provide(context=context) if wanted else None
        expect(value, (Feedback, type(None)), "provide")
        return value  # type: ignore[return-value]


@attrs.frozen
class CheckEntry:
    """One completion checker."""

    source: Source
    timeout: float
    check: Callable[[TaskCompletionContext], Any]


RunHook = tuple[Source, Callable[[Any], object]]


@attrs.frozen
class PromptTable:
    """All providers of one prompt, ready to call."""

    guides: Mapping[DecisionPoint, tuple[GuideEntry, ...]] = attrs.field(factory=dict)
    feedback: tuple[FeedbackEntry, ...] = ()
    checks: tuple[CheckEntry, ...] = ()
    opened: tuple[RunHook, ...] = ()
    closed: tuple[RunHook, ...] = ()
    skipped: tuple[ProviderSkipped, ...] = ()
    guidance_limit: int = 3
    feedback_delivery: FeedbackDelivery = "first"

    @property
    def sources(self) -> tuple[Source, ...]:
        """All providers, each once, in the order of the prompt."""
        guides = sorted((e.order, e.source) for entries in self.guides.values() for e in entries)
        found = [source for _, source in guides]
        found += [entry.source for entry in self.feedback]
        found += [entry.source for entry in self.checks]
        return tuple(dict.fromkeys(found))


def build_table(
    prompt_name: str,
    *,
    guidance: Sequence[GuidanceProviderConfig] = (),
    feedback: Sequence[FeedbackProviderConfig] = (),
    completion: Sequence[CompletionCheckerConfig] = (),
    guidance_limit: int = 3,
    feedback_delivery: FeedbackDelivery = "first",
    config: Configuration | Literal["auto"] | None = "auto",
) -> PromptTable:
    """Resolve what a prompt declares, or what its table in `config` says instead, kind by kind.

    Raises:
        ProviderError: a provider can't be used; the message names it and the remedy.
        ConfigurationError: the configuration file is wrong.
    """
    from trimtab.plugins.config import Configuration, PromptSettings, active_configuration
    from trimtab.plugins.resolution import resolve_all

    if config == "auto":
        config = active_configuration()
    configuration = config or Configuration()
    table = configuration.prompts.get(prompt_name) or PromptSettings()
    wanted = (
        *_either(table.guidance, guidance),
        *_either(table.feedback, feedback),
        *_either(table.completion, completion),
    )
    resolution = resolve_all(wanted, configuration)
    return compile_table(
        resolution.providers,
        skipped=resolution.skipped,
        guidance_limit=table.guidance_limit or guidance_limit,
        feedback_delivery=table.feedback_delivery or feedback_delivery,
    )


def _either(said: Sequence[Any] | None, declared: Sequence[Any]) -> Sequence[Any]:
    return declared if said is None else said


def compile_table(
    loaded: Sequence[LoadedProvider],
    *,
    skipped: Iterable[ProviderSkipped] = (),
    guidance_limit: int = 3,
    feedback_delivery: FeedbackDelivery = "first",
) -> PromptTable:
    """Lay out loaded providers for the calls of a run.

    Raises:
        ProviderInvalid: two providers of one kind share a name.
    """
    _refuse_twins(loaded)
    return PromptTable(
        guides={point: _guides(loaded, point) for point in DecisionPoint},
        feedback=tuple(_feedback(p) for p in loaded if p.source.kind is Kind.FEEDBACK),
        checks=tuple(_check(p) for p in loaded if p.source.kind is Kind.COMPLETION),
        opened=_run_hooks(loaded, "run_opened"),
        closed=_run_hooks(loaded, "run_closed"),
        skipped=tuple(skipped),
        guidance_limit=guidance_limit,
        feedback_delivery=feedback_delivery,
    )


def _refuse_twins(loaded: Iterable[LoadedProvider]) -> None:
    seen: set[tuple[str, str]] = set()
    for provider in loaded:
        key = (provider.source.kind, provider.source.name)
        if key in seen:
            raise ProviderInvalid(
                f"two {key[0]} providers of one prompt are called {key[1]!r}: counts and limits "
                "are kept by name, so give one another name or leave it out"
            )
        seen.add(key)


def _guides(loaded: Iterable[LoadedProvider], point: DecisionPoint) -> tuple[GuideEntry, ...]:
    return tuple(
        GuideEntry(
            provider.source,
            provider.config,
            order,
            hook,
            provider.hooks.get(hook),
            provider.classify,
            provider.provide,
        )
        for order, provider in enumerate(loaded)
        if isinstance(provider.config, GuidanceProviderConfig) and point in provider.points
        for hook in (f"guide_{point.value}",)
    )


def _feedback(provider: LoadedProvider) -> FeedbackEntry:
    assert provider.trigger is not None
    return FeedbackEntry(
        provider.source,
        provider.trigger,
        provider.hooks.get("give_feedback"),
        provider.should_run,
        provider.provide,
    )


def _check(provider: LoadedProvider) -> CheckEntry:
    check = provider.hooks.get("check_completion") or provider.check
    assert isinstance(provider.config, CompletionCheckerConfig) and check is not None
    return CheckEntry(provider.source, provider.config.timeout, check)


def _run_hooks(loaded: Iterable[LoadedProvider], hook: str) -> tuple[RunHook, ...]:
    return tuple((p.source, p.hooks[hook]) for p in loaded if hook in p.hooks)
