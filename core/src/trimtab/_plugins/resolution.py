"""From what a prompt names to installed entries that may be loaded, and providers to be called."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._plugins import (
    WORDS,
    PluginInfo,
    Registry,
    admits,
    level_problem,
    normalise_full_name,
    normalise_name,
    parse_requirement,
    pip_install,
    plainly_admits,
)
from trimtab._plugins.discovery import discover, installed_version
from trimtab._types.errors import (
    AmbiguousProvider,
    ConfigurationError,
    IncompatibleProvider,
    ProviderError,
    ProviderNotAllowed,
    UnknownProvider,
)
from trimtab._types.text import did_you_mean, quoted_list, sanitize

if TYPE_CHECKING:
    from trimtab._events import Provenance, ProviderKind
    from trimtab._events.guidance import ProviderSkipped
    from trimtab._plugins.configuration import Configuration
    from trimtab._plugins.validation import LoadedProvider
    from trimtab._policy import ProviderConfig


def select(group: str, wanted: str, registry: Registry) -> PluginInfo:
    """Find the one entry that is meant.

    Args:
        group: e.g. ``"guidance"``.
        wanted: a name, or ``distribution:name``; ``-``, ``_``, ``.`` and case don't matter.
        registry: what is installed.

    Raises:
        UnknownProvider: there is none; names the nearest, and what is installed.
        AmbiguousProvider: several distributions offer it; names the long forms.
    """
    found = matching(wanted, registry.of(group))
    if not found:
        raise UnknownProvider(_unknown(group, wanted, registry))
    entry, *others = found
    if others:
        choices = quoted_list(entry.full_name for entry in found)
        raise AmbiguousProvider(
            f"Several distributions offer a {WORDS[group]} {entry.name!r}: write one of {choices}."
        )
    return entry


def matching(wanted: str, entries: Iterable[PluginInfo]) -> tuple[PluginInfo, ...]:
    """Return the entries that a name can mean.

    Args:
        wanted: entry name, or ``distribution:name``.
        entries: all of one kind.
    """
    name = normalise_full_name(wanted)
    return tuple(entry for entry in entries if name in (entry.name, entry.full_name))


def named(name: str, registry: Registry) -> tuple[PluginInfo, ...]:
    """Return all entries that a name may mean, of every kind."""
    found = matching(name, registry.entries)
    if found:
        return found
    known = dict.fromkeys(entry.name for entry in registry.entries)
    shown = sanitize(normalise_full_name(name), 80)
    raise UnknownProvider(
        f"Nothing called {shown!r} is installed.{did_you_mean(shown, known)} "
        f"`trimtab plugins list` shows what is.{_damage(registry)}"
    )


def _unknown(group: str, wanted: str, registry: Registry) -> str:
    entries = registry.of(group)
    shown = sanitize(wanted, 80)
    known = [*(entry.name for entry in entries), *(entry.full_name for entry in entries)]
    others = [entry for entry in matching(wanted, registry.entries) if entry.group != group]
    if others:
        hint = f" It is a {WORDS[others[0].group]}."
    else:
        hint = did_you_mean(normalise_full_name(shown), known)
    return (
        f"No {WORDS[group]} {shown!r} is installed.{hint} "
        f"Installed: {quoted_list(shortest_names(entries))}.{_damage(registry)}"
        f"{'' if hint else ' Install the package that offers it, or correct the name.'}"
    )


def _damage(registry: Registry) -> str:
    """Return a sentence if what is sought may be in a package that can't be read."""
    damaged = any(problem.is_error for problem in registry.problems)
    return " Some installed packages are damaged: `trimtab plugins doctor` names them." * damaged


def shortest_names(entries: Sequence[PluginInfo]) -> list[str]:
    """Return the names to type: bare, or the long form where one group has it twice."""
    names = [entry.name for entry in entries]
    return [entry.name if names.count(entry.name) == 1 else entry.full_name for entry in entries]


def check_allowed(entry: PluginInfo, allow: Sequence[str] | None) -> None:
    if allow is None or any(
        fnmatchcase(entry.distribution, normalise_name(pattern)) for pattern in allow
    ):
        return
    raise ProviderNotAllowed(
        f"The {WORDS[entry.group]} {entry.full_name!r} may not be loaded: the configuration's "
        f"'allow' does not name {entry.distribution!r}. It names {quoted_list(allow)}."
    )


_CORE = "trimtab"


def mismatch(entry: PluginInfo) -> str | None:
    """Say why the installed trimtab is not what the entry's package declares, or return None.

    A requirement with a marker is left to the installer, who knows its environment; so is a
    package that declares nothing.
    """
    wrong = level_problem(entry)
    if wrong:
        return wrong
    version = installed_version(_CORE)
    for text in entry.requires:
        if version and plainly_admits(text, version):
            continue
        requirement = parse_requirement(text)
        if requirement is None:
            return f"{entry.package} declares {text!r}, which is not a requirement"
        if version and not requirement.marker and not admits(requirement, version):
            return f"{entry.package} asks for {text!r}, and trimtab {version} is installed"
    return None


def check_compatible(entry: PluginInfo) -> None:
    wrong = mismatch(entry)
    if wrong:
        raise IncompatibleProvider(
            f"The provider {entry.full_name!r} can't be used: {wrong}. Install versions that fit: "
            f"{pip_install(entry.distribution, _CORE, how='upgrade')}"
        )


def check_required(require: Iterable[str]) -> None:
    """Hold the configuration's require-list against what is installed."""
    for text in require:
        requirement = parse_requirement(text)
        version = installed_version(requirement.name) if requirement else None
        if requirement is None or version is None or not admits(requirement, version):
            found = f"version {version} is installed" if version else "it is not installed"
            raise ProviderNotAllowed(
                f"The configuration requires {text!r}, and {found}: {pip_install(text)}"
            )


