"""From what a prompt names to providers that can be called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab.errors import ProviderError
from trimtab.plugins.compatibility import check_compatible, check_required
from trimtab.plugins.discovery import discover
from trimtab.plugins.events import ProviderSkipped
from trimtab.plugins.loading import construct, load
from trimtab.plugins.names import plain
from trimtab.plugins.provider import LoadedProvider
from trimtab.plugins.selection import check_allowed, select
from trimtab.plugins.settings import ProviderConfig
from trimtab.plugins.source import Kind, ProviderRef, Source
from trimtab.plugins.switches import Switches, read_switches
from trimtab.plugins.validation import source_of, validate

if TYPE_CHECKING:
    from trimtab.plugins.config import Configuration
    from trimtab.plugins.inventory import Entry


@attrs.frozen
class Resolution:
    """What became of the providers that a prompt names, kind by kind in the prompt's order."""

    providers: tuple[LoadedProvider, ...]
    skipped: tuple[ProviderSkipped, ...]


def resolve(config: ProviderConfig, configuration: Configuration) -> LoadedProvider:
    """Select, check, load, construct and validate one provider.

    Args:
        config: a prompt's settings with an instance or a `ProviderRef`.
        configuration: whose allow-list counts.

    Raises:
        ProviderError: it can't be had; the message names it, its distribution and the remedy.
    """
    if not isinstance(config.provider, ProviderRef):
        return validate(source_of(config.kind, config.provider), config, config.provider)
    entry = admit(config.kind, config.provider.name, configuration)
    instance: Any = construct(entry, load(entry), config.provider.options)
    return validate(source_of_entry(config.kind, entry), config, instance)


def admit(kind: Kind, name: str, configuration: Configuration) -> Entry:
    """Select an entry and check all that can be checked without importing it.

    Raises:
        ProviderError: it is unknown, ambiguous, not allowed or not compatible.
    """
    entry = select(kind.value, name, discover())
    check_allowed(entry, configuration.allow)
    check_compatible(entry)
    return entry


def source_of_entry(kind: Kind, entry: Entry) -> Source:
    """Say who an installed provider is."""
    return Source(entry.name, kind, entry.distribution, entry.version)


def resolve_all(configs: Iterable[ProviderConfig], configuration: Configuration) -> Resolution:
    """Resolve the providers of one prompt.

    Optional ones that can't be had, and those that a switch turns off, are skipped on record:
    `ProviderSkipped`, without a prompt's name.

    Raises:
        ProviderError: as for `resolve`; or the configuration's require-list is not met.
        ConfigurationError: a switch in the environment is wrong.
    """
    switches = read_switches()
    if not switches.off:
        check_required(configuration.require)
    found = [_resolve_or_skip(config, configuration, switches) for config in configs]
    return Resolution(
        tuple(item for item in found if isinstance(item, LoadedProvider)),
        tuple(item for item in found if isinstance(item, ProviderSkipped)),
    )


def _resolve_or_skip(
    config: ProviderConfig, configuration: Configuration, switches: Switches
) -> LoadedProvider | ProviderSkipped:
    source, provider = presumed_source(config), config.provider
    reason = switches.reason_against(source, installed=isinstance(provider, ProviderRef))
    if reason:
        return ProviderSkipped(source=source, reason=reason)
    try:
        return resolve(config, configuration)
    except ProviderError as error:
        if isinstance(provider, ProviderRef) and provider.optional:
            return ProviderSkipped(source=source, reason=str(error))
        raise


def presumed_source(config: ProviderConfig) -> Source:
    """Say who a provider is before it is loaded, even where it can't be had."""
    if not isinstance(config.provider, ProviderRef):
        return source_of(config.kind, config.provider)
    try:
        entry = select(config.kind.value, config.provider.name, discover())
    except ProviderError:
        distribution, _, name = config.provider.name.rpartition(":")
        return Source(plain(name, 80), config.kind, plain(distribution, 80) or None)
    return source_of_entry(config.kind, entry)
