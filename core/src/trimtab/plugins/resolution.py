"""From what a prompt names to providers that can be called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trimtab.plugins.provider import LoadedProvider, Resolution
from trimtab.plugins.settings import ProviderConfig

if TYPE_CHECKING:
    from trimtab.plugins.config import Configuration


def resolve(config: ProviderConfig, configuration: Configuration) -> LoadedProvider:
    """Select, check, load, construct and validate one provider.

    Raises:
        ProviderError: it can't be had; the message names it, its distribution and the remedy.
    """
    raise NotImplementedError


def resolve_all(configs: Iterable[ProviderConfig], configuration: Configuration) -> Resolution:
    """Resolve the providers of one prompt; optional ones that can't be had, and those that a
    switch turns off, are skipped on record (`ProviderSkipped`, without a prompt's name).

    Raises:
        ProviderError: as for `resolve`.
    """
    raise NotImplementedError
