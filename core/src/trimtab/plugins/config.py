"""Configuration files: tables that build the same objects as the Python API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from trimtab.plugins.settings import (
    CompletionCheckerConfig,
    FeedbackProviderConfig,
    GuidanceProviderConfig,
    ProviderConfig,
)
from trimtab.plugins.source import Kind


@attrs.frozen(kw_only=True)
class PromptSettings:
    """One table ``prompts."ns/key"``; None where the table says nothing, so that code decides."""

    guidance: tuple[GuidanceProviderConfig, ...] | None = None
    feedback: tuple[FeedbackProviderConfig, ...] | None = None
    completion: tuple[CompletionCheckerConfig, ...] | None = None
    guidance_limit: int | None = None
    feedback_delivery: str | None = None


@attrs.frozen(kw_only=True)
class Configuration:
    """A configuration file, read and checked.

    Attributes:
        path: the file; None where there is none.
        prompts: settings by the prompt's name.
        hosts: the tables ``hosts.NAME`` as they stand, for the hosts' packages.
        allow: patterns of distributions that may be loaded; None allows all.
        require: distributions that must be installed, e.g. ``"trimtab-doom-loop>=0.1"``.
    """

    path: Path | None = None
    prompts: Mapping[str, PromptSettings] = attrs.field(factory=dict)
    hosts: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    allow: tuple[str, ...] | None = None
    require: tuple[str, ...] = ()


def active_configuration() -> Configuration:
    """Return the configuration of this process: of `find_configuration`, or an empty one."""
    raise NotImplementedError


def as_configs(kind: Kind, items: Iterable[Any]) -> tuple[ProviderConfig, ...]:
    """Make settings of what a `PromptTemplate` lists: settings, `enable(…)`, names, instances."""
    raise NotImplementedError
