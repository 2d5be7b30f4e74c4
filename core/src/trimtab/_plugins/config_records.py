"""Configuration, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

from trimtab._policy.settings import (
    CompletionCheckerConfig,
    FeedbackProviderConfig,
    GuidanceProviderConfig,
    RecorderConfig,
)
from trimtab._types.limits import Budget


@attrs.frozen(kw_only=True)
class PromptSettings:
    """One table ``prompts."ns/key"``; None if the table says nothing, so that code decides.

    Args:
        guidance, feedback, completion, recorders: the providers of each kind, in their order.
        guidance_limit, feedback_delivery: as for `PromptTemplate`.
        budget: of runs whose host gives none.
    """

    guidance: tuple[GuidanceProviderConfig, ...] | None = None
    feedback: tuple[FeedbackProviderConfig, ...] | None = None
    completion: tuple[CompletionCheckerConfig, ...] | None = None
    recorders: tuple[RecorderConfig, ...] | None = None
    guidance_limit: int | None = None
    feedback_delivery: Literal["first", "all"] | None = None
    budget: Budget | None = None


@attrs.frozen(kw_only=True)
class Configuration:
    """A configuration file, read and checked.

    Attributes:
        path: the file or None.
        prompts: settings by the prompt's name.
        hosts: the tables ``hosts.NAME`` as they stand, for the hosts' packages.
        allow: patterns of distributions that may be loaded; None allows all.
        require: distributions that must be installed, e.g. ``"acme-nudges>=0.1"``.
    """

    path: Path | None = None
    prompts: Mapping[str, PromptSettings] = attrs.field(factory=dict)
    hosts: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    allow: tuple[str, ...] | None = None
    require: tuple[str, ...] = ()
