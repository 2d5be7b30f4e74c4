"""The types of records that snapshots and traces name: core's own, and those of plugins."""

from __future__ import annotations

from typing import Any

from trimtab._events.guidance import GuidanceDelivered, GuidanceSuppressed, StopRequested
from trimtab._events.providers import (
    CompletionChecked,
    Feedback,
    FeedbackSuppressed,
    ObserverFaulted,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
    ProviderSlow,
)
from trimtab._events.questions import (
    CompletionAsked,
    FeedbackAsked,
    GuidanceAsked,
    PromptRendered,
)
from trimtab._events.run import (
    CompactionHappened,
    ModelResponded,
    RunClosed,
    RunOpened,
    ToolInvoked,
    ToolStarted,
    UserMessage,
)
from trimtab._types.plan import Plan

RECORD_TYPES: tuple[type[Any], ...] = (
    RunOpened,
    RunClosed,
    UserMessage,
    ModelResponded,
    ToolStarted,
    ToolInvoked,
    CompactionHappened,
    GuidanceDelivered,
    GuidanceSuppressed,
    StopRequested,
    Feedback,
    FeedbackSuppressed,
    CompletionChecked,
    ProviderSkipped,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSlow,
    ObserverFaulted,
    Plan,
    PromptRendered,
    GuidanceAsked,
    FeedbackAsked,
    CompletionAsked,
)
"""Those of core. A session keeps none of the last four: only recorders see them."""


def installed_record_type(name: str) -> type[Any] | None:
    """Return the record type that an installed package offers, None if none does.

    Packages offer their types as entry points of the group ``trimtab.events``.

    Args:
        name: of the class.

    Raises:
        ProviderError: the package offers it and can't be imported, or may not be loaded.
    """
    from trimtab._plugins.discovery import discover
    from trimtab._plugins.loading import load

    for entry in discover().of("events"):
        if entry.attr == name:
            kind = load(entry)
            return kind if isinstance(kind, type) else None
    return None
