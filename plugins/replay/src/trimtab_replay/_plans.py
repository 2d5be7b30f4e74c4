"""A recorded plan as the plan that checkers look for in a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trimtab import Plan, PlanStep

_TITLES = ("title", "t", "content", "step", "subject", "description", "text", "name")
_STATUSES = ("status", "s", "state")


def plan_of(steps: Iterable[Any]) -> Plan:
    """Return recorded steps, whatever their shape, as a `Plan`."""
    return Plan(tuple(_step(step) for step in steps))


def _step(step: Any) -> PlanStep:
    if not isinstance(step, Mapping):
        return PlanStep(str(step))
    return PlanStep(_first(step, _TITLES) or "untitled", _first(step, _STATUSES) or "pending")


def _first(step: Mapping[str, Any], keys: Iterable[str]) -> str:
    return next((value for key in keys if isinstance(value := step.get(key), str) and value), "")
