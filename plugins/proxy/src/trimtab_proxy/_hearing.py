"""Which providers of a prompt are never heard through the proxy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab import DecisionPoint, Delivery, Prompt, ProviderError
from trimtab_proxy._host import delivery


class UnsupportedPoint(ProviderError):
    """A provider speaks only where the proxy can't place text."""


def check_prompt(prompt: Prompt[Any], *, gate: bool) -> tuple[str, ...]:
    """Return a sentence for each kind of provider that is not asked.

    Args:
        prompt: guides agents.
        gate: whether calls can be refused and final answers sent back.

    Raises:
        UnsupportedPoint: a guidance provider would never be heard.
    """
    for name, points, may_refuse in _guidance(prompt):
        ways = {delivery(gate=gate)[point] for point in points}
        if not ways - {Delivery.NONE, *({Delivery.REFUSAL} if not may_refuse else ())}:
            listed = ", ".join(point.name for point in points)
            fix = "name other decision_points" if gate else "set gate = true, or name others"
            raise UnsupportedPoint(
                f"prompt {prompt.name!r}: {name!r} speaks only at {listed}, where the proxy can't "
                f"place text: {fix}"
            )
    if prompt.table.checks and not gate:
        return (f"prompt {prompt.name!r}: completion checkers are asked only with gate = true",)
    return ()


def _guidance(prompt: Prompt[Any]) -> Iterator[tuple[str, list[DecisionPoint], bool]]:
    """Yield name, decision points and leave to refuse of each guidance provider."""
    points: dict[int, list[DecisionPoint]] = {}
    known: dict[int, tuple[str, bool]] = {}
    for point, entries in prompt.table.guides.items():
        for entry in entries:
            points.setdefault(entry.order, []).append(point)
            known[entry.order] = (entry.source.full_name, entry.config.refuse)
    for order, (name, may_refuse) in known.items():
        yield name, points[order], may_refuse
