"""A prompt's providers: what it or its configuration names, compiled into what a run calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab._boundary import (
    Ask,
    ask_by_method,
    call,
    check_by,
    feedback_by_methods,
    own_feedback,
    proposal_by_hook,
    provide_by_method,
)
from trimtab._events import DecisionPoint, Provenance, ProviderKind
from trimtab._policy import CompletionCheckerConfig, GuidanceProviderConfig, as_config
from trimtab._types.errors import ConfigurationError, ProviderInvalid
from trimtab._types.text import exact

if TYPE_CHECKING:
    from pathlib import Path

    from trimtab._events.guidance import ProviderSkipped
    from trimtab._plugins.configuration import Configuration
    from trimtab._plugins.validation import LoadedProvider
    from trimtab._policy import FeedbackTrigger, ProviderConfig
    from trimtab._types.limits import Budget

FeedbackDelivery = Literal["first", "all"]


@attrs.frozen(eq=False, repr=False)
class GuidanceEntry(Ask):
    """One guidance provider at one decision point.

    Its `work` returns None if the provider has nothing to say or is not confident enough; a
    proposal; or a classification: relevant, so that `provide` makes the text, or not relevant but
    with an episode, which has ended.

    Attributes:
        category: of its injections that name none.
        provide: makes the text of a relevant classification; None if `work` returns proposals.
        paces_itself: whether only limits apply to it, no pauses.
    """

    config: GuidanceProviderConfig
    order: int
    category: str
    provide: Ask | None = None
    paces_itself: bool = False


@attrs.frozen(eq=False, repr=False)
class FeedbackEntry(Ask):
    """One feedback provider and when it is asked.

    Attributes:
        limits_only: whether it is about limits: a run without deadline and budget, on a host
            without a limit of turns, never asks it.
    """

    trigger: FeedbackTrigger
    limits_only: bool = False


@attrs.frozen(eq=False, repr=False)
class CheckEntry(Ask):
    timeout: float


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
    opened: tuple[Ask, ...] = ()
    closed: tuple[Ask, ...] = ()
    recorders: tuple[Ask, ...] = ()
    settings: tuple[ProviderConfig, ...] = ()
    skipped: tuple[ProviderSkipped, ...] = ()
    guidance_limit: int = 3
    feedback_delivery: FeedbackDelivery = "first"
    state_folder: Path | None = None
    budget: Budget | None = None

    @property
    def guiding(self) -> list[tuple[GuidanceEntry, list[DecisionPoint]]]:
        """The guidance providers in the prompt's order, each with the points at which it speaks."""
        found: dict[int, tuple[GuidanceEntry, list[DecisionPoint]]] = {}
        for point, entries in self.guides.items():
            for entry in entries:
                found.setdefault(entry.order, (entry, []))[1].append(point)
        return [found[order] for order in sorted(found)]

    @property
    def sources(self) -> tuple[Provenance, ...]:
        """All providers, each once, in the order of the prompt."""
        found = [entry.source for entry, _ in self.guiding]
        found += [entry.source for entry in self.feedback]
        found += [entry.source for entry in self.checks]
        found += [ask.source for ask in self.recorders]
        return tuple(dict.fromkeys(found))


def _refuse_twins(loaded: Iterable[LoadedProvider]) -> None:
    seen: set[tuple[str, str]] = set()
    for provider in loaded:
        key = (provider.source.kind, provider.source.name)
        if key in seen:
            from trimtab._plugins import WORDS

            raise ProviderInvalid(
                f"two {WORDS[key[0]]}s of one prompt are called {key[1]!r}: counts and limits "
                "are kept by name, so give one another name or leave it out"
            )
        seen.add(key)


def _guides(loaded: Iterable[LoadedProvider], point: DecisionPoint) -> tuple[GuidanceEntry, ...]:
    return tuple(
        _guide(provider, provider.config, order, f"guide_{point.value}")
        for order, provider in enumerate(loaded)
        if isinstance(provider.config, GuidanceProviderConfig) and point in provider.points
    )


def _guide(
    provider: LoadedProvider, config: GuidanceProviderConfig, order: int, hook: str
) -> GuidanceEntry:
    source, instance, own = provider.source, provider.instance, provider.hooks.get(hook)
    # Read by `call`, for the property may be the provider's own code.
    category = exact(call(getattr, instance, "category", "").value)
    category = category if isinstance(category, str) else ""
    paced = getattr(type(instance), "paces_itself", False) is True
    threshold = config.min_confidence
    if own is not None:
        read = proposal_by_hook(threshold, hook)
        return GuidanceEntry(
            source, hook, own, config, order, category, paces_itself=paced, read=read
        )
    ask = ask_by_method(provider.methods["classify"], threshold)
    provide = Ask(source, "provide", provide_by_method(provider.methods["provide"]))
    return GuidanceEntry(source, hook, ask, config, order, category, provide, paced)


