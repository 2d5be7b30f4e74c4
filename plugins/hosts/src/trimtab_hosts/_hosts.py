"""The frameworks, described, and what the modules share; no framework is imported here."""

from __future__ import annotations

import json
from typing import Any

from trimtab import DecisionPoint, Delivery, Host, Outcome

EPHEMERAL = dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL)
"""Text stands at the end of one request, and before the end the model is asked once more."""

SENT_BACK = {**EPHEMERAL, DecisionPoint.PRE_RESPONSE: Delivery.PERSISTED}
"""The same, but what sends an agent back before its end stays in its history."""


def described(name: str, delivery: dict[DecisionPoint, Delivery], **more: Any) -> Host:
    """Return a framework as a host.

    Args:
        name: of the host.
        delivery: how text is placed, point by point.
        more: further fields of `Host`.
    """
    return Host(name, delivery, parallel_calls=True, feedback=Delivery.EPHEMERAL, **more)


AGENT_FRAMEWORK = described("agent-framework", SENT_BACK, stops=True)
AUTOGEN = described("autogen", SENT_BACK, stops=True)
CREWAI = described("crewai", EPHEMERAL, stops=True)
DSPY = described("dspy", SENT_BACK, stops=True)
HAYSTACK = described("haystack", SENT_BACK, stops=True)
LLAMA_INDEX = described("llama-index", SENT_BACK, stops=True)
SMOLAGENTS = described("smolagents", SENT_BACK, stops=True)


def arguments(given: Any) -> Any:
    """Return the arguments of a call, decoded; as they are if they are no JSON text."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return given


def failed_outcome(schema: dict[str, Any] | None, given: Any) -> Outcome:
    """Return how a failed call ended; runtimes do not say that what fits no tool never ran.

    Args:
        schema: of the tool's arguments; None if there is no such tool.
        given: the arguments.
    """
    if schema is None or not isinstance(given, dict):
        return Outcome.INVALID
    fits = {*schema.get("required", ())} <= {*given} <= {*schema.get("properties", ())}
    return Outcome.ERROR if fits else Outcome.INVALID
