"""Feedback as the agent reads it."""

from __future__ import annotations

from trimtab.feedback.events import Feedback
from trimtab.text import block


def render_feedback(feedback: Feedback) -> str:
    """Return the tagged, escaped block: summary, observations, suggestions."""
    lines = [feedback.summary]
    if feedback.observations:
        lines += ["", *(f"• {o.category}: {o.description}" for o in feedback.observations)]
    if feedback.suggestions:
        lines += ["", *(f"→ {suggestion}" for suggestion in feedback.suggestions)]
    return block(
        "feedback", "\n".join(lines), source=feedback.provider_name, severity=feedback.severity
    )
