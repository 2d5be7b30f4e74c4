"""Ties tool calls to the step of the plan that they belong to."""

from __future__ import annotations

from typing import Any

import attrs

from trimtab import Plan, ToolInvoked
from trimtab.events import ToolStarted
from trimtab_trace._envelope import References

_MOST_CALLS = 10_000


@attrs.define
class StepTies:
    """Follows the plan of each run, and adds its steps to the references of calls."""

    _plans: dict[str, Plan] = attrs.field(factory=dict)
    _calls: dict[tuple[str, str], tuple[str, str]] = attrs.field(factory=dict)

    def tied(self, record: Any, payload: dict[str, Any], references: References) -> References:
        """Return the references of `record`, with its step if it is a call of one.

        Args:
            record: what is written; plans are remembered.
            payload: of the event; a call gains ``expected``, the outcome that its step expects.
            references: as read from the record.
        """
        kind = type(record)
        if kind is ToolStarted:
            return self._started(record, payload, references)
        if kind is ToolInvoked:
            step = self._calls.pop((record.run_id, record.call_id), None)
            return references if step is None else _with(references, step)
        plan = record if kind is Plan else getattr(record, "plan", None)
        if isinstance(plan, Plan):
            self._plans[plan.run_id or getattr(record, "run_id", "")] = plan
        return references

    def _started(
        self, record: ToolStarted, payload: dict[str, Any], references: References
    ) -> References:
        plan = self._plans.get(record.run_id) or self._plans.get("")
        if plan is None or plan.status != "active":
            return references
        found = plan.step_for(record.tool)
        if found is None:
            return references
        if found.expected:
            payload["expected"] = found.expected
        step = (plan.plan_id, found.step_id)
        if len(self._calls) < _MOST_CALLS:
            self._calls[record.run_id, record.call_id] = step
        return _with(references, step)


def _with(references: References, step: tuple[str, str]) -> References:
    plan_id, step_id = step
    return attrs.evolve(references, plan_id=plan_id or None, step_id=step_id or None)
