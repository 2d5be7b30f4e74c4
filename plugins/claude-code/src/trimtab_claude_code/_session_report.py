"""What was decided in a session, as ``trimtab status`` shows it: plain data, oldest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab import Event, Feedback, GuidanceDelivered, Session
from trimtab.events import (
    CompletionChecked,
    GuidanceSuppressed,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
)
from trimtab_claude_code.hooks import HookFailed

_KINDS = (
    GuidanceDelivered,
    GuidanceSuppressed,
    Feedback,
    CompletionChecked,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
    HookFailed,
)


def runs_of(session: Session) -> list[dict[str, Any]]:
    """Return the runs of a session with what was decided in each."""
    decided = list(_decisions(session))
    return [
        {
            "run_id": run_id,
            "prompt": state.prompt_name,
            "agent": state.agent_id,
            "open": not state.closed,
            "turns": state.turns,
            "calls": state.calls,
            "decided": [said for owner, said in decided if owner == run_id],
        }
        for run_id, state in session.runs().items()
    ]


def _decisions(session: Session) -> Iterator[tuple[str, dict[str, Any]]]:
    events: list[Event] = [event for kind in _KINDS for event in session[kind].all()]
    for event in sorted(events, key=lambda event: event.at.isoformat() if event.at else ""):
        at = event.at.isoformat() if event.at else None
        yield event.run_id, {"at": at, **_facts(event)}


def _facts(event: Event) -> dict[str, Any]:
    match event:
        case GuidanceDelivered():
            return {
                "event": "delivered",
                "provider": event.provider_name,
                "point": event.decision_point.value,
                "delivery": event.delivery.value,
                "level": event.level,
                "text": event.injection.content,
                "reason": event.classification.reason or "",
            }
        case GuidanceSuppressed():
            return {
                "event": "suppressed",
                "provider": event.provider_name,
                "point": event.decision_point.value,
                "text": event.counted.content if event.counted else "",
                "reason": event.reason,
            }
        case Feedback():
            return {"event": "feedback", "provider": event.provider_name, "text": event.summary}
        case CompletionChecked():
            return {
                "event": f"completion {event.status.value}",
                "provider": ", ".join(source.name for source in event.sources),
                "text": event.feedback or "",
                "reason": event.reason or "",
            }
        case HookFailed():
            return {"event": "hook failed", "reason": f"{event.event}: {event.error}"}
        case _:
            return _about_provider(event)


def _about_provider(event: Event) -> dict[str, Any]:
    match event:
        case ProviderFaulted():
            name, reason = "fault", event.error
        case ProviderQuarantined():
            name, reason = "quarantined", f"{event.faults} faults in a row"
        case ProviderSkipped():
            name, reason = "skipped", event.reason
        case _:
            return {"event": type(event).__name__}
    return {"event": name, "provider": event.source.name, "reason": reason}
