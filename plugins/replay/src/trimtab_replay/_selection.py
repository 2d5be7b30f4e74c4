"""Which providers are asked in a replay, and with which options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import attrs
import attrs.exceptions

from trimtab import (
    CompletionCheckerConfig,
    Configuration,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    Prompt,
    ProviderError,
    ProviderRef,
    load_configuration,
)
from trimtab.events import ProviderKind
from trimtab.inspection import (
    PluginInfo,
    ProviderOptionsError,
    did_you_mean,
    discover,
    matching,
    normalise_full_name,
    quoted_list,
    resolve,
    resolve_all,
)
from trimtab_replay._recording import ReplayError

Config = GuidanceProviderConfig | FeedbackProviderConfig | CompletionCheckerConfig
C = TypeVar("C", GuidanceProviderConfig, FeedbackProviderConfig, CompletionCheckerConfig)

NAME = "replay/run"
"""Name of the prompt on which providers are asked, where none is configured."""

_CONFIGS: Mapping[str, type[Any]] = {
    ProviderKind.GUIDANCE.value: GuidanceProviderConfig,
    ProviderKind.FEEDBACK.value: FeedbackProviderConfig,
    ProviderKind.COMPLETION.value: CompletionCheckerConfig,
}
_TRIGGER_KEYS = frozenset(field.name for field in attrs.fields(FeedbackTrigger))


_PROBE = "trimtab_replay_probe"


class SelectionError(ReplayError):
    """What is to be asked can't be made out of what was said; the message says what to write."""


@attrs.frozen(kw_only=True)
class Selection:
    """The providers of one replay.

    Args:
        name: of the prompt.
        guidance, feedback, completion: in the order in which they are asked.
        guidance_limit, feedback_delivery: as in `trimtab.PromptTemplate`.
        configuration: whose allow-list and require-list count.
        left_out: what was not selected though it is installed, and why; for people.
    """

    name: str = NAME
    guidance: tuple[GuidanceProviderConfig, ...] = ()
    feedback: tuple[FeedbackProviderConfig, ...] = ()
    completion: tuple[CompletionCheckerConfig, ...] = ()
    guidance_limit: int = 3
    feedback_delivery: Literal["first", "all"] = "first"
    configuration: Configuration = attrs.field(factory=Configuration)
    left_out: tuple[str, ...] = ()

    @property
    def configs(self) -> tuple[Config, ...]:
        """All settings, kind by kind."""
        return (*self.guidance, *self.feedback, *self.completion)

    @property
    def names(self) -> tuple[str, ...]:
        """The providers' short names, kind by kind."""
        return tuple(_name(config) for config in self.configs)

    def prompt(self, name: str = "") -> Prompt[Any]:
        """Return a prompt with fresh providers.

        Args:
            name: another name for it.

        Raises:
            ProviderError: a provider can't be used.
        """
        return Prompt(
            "replay",
            "run",
            config=self.configuration,
            name=name or self.name,
            guidance_providers=self.guidance,
            feedback_providers=self.feedback,
            completion_checkers=self.completion,
            guidance_limit=self.guidance_limit,
            feedback_delivery=self.feedback_delivery,
        )

    def with_option(self, provider: str, option: str, value: Any) -> Selection:
        """Return the selection with one option, setting or trigger of `provider` changed.

        The provider is no longer optional: a wrong option is reported to the user who set it.

        Args:
            provider: its name, or ``distribution:name``.

        Raises:
            SelectionError: it is not among the selected, or the setting refuses the value.
        """
        wanted = _short(provider)
        if wanted not in self.names:
            raise SelectionError(
                f"{provider!r} is not selected, so its {option} can't be set."
                f"{did_you_mean(wanted, self.names)} Selected: {quoted_list(self.names)}."
            )
        return self._with_each(wanted, lambda config: _required(_with(config, option, value)))

    def _with_each(self, provider: str, change: Callable[[Any], Any]) -> Selection:
        def changed(configs: tuple[C, ...]) -> tuple[C, ...]:
            return tuple(change(one) if _name(one) == provider else one for one in configs)

        return attrs.evolve(
            self,
            guidance=changed(self.guidance),
            feedback=changed(self.feedback),
            completion=changed(self.completion),
        )

    def for_case(self, meta: Mapping[str, Any]) -> Selection:
        """Return the selection with the settings of a case for the provider that it is about.

        Args:
            meta: the facts of the case.
        """
        config, concerns = meta.get("config"), meta.get("concerns")
        if not isinstance(config, Mapping) or not isinstance(concerns, str):
            return self
        selected = [name for name in provider_names(concerns) if name in self.names]
        chosen = self
        for name in selected:
            for option, value in config.items():
                change = partial(_with, option=str(option), value=value)
                chosen = chosen._with_each(name, change)
        return chosen


