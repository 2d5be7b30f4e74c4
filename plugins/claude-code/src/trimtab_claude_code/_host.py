"""What Claude Code can do with the words of a provider, and what a prompt may ask of it.

Measured with Claude Code 2.1.332: text that a hook returns stays in the conversation; a call can
only be spoken to before it runs by refusing it; nothing tells which response will be the last. A
hook's ``"continue": false`` ends the turn, or the subagent alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trimtab import DecisionPoint, Delivery, Host, ProviderError
from trimtab_signals import agents

if TYPE_CHECKING:
    from trimtab import GuidanceProviderConfig, Prompt
    from trimtab.events import Provenance

CLAUDE_CODE = Host(
    name="claude-code",
    delivery={
        DecisionPoint.PRE_RENDER: Delivery.PERSISTED,
        DecisionPoint.PRE_TOOL_SELECTION: Delivery.PERSISTED,
        DecisionPoint.PRE_TOOL_EXECUTION: Delivery.REFUSAL,
        DecisionPoint.POST_TOOL_RESULT: Delivery.PERSISTED,
        DecisionPoint.PRE_RESPONSE: Delivery.NONE,
    },
    parallel_calls=True,
    tool_profiles=agents.CLAUDE_CODE,
    stops=True,
)
"""Claude Code, described."""


class UnsupportedPoint(ProviderError):
    """A provider speaks only where the host can't place text."""


def check_prompt(prompt: Prompt[Any], host: Host = CLAUDE_CODE) -> tuple[str, ...]:
    """Return a warning for each provider that the host silences at some of its points.

    A provider that names no points of its own is asked at all five and depends on none.

    Args:
        prompt: the prompt.
        host: where it runs.

    Raises:
        UnsupportedPoint: a provider would never be heard.
    """
    warnings = []
    for source, config, points in _guides(prompt):
        heard = [point for point in points if _heard(host, point, config)]
        silent = [point for point in points if point not in heard and not _covered(point, heard)]
        if not silent or len(points) == len(DecisionPoint):
            continue
        text = f"{source.full_name!r} is not heard at {_listed(silent)} on {host.name}"
        if not heard:
            raise UnsupportedPoint(f"{text}, and speaks nowhere else: {_remedy(silent)}")
        warnings.append(f"{text}: {_remedy(silent)}")
    return tuple(warnings)


def silent_without_deadline(prompt: Prompt[Any]) -> tuple[str, ...]:
    """Return a warning for each provider that speaks of the deadline only.

    Args:
        prompt: one whose sessions have no deadline.
    """
    return tuple(
        f"{entry.source.full_name!r} never speaks, since sessions have no deadline: "
        "set timeout = SECONDS in [hosts.claude-code]"
        for entry in prompt.table.feedback
        if entry.limits_only
    )


def _guides(
    prompt: Prompt[Any],
) -> Iterator[tuple[Provenance, GuidanceProviderConfig, list[DecisionPoint]]]:
    points: dict[int, list[DecisionPoint]] = {}
    known: dict[int, tuple[Provenance, GuidanceProviderConfig]] = {}
    for point, entries in prompt.table.guides.items():
        for entry in entries:
            known[entry.order] = (entry.source, entry.config)
            points.setdefault(entry.order, []).append(point)
    for order, (source, config) in known.items():
        yield source, config, points[order]


def _heard(host: Host, point: DecisionPoint, config: GuidanceProviderConfig) -> bool:
    delivery = host.delivers(point)
    return delivery is not Delivery.NONE and (delivery is not Delivery.REFUSAL or config.refuse)


def _covered(point: DecisionPoint, heard: list[DecisionPoint]) -> bool:
    """Whether nothing is lost: any response may be the last, and each has a PRE_TOOL_SELECTION."""
    return point is DecisionPoint.PRE_RESPONSE and DecisionPoint.PRE_TOOL_SELECTION in heard


def _listed(points: list[DecisionPoint]) -> str:
    return ", ".join(point.name for point in points)


def _remedy(silent: list[DecisionPoint]) -> str:
    if DecisionPoint.PRE_TOOL_EXECUTION in silent:
        return "set refuse=True if it may refuse calls, or name other decision_points"
    return "name other decision_points"
