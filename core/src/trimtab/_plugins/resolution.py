"""From what a prompt names to providers that can be called, and what the environment turns off."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._events.provenance import Provenance, ProviderKind, ProviderRef
from trimtab._events.providers import ProviderSkipped
from trimtab._plugins.discovery import discover
from trimtab._plugins.loading import construct, load
from trimtab._plugins.registry import did_you_mean, normalise_full_name
from trimtab._plugins.selection import check_allowed, check_compatible, check_required, select
from trimtab._plugins.validation import LoadedProvider, source_of, validate
from trimtab._policy.settings import ProviderConfig
from trimtab._types.errors import ConfigurationError, ProviderError
from trimtab._types.text import sanitize

if TYPE_CHECKING:
    from trimtab._plugins.config_tables import Configuration
    from trimtab._plugins.registry import PluginInfo

PLUGINS = "TRIMTAB_PLUGINS"
DISABLE = "TRIMTAB_DISABLE"


@attrs.frozen
class Environment:
    """What the environment turns off.

    Args:
        off: no installed provider is loaded; objects given by the caller stay.
        disabled: providers turned off by ``name`` or ``distribution:name``, objects too.
    """

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
    """Read the variables.

    Args:
        environment: `os.environ` if None.

    Raises:
        ConfigurationError: ``TRIMTAB_PLUGINS`` is neither ``on`` nor ``off``.
    """
    found = os.environ if environment is None else environment
    state = found.get(PLUGINS, "").strip().lower()
    if state not in ("", "on", "off"):
        raise ConfigurationError(f"{PLUGINS}={sanitize(state, 40)!r}: write 'on' or 'off'.")
    names = (normalise_full_name(name) for name in found.get(DISABLE, "").split(","))
    return Environment(off=state == "off", disabled=frozenset(name for name in names if name))


@attrs.frozen
class Resolution:
    """The providers that a prompt names, kind by kind in the prompt's order.

    Args:
        providers: those that were loaded.
        skipped: an event for each that was not, though the prompt names it.
    """

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
    if not isinstance(config.provider, ProviderRef):
        return validate(source_of(config.kind, config.provider), config, config.provider)
    entry = admit(config.kind, config.provider.name, configuration)
    instance: Any = construct(entry, load(entry), config.provider.options)
    return validate(source_of_entry(config.kind, entry), config, instance)


def admit(kind: ProviderKind, name: str, configuration: Configuration) -> PluginInfo:
    """Select an entry and check all that can be checked without importing it.

    Args:
        kind: of the provider.
        name: entry name, or ``distribution:name``.
        configuration: may forbid it.

    Raises:
        ProviderError: it is unknown, ambiguous, not allowed or not compatible.
    """
    entry = select(kind.value, name, discover())
    check_allowed(entry, configuration.allow)
    check_compatible(entry)
    return entry


def source_of_entry(kind: ProviderKind, entry: PluginInfo) -> Provenance:
    """Return the provenance of an installed provider."""
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
    env = read_environment(environment)
    if not env.off:
        check_required(configuration.require)
    wanted = tuple(configs)
    if env.disabled:
        _warn_of_unknown(env, wanted)
    found = [_resolve_or_skip(config, configuration, env) for config in wanted]
    return Resolution(
        tuple(item for item in found if isinstance(item, LoadedProvider)),
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
    if not isinstance(config.provider, ProviderRef):
        return source_of(config.kind, config.provider)
    try:
        entry = select(config.kind.value, config.provider.name, discover())
    except ProviderError:
        distribution, _, name = config.provider.name.rpartition(":")
        return Provenance(sanitize(name, 80), config.kind, sanitize(distribution, 80) or None)
    return source_of_entry(config.kind, entry)
