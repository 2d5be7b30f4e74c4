"""The plan that the agent keeps with tools of its host, followed through one run."""

from __future__ import annotations

import attrs

from trimtab import Outcome, PlanStep, ToolInvoked
from trimtab.trajectory import MessageRecord
from trimtab_plan_based_checker._plan_steps import Step
from trimtab_planning import is_plan_tool, plan_after
from trimtab_signals import CallProjection, CallRecord


@attrs.frozen
class SavedPlan:
    """A `SeenPlan` as a snapshot keeps it."""

    current: bool
    steps: tuple[PlanStep, ...]


class SeenPlan(CallProjection):
    """The plan of one run, as its tool calls show it.

    Attributes:
        current: whether it was changed since the user last spoke; the plan of an earlier request
            does not keep the agent from stopping after a new one.
    """

    def __init__(self) -> None:
        self.current = False
        self._steps: tuple[PlanStep, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps; none if no plan was seen. A step without a status may be done or not."""
        return tuple(Step(step.title, step.done if step.status else None) for step in self._steps)

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Follow a call; one that failed or was refused has changed no plan."""
        if not call.failed and event.outcome is Outcome.OK:
            self.take(event)

    def take(self, event: ToolInvoked) -> None:
        """Follow a call that succeeded."""
        if not is_plan_tool(event.tool):
            return
        steps = plan_after(self._steps, event.tool, event.params, event.result, unknown="")
        if steps is not None:
            self.current, self._steps = True, steps

    def user_spoke(self, message: MessageRecord) -> None:
        """Put the plan aside until a call changes it again."""
        if not message.notification:
            self.current = False

    def state(self) -> SavedPlan:
        """Return everything."""
        return SavedPlan(self.current, self._steps)

    def load_state(self, state: SavedPlan) -> None:
        """Take back what `state` returned."""
        self.current, self._steps = state.current, state.steps