@attrs.define
class Prompts:
    """Prompts of one selection, each built once and shared by its runs, as in one host."""

    selection: Selection
    _built: dict[str, Prompt[Any]] = attrs.field(factory=dict)

    def of(self, name: str = "") -> Prompt[Any]:
        """Return the prompt of that name.

        Raises:
            ProviderError: a provider can't be used.
        """
        if name not in self._built:
            self._built[name] = self.selection.prompt(name)
        return self._built[name]

    def for_case(self, meta: Mapping[str, Any]) -> Prompts:
        """Return other prompts if a case changes the selection, else these.

        Args:
            meta: the facts of the case.
        """
        changed = self.selection.for_case(meta)
        return self if changed is self.selection else Prompts(changed)


def keeps_nothing(selection: Selection) -> bool:
    """Whether no provider of `selection` can remember anything from one run to the next.

    That holds for frozen attrs objects whose fields can be hashed or are read-only mappings; of
    other objects are of unknown origin.
    """
    found = resolve_all(selection.configs, selection.configuration)
    return all(_is_immutable(provider.instance) for provider in found.providers)


def _is_immutable(instance: Any) -> bool:
    kind: Any = type(instance)
    if not attrs.has(kind):
        return False
    try:
        for field in attrs.fields(kind):
            value = getattr(instance, field.name)
            hash(tuple(value.items()) if isinstance(value, MappingProxyType) else value)
        setattr(instance, _PROBE, None)
    except attrs.exceptions.FrozenInstanceError:
        return True
    except (AttributeError, TypeError):
        return False
    delattr(instance, _PROBE)
    return False


def provider_names(concerns: str) -> tuple[str, ...]:
    """Return the entry names of the installed provider whose class is called `concerns`."""
    found = [entry.name for entry in _providers() if entry.attr.rpartition(".")[2] == concerns]
    return tuple(dict.fromkeys(found))


def everything() -> Selection:
    """Return every installed provider at its defaults; one that can't be loaded is skipped.

    Left out are providers of one name, of which a prompt takes one; those that can't be made
    without options; and policies: providers with ``is_policy = True``, which demand a way of
    working that the recorded agent had not been told.
    """
    by_name: dict[tuple[str, str], list[PluginInfo]] = {}
    for entry in _providers():
        by_name.setdefault((entry.group, entry.name), []).append(entry)
    twins = [entries for entries in by_name.values() if len(entries) > 1]
    alone = [entries[0] for entries in by_name.values() if len(entries) == 1]
    why = {entry: _unfit(entry) for entry in alone}
    fit = (entry for entry, reason in why.items() if not reason)
    chosen = _selection(_config(entry, optional=True) for entry in fit)
    notes = [f"{entry.name} {reason}" for entry, reason in why.items() if reason]
    for entries in twins:
        names = quoted_list(entry.full_name for entry in entries)
        notes.append(f"{entries[0].name} is offered twice, not asked unless named: {names}")
    return attrs.evolve(chosen, left_out=tuple(notes))


def _unfit(entry: PluginInfo) -> str:
    """Return why a provider is not asked unless it is named; empty if it is asked."""
    try:
        found = resolve(_config(entry), Configuration())
    except ProviderOptionsError:
        return "needs options, not asked unless a configuration gives them: --config FILE"
    except ProviderError:
        return ""
    if getattr(found.instance, "is_policy", False) is not True:
        return ""
    return f"is a policy, not asked unless named: --enable {entry.name}"


