"""What an event says, on one line."""

from __future__ import annotations

import json
from typing import Any

from trimtab.text import sanitize
from trimtab_trace._envelope import TraceEvent

WIDTH = 100


def summary(event: TraceEvent) -> str:
    """Return what an event says, on one bounded line."""
    shown = _SHOWN.get(event.event_type)
    values = [event.payload] if shown is None else [_value(event.payload, p) for p in shown]
    said = [value if isinstance(value, str) else json.dumps(value) for value in values]
    return sanitize(" · ".join(text for text in said if text not in ("", "null", "{}")), WIDTH)


_SHOWN: dict[str, tuple[str, ...]] = {
    "RunConfigured": ("prompt", "host.name"),
    "RunOpened": (),
    "UserMessage": ("text",),
    "ModelResponded": ("text", "tool_calls"),
    "ToolInvoked": ("tool", "input"),
    "ToolReturned": ("tool", "outcome", "error", "output"),
    "GuidanceAsked": ("decision_point",),
    "GuidanceDelivered": ("provider_name", "injection.content"),
    "GuidanceSuppressed": ("provider_name", "reason"),
    "StopRequested": ("provider_name", "outcome", "summary"),
    "FeedbackDelivered": ("provider_name", "severity", "summary"),
    "CompletionAsked": ("stop_reason",),
    "CompletionChecked": ("status", "feedback", "reason"),
    "ProviderFaulted": ("source.name", "hook", "error"),
    "PromptRendered": ("text",),
    "RunTerminated": ("reason",),
}


def _value(payload: Any, path: str) -> Any:
    for key in path.split("."):
        payload = payload.get(key) if isinstance(payload, dict) else None
    return payload