def _feedback(provider: LoadedProvider, trigger: FeedbackTrigger) -> FeedbackEntry:
    source, own = provider.source, provider.hooks.get("give_feedback")
    work = own or feedback_by_methods(**provider.methods)
    read = partial(own_feedback, hook="give_feedback" if own else "provide")
    limits_only = getattr(type(provider.instance), "limits_only", False) is True
    return FeedbackEntry(source, "give_feedback", work, trigger, limits_only, read=read)


def compile_check(provider: LoadedProvider) -> CheckEntry:
    assert isinstance(provider.config, CompletionCheckerConfig)
    hook = "check_completion" if "check_completion" in provider.hooks else "check"
    check = {**provider.methods, **provider.hooks}[hook]
    ask = check_by(check, hook)
    return CheckEntry(provider.source, "check_completion", ask, provider.config.timeout)


def recorder_hooks(loaded: Iterable[LoadedProvider]) -> tuple[Ask, ...]:
    opens = [(one.source, one.methods.get("open")) for one in loaded]
    return tuple([Ask(source, "open", start) for source, start in opens if start is not None])


def load_alone(cls: type[ProviderConfig], given: Iterable[Any]) -> list[LoadedProvider]:
    """Return providers that no prompt declares, resolved and validated like those of one."""
    configs: list[ProviderConfig] = [as_config(cls, one) for one in given]
    if not configs:
        return []
    from trimtab._plugins.configuration import Configuration
    from trimtab._plugins.resolution import resolve

    return [resolve(config, Configuration()) for config in configs]


def _run_hooks(loaded: Iterable[LoadedProvider], hook: str) -> tuple[Ask, ...]:
    """Return the run hooks; an object that is enabled under several kinds is called once."""
    found: dict[int, Ask] = {}
    for provider in loaded:
        if hook in provider.hooks:
            ask = Ask(provider.source, hook, provider.hooks[hook])
            found.setdefault(id(provider.instance), ask)
    return tuple(found.values())


def build_table(
    prompt_name: str,
    declared: Sequence[ProviderConfig],
    guidance_limit: int,
    feedback_delivery: FeedbackDelivery,
    *,
    config: Configuration | Literal["auto"] | None,
    environment: Mapping[str, str] | None,
) -> PromptTable:
    """Resolve what a prompt declares, or what its table in `config` says instead, kind by kind."""
    from trimtab._plugins.configuration import (
        Configuration,
        PromptSettings,
        active_configuration,
        state_home,
    )

    configuration = (
        active_configuration(environment=environment)
        if config == "auto"
        else config or Configuration()
    )
    if not isinstance(configuration, Configuration):
        raise ConfigurationError(
            f'config={config!r:.100} is not a configuration: give load_configuration(path), "auto"'
            " or None"
        )
    table = configuration.prompts.get(prompt_name)
    if table is None:
        _warn_of_misspelt(prompt_name, configuration)
        table = PromptSettings()
    wanted: list[ProviderConfig] = []
    for kind in ProviderKind:
        said = getattr(table, kind.value)
        wanted += [one for one in declared if one.kind is kind] if said is None else said
    loaded, skipped = _resolved(wanted, configuration, environment)
    _refuse_twins(loaded)
    return PromptTable(
        guides={point: _guides(loaded, point) for point in DecisionPoint},
        feedback=tuple(_feedback(p, p.trigger) for p in loaded if p.trigger is not None),
        checks=tuple(compile_check(p) for p in loaded if p.config.kind is ProviderKind.COMPLETION),
        opened=_run_hooks(loaded, "run_opened"),
        closed=_run_hooks(loaded, "run_closed"),
        recorders=recorder_hooks(loaded),
        settings=tuple(p.config for p in loaded),
        skipped=tuple(skipped),
        guidance_limit=table.guidance_limit or guidance_limit,
        feedback_delivery=table.feedback_delivery or feedback_delivery,
        state_folder=state_home(configuration.path, environment=environment),
        budget=table.budget,
    )


_warned = set[tuple[str, str]]()


def _warn_of_misspelt(prompt_name: str, configuration: Configuration) -> None:
    """Log once that a prompt has no table where one of nearly its name is there, unused as it is.

    Names of which one begins with the other are taken for two prompts.
    """
    others = [
        name
        for name in configuration.prompts
        if not name.startswith(prompt_name) and not prompt_name.startswith(name)
    ]
    if not others or (prompt_name, str(configuration.path)) in _warned:
        return
    from difflib import get_close_matches
    from logging import getLogger

    _warned.add((prompt_name, str(configuration.path)))
    for near in get_close_matches(prompt_name, others, n=1, cutoff=0.8):
        getLogger("trimtab").warning(
            "%s has no table for the prompt %r, so what code declares holds. If the table %r is"
            " meant for it, correct its name.",
            *(configuration.path, prompt_name, near),
        )


def _resolved(
    wanted: Sequence[ProviderConfig],
    configuration: Configuration,
    environment: Mapping[str, str] | None,
) -> tuple[Sequence[LoadedProvider], Sequence[ProviderSkipped]]:
    if not wanted and not configuration.require:
        return (), ()
    from trimtab._plugins.resolution import resolve_all

    resolution = resolve_all(wanted, configuration, environment=environment)
    return resolution.providers, resolution.skipped
