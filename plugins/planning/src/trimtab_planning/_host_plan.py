"""The plan that an agent keeps with its host's own tools, followed through one run."""

from __future__ import annotations

import attrs

from trimtab import Outcome, Plan, PlanStep, ToolInvoked
from trimtab.trajectory import BaseProjection, MessageRecord
from trimtab_planning._plan_calls import is_plan_tool, plan_after
from trimtab_planning._plans import MAX_STEPS


def steps_after(known: tuple[PlanStep, ...], call: ToolInvoked) -> tuple[PlanStep, ...] | None:
    """Return the steps of the host's plan after a call, the first 200.

    Args:
        known: the steps before.
        call: of any tool.

    Returns:
        None if the call failed or does not change a plan.
    """
    if call.outcome is not Outcome.OK or not is_plan_tool(call.tool):
        return None
    steps = plan_after(known, call.tool, call.params, call.result, unknown="pending")
    return None if steps is None else steps[:MAX_STEPS]


@attrs.frozen
class SavedHostPlan:
    """A `HostPlan` as a snapshot keeps it."""

    current: bool
    steps: tuple[PlanStep, ...]


class HostPlan(BaseProjection):
    """The plan of one run, as the calls of the host's own tools show it."""

    def __init__(self) -> None:
        self._steps: tuple[PlanStep, ...] = ()
        self._current = False

    @property
    def plan(self) -> Plan | None:
        """The plan; None if there is none, or if it had open steps when the user spoke."""
        return Plan(self._steps) if self._current and self._steps else None

    def call_ended(self, call: ToolInvoked) -> None:
        """Follow a call."""
        steps = steps_after(self._steps, call)
        if steps is not None:
            self._steps, self._current = steps, True

    def user_spoke(self, message: MessageRecord) -> None:
        """Put an unfinished plan aside until a call changes it again."""
        if not message.notification and any(not step.done for step in self._steps):
            self._current = False

    def state(self) -> SavedHostPlan:
        """Return everything."""
        return SavedHostPlan(self._current, self._steps)

    def load_state(self, state: SavedHostPlan) -> None:
        """Take back what `state` returned."""
        self._current, self._steps = state.current, state.steps
