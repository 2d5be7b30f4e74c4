"""The compiled table of a prompt's providers: what a run calls, in the prompt's order.

pluggy has checked the contract when the providers were loaded; here is what is left of it on
the hot path: plain calls (DESIGN 3, "Calls").
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab.errors import ConfigurationError, ProviderInvalid
from trimtab.feedback.events import Feedback
from trimtab.guidance.types import ClassificationResult, GuidanceInjection, Proposal
from trimtab.plugins.settings import (
    CompletionCheckerConfig,
    FeedbackProviderConfig,
    GuidanceProviderConfig,
)
from trimtab.plugins.source import Source
from trimtab.runtime.host import DecisionPoint

if TYPE_CHECKING:
    from trimtab.completion.types import TaskCompletionContext
    from trimtab.feedback.types import FeedbackContext, FeedbackTrigger
    from trimtab.guidance.types import GuidanceContext
    from trimtab.plugins.config import Configuration
    from trimtab.plugins.events import ProviderSkipped
    from trimtab.plugins.provider import LoadedProvider
    from trimtab.plugins.settings import ProviderConfig

FeedbackDelivery = Literal["first", "all"]


class WrongReturn(TypeError):
    """A provider returned something that its hook doesn't take."""


@attrs.frozen(eq=False, repr=False)
class Withheld:
    """Guidance that applies and must wait; `reason` says why."""

    classification: ClassificationResult
    reason: str


def expect(value: object, kind: type, hook: str) -> None:
    """Raise `WrongReturn` where `value` is not of `kind`; a stray coroutine is closed."""
    if not isinstance(value, kind):
        raise _wrong(value, hook)


def _wrong(value: object, hook: str) -> WrongReturn:
    if inspect.iscoroutine(value):
        value.close()
    return WrongReturn(f"{hook} returned {type(value).__name__}")


Answer = Proposal | Withheld | ClassificationResult | None


@attrs.frozen(eq=False, repr=False)
class GuideEntry:
    """One guidance provider at one decision point.

    Attributes:
        call: asks the provider; None is nothing to say, the common case.
        read: makes an answer of what it said otherwise: a proposal; or what must wait; or a
            classification that is not relevant and names an episode, which has ended thereby;
            or None where the threshold is not reached.
    """

    source: Source
    config: GuidanceProviderConfig
    order: int
    hook: str
    call: Callable[[GuidanceContext], object]
    read: Callable[[Any], Answer]

    def ask(self, context: GuidanceContext) -> Answer:
        """Return what the provider has to say."""
        value = self.call(context)
        return None if value is None else self.read(value)


def _ask_by_methods(
    source: Source,
    config: GuidanceProviderConfig,
    classify: Callable[..., Any],
    provide: Callable[..., Any],
) -> Callable[[GuidanceContext], Answer]:
    def ask(context: GuidanceContext) -> Answer:
        verdict = classify(context=context)
        if verdict.__class__ is not ClassificationResult:
            expect(verdict, ClassificationResult, "classify")
        if not verdict.relevant:
            return None if verdict.episode is None else verdict
        if verdict.confidence < config.min_confidence:
            return None
        reason = _held_back(context, source, config, verdict.episode)
        if reason:
            return Withheld(verdict, reason)
        injection = provide(context=attrs.evolve(context, classification=verdict))
        expect(injection, GuidanceInjection, "provide")
        return Proposal(injection, verdict)

    return ask


def _held_back(
    context: GuidanceContext, source: Source, config: GuidanceProviderConfig, episode: str | None
) -> str:
    if episode is None:
        return ""
    state = context.run.state
    return state.guidance.held_back(source.name, episode, config, state.turn)


def _as_it_is(answer: Answer) -> Answer:
    return answer


def _read_by_hook(config: GuidanceProviderConfig, hook: str) -> Callable[[object], Answer]:
    def read(value: object) -> Answer:
        proposal = Proposal(value) if isinstance(value, GuidanceInjection) else value
        if not isinstance(proposal, Proposal):
            raise _wrong(value, hook)
        verdict = proposal.classification
        passes = verdict.relevant and verdict.confidence >= config.min_confidence
        return proposal if passes else None

    return read