def enabled(names: Iterable[str]) -> Selection:
    """Return the installed providers of these names, in that order.

    Raises:
        SelectionError: none is installed by one of the names.
    """
    return _selection(found for name in names for found in _named(name))


def configured(path: str, prompt: str) -> Selection:
    """Return the providers that a configuration file enables on a prompt.

    Args:
        path: a trimtab.toml or pyproject.toml.
        prompt: the prompt's name; empty if the file has one prompt only.

    Raises:
        ConfigurationError: the file is wrong.
        SelectionError: it has no such prompt.
    """
    configuration = load_configuration(path)
    known = configuration.prompts
    name = prompt or (next(iter(known)) if len(known) == 1 else "")
    if name not in known:
        raise SelectionError(
            f"{path} has no prompt {name!r}; name one with --prompt.{did_you_mean(name, known)} "
            f"Prompts: {quoted_list(known)}."
        )
    settings = known[name]
    return Selection(
        name=name,
        guidance=settings.guidance or (),
        feedback=settings.feedback or (),
        completion=settings.completion or (),
        guidance_limit=settings.guidance_limit or 3,
        feedback_delivery=settings.feedback_delivery or "first",
        configuration=attrs.evolve(configuration, prompts={}),
    )


def _config(entry: PluginInfo, *, optional: bool = False) -> Any:
    return _CONFIGS[entry.group](ProviderRef(entry.name, optional=optional))


def _selection(configs: Iterable[Any]) -> Selection:
    chosen: dict[str, list[Any]] = {kind: [] for kind in _CONFIGS}
    for config in configs:
        chosen[config.kind.value].append(config)
    return Selection(
        guidance=tuple(chosen[ProviderKind.GUIDANCE.value]),
        feedback=tuple(chosen[ProviderKind.FEEDBACK.value]),
        completion=tuple(chosen[ProviderKind.COMPLETION.value]),
    )


def _providers() -> list[PluginInfo]:
    registry = discover()
    return [entry for kind in _CONFIGS for entry in registry.of(kind)]


def _named(name: str) -> list[Any]:
    entries = _providers()
    found = matching(name, entries)
    if not found:
        known = [entry.name for entry in entries]
        raise SelectionError(
            f"no provider {name!r} is installed.{did_you_mean(name, known)} "
            f"Installed: {quoted_list(known)}. `trimtab plugins doctor` says what is damaged."
        )
    kinds = dict.fromkeys(entry.group for entry in found)
    return [_CONFIGS[kind](ProviderRef(name)) for kind in kinds]


def _name(config: Config) -> str:
    provider = config.provider
    if isinstance(provider, ProviderRef):
        return _short(provider.name)
    return str(getattr(provider, "name", "") or type(provider).__name__)


def _short(name: str) -> str:
    return normalise_full_name(name).rpartition(":")[2]


def _with(config: Any, option: str, value: Any) -> Any:
    try:
        if isinstance(config, FeedbackProviderConfig) and option in _TRIGGER_KEYS:
            trigger = attrs.evolve(config.trigger or FeedbackTrigger(), **{option: value})
            return attrs.evolve(config, trigger=trigger)
        if option != "provider" and option in attrs.fields_dict(type(config)):
            return attrs.evolve(config, **{option: value})
    except (TypeError, ValueError) as error:
        raise SelectionError(f"{_name(config)}.{option} can't be {value!r}: {error}") from error
    if not isinstance(config.provider, ProviderRef):
        raise SelectionError(f"{_name(config)} is an object: set {option} where it is made")
    options = {**config.provider.options, option: value}
    return attrs.evolve(config, provider=attrs.evolve(config.provider, options=options))


def _required(config: Any) -> Any:
    if not isinstance(config.provider, ProviderRef):
        return config
    return attrs.evolve(config, provider=attrs.evolve(config.provider, optional=False))