PLUGINS = "TRIMTAB_PLUGINS"
DISABLE = "TRIMTAB_DISABLE"


@attrs.frozen
class Environment:
    off: bool = False
    disabled: frozenset[str] = frozenset()

    def reason_against(self, source: Provenance, *, installed: bool) -> str | None:
        """Return which switch turns a provider off, or None."""
        if self.off and installed:
            return f"{PLUGINS}=off"
        if self.disabled & {
            normalise_full_name(source.name),
            normalise_full_name(source.full_name),
        }:
            return f"{DISABLE} names it"
        return None


def read_environment(environment: Mapping[str, str] | None = None) -> Environment:
    found = os.environ if environment is None else environment
    state = found.get(PLUGINS, "").strip().lower()
    if state not in ("", "on", "off"):
        raise ConfigurationError(f"{PLUGINS}={sanitize(state, 40)!r}: write 'on' or 'off'.")
    names = (normalise_full_name(name) for name in found.get(DISABLE, "").split(","))
    return Environment(off=state == "off", disabled=frozenset(name for name in names if name))


@attrs.frozen
class Resolution:
    """The providers that a prompt names, kind by kind in the prompt's order."""

    providers: tuple[LoadedProvider, ...]
    skipped: tuple[ProviderSkipped, ...]


def resolve(config: ProviderConfig, configuration: Configuration) -> LoadedProvider:
    """Select, check, load, construct and validate one provider.

    Args:
        config: a prompt's settings with an instance or a `ProviderRef`.
        configuration: whose allow-list counts.

    Raises:
        ProviderError: it can't be used; the message names it, its distribution and what to do.
    """
    # Commands that only list what is installed select entries, and load none.
    from trimtab._plugins.loading import construct, load
    from trimtab._plugins.validation import source_of, validate
    from trimtab._policy import ProviderRef

    if not isinstance(config.provider, ProviderRef):
        return validate(source_of(config.kind, config.provider), config, config.provider)
    entry = admit(config.kind, config.provider.name, configuration)
    instance: Any = construct(entry, load(entry), config.provider.options)
    return validate(source_of_entry(config.kind, entry), config, instance)


def admit(kind: ProviderKind, name: str, configuration: Configuration) -> PluginInfo:
    """Select an entry and check all that can be checked without importing it."""
    entry = select(kind.value, name, discover())
    check_allowed(entry, configuration.allow)
    check_compatible(entry)
    return entry


def source_of_entry(kind: ProviderKind, entry: PluginInfo) -> Provenance:
    from trimtab._events import Provenance

    return Provenance(entry.name, kind, entry.distribution, entry.version)


def resolve_all(
    configs: Iterable[ProviderConfig],
    configuration: Configuration,
    *,
    environment: Mapping[str, str] | None = None,
) -> Resolution:
    """Resolve the providers of one prompt.

    Optional ones that can't be used, and those that the environment turns off, are skipped:
    `ProviderSkipped`, without a prompt's name.

    Args:
        configs: the prompt's settings of its providers.
        configuration: whose allow-list and require-list count.
        environment: variables by name; `os.environ` if None.

    Raises:
        ProviderError: as for `resolve`; or the configuration's require-list is not met.
        ConfigurationError: a switch in the environment is wrong.
    """
    from trimtab._events.guidance import ProviderSkipped

    env = read_environment(environment)
    if not env.off:
        check_required(configuration.require)
    wanted = tuple(configs)
    if env.disabled:
        _warn_of_unknown(env, wanted)
    found = [_resolve_or_skip(config, configuration, env) for config in wanted]
    return Resolution(
        tuple(item for item in found if not isinstance(item, ProviderSkipped)),
        tuple(item for item in found if isinstance(item, ProviderSkipped)),
    )


def _warn_of_unknown(env: Environment, configs: Iterable[ProviderConfig]) -> None:
    """Warn of names in ``TRIMTAB_DISABLE`` that no provider has."""
    entries = discover().entries
    known = {name for entry in entries for name in (entry.name, entry.full_name)}
    known |= {normalise_full_name(presumed_source(config).name) for config in configs}
    for name in sorted(env.disabled - known):
        warnings.warn(
            f"{DISABLE} names {sanitize(name, 80)!r}, and no provider is called so."
            f"{did_you_mean(name, known)}",
            stacklevel=2,
        )


def _resolve_or_skip(
    config: ProviderConfig, configuration: Configuration, env: Environment
) -> LoadedProvider | ProviderSkipped:
    from trimtab._events.guidance import ProviderSkipped
    from trimtab._policy import ProviderRef

    source, provider = presumed_source(config), config.provider
    reason = env.reason_against(source, installed=isinstance(provider, ProviderRef))
    if reason:
        return ProviderSkipped(source=source, reason=reason)
    try:
        return resolve(config, configuration)
    except ProviderError as error:
        if isinstance(provider, ProviderRef) and provider.optional:
            return ProviderSkipped(source=source, reason=str(error))
        raise


def presumed_source(config: ProviderConfig) -> Provenance:
    """Return the provenance of a provider before it is loaded, even if it can't be used."""
    from trimtab._events import Provenance
    from trimtab._plugins.validation import source_of
    from trimtab._policy import ProviderRef

    if not isinstance(config.provider, ProviderRef):
        return source_of(config.kind, config.provider)
    try:
        entry = select(config.kind.value, config.provider.name, discover())
    except ProviderError:
        distribution, _, name = config.provider.name.rpartition(":")
        return Provenance(sanitize(name, 80), config.kind, sanitize(distribution, 80) or None)
    return source_of_entry(config.kind, entry)