@attrs.frozen(eq=False, repr=False)
class FeedbackEntry:
    """One feedback provider and when it is asked.

    Attributes:
        ask: asks the provider; None is nothing to say.
        limits_only: it speaks of deadline and budget; a run without both never asks it.
    """

    source: Source
    trigger: FeedbackTrigger
    ask: Callable[[FeedbackContext], Feedback | None]
    limits_only: bool = False


def _feedback_by_methods(
    should_run: Callable[..., Any], provide: Callable[..., Any]
) -> Callable[[FeedbackContext], Feedback | None]:
    def ask(context: FeedbackContext) -> Feedback | None:
        wanted = should_run(context=context)
        expect(wanted, bool, "should_run")
        return _feedback_or_none(provide(context=context), "provide") if wanted else None

    return ask


def _feedback_by_hook(
    call: Callable[[FeedbackContext], object],
) -> Callable[[FeedbackContext], Feedback | None]:
    return lambda context: _feedback_or_none(call(context), "give_feedback")


def _feedback_or_none(value: object, hook: str) -> Feedback | None:
    if value is None or isinstance(value, Feedback):
        return value
    raise _wrong(value, hook)


@attrs.frozen(eq=False, repr=False)
class CheckEntry:
    """One completion checker."""

    source: Source
    timeout: float
    check: Callable[[TaskCompletionContext], Any]


RunHook = tuple[Source, Callable[[Any], object]]


@attrs.frozen(eq=False, repr=False)
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

    configuration = active_configuration() if config == "auto" else config or Configuration()
    if not isinstance(configuration, Configuration):
        raise ConfigurationError(
            f'config={config!r:.100} is no configuration: give load_configuration(path), "auto"'
            " or None"
        )
    table = configuration.prompts.get(prompt_name) or PromptSettings()
    wanted = (
        *_either(table.guidance, guidance),
        *_either(table.feedback, feedback),
        *_either(table.completion, completion),
    )
    loaded, skipped = _resolved(wanted, configuration)
    return compile_table(
        loaded,
        skipped=skipped,
        guidance_limit=table.guidance_limit or guidance_limit,
        feedback_delivery=table.feedback_delivery or feedback_delivery,
    )


def _resolved(
    wanted: Sequence[ProviderConfig], configuration: Configuration
) -> tuple[Sequence[LoadedProvider], Sequence[ProviderSkipped]]:
    if not wanted and not configuration.require:
        return (), ()
    from trimtab.plugins.resolution import resolve_all

    resolution = resolve_all(wanted, configuration)
    return resolution.providers, resolution.skipped


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
        feedback=tuple(_feedback(p, p.trigger) for p in loaded if p.trigger is not None),
        checks=tuple(
            _check(p, p.config) for p in loaded if isinstance(p.config, CompletionCheckerConfig)
        ),
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
        _guide(provider, provider.config, order, f"guide_{point.value}")
        for order, provider in enumerate(loaded)
        if isinstance(provider.config, GuidanceProviderConfig) and point in provider.points
    )


def _guide(
    provider: LoadedProvider, config: GuidanceProviderConfig, order: int, hook: str
) -> GuideEntry:
    source, instance, own = provider.source, provider.instance, provider.hooks.get(hook)
    if own is not None:
        return GuideEntry(source, config, order, hook, own, _read_by_hook(config, hook))
    call = _ask_by_methods(source, config, instance.classify, instance.provide)
    return GuideEntry(source, config, order, hook, call, _as_it_is)


def _feedback(provider: LoadedProvider, trigger: FeedbackTrigger) -> FeedbackEntry:
    own = provider.hooks.get("give_feedback")
    if own is not None:
        ask = _feedback_by_hook(own)
    else:
        ask = _feedback_by_methods(provider.instance.should_run, provider.instance.provide)
    limits_only = getattr(type(provider.instance), "limits_only", False) is True
    return FeedbackEntry(provider.source, trigger, ask, limits_only)


def _check(provider: LoadedProvider, config: CompletionCheckerConfig) -> CheckEntry:
    check = provider.hooks.get("check_completion") or provider.instance.check
    return CheckEntry(provider.source, config.timeout, check)


def _run_hooks(loaded: Iterable[LoadedProvider], hook: str) -> tuple[RunHook, ...]:
    return tuple((p.source, p.hooks[hook]) for p in loaded if hook in p.hooks)
