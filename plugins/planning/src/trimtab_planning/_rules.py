"""What a plan says about a tool call: pure rules."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import attrs

from trimtab import Plan, PlanStep
from trimtab.events import in_namespace
from trimtab_planning._names import is_neutral

MOST_REMEMBERED = 256


class Breach(StrEnum):
    """How a call leaves the plan."""

    NO_PLAN = "no-plan"
    OFF_STEP = "off-step"


@attrs.frozen
class Deviation:
    """A call that leaves the plan.

    Args:
        breach: how.
        step: the current step, None without a plan.
        wanted: a later step that lists the tool.
    """

    breach: Breach
    step: PlanStep | None = None
    wanted: PlanStep | None = None

    @property
    def episode(self) -> str:
        """Name of the episode."""
        return self.breach if self.step is None else f"{self.breach}:{self.step.step_id}"


def declares(step: PlanStep, tool: str) -> bool:
    """Whether `step` allows `tool`: it lists it, or lists no tools at all."""
    return not step.tools or step.uses(tool)


def breach(plan: Plan | None, tool: str, *, free: Iterable[str] = ()) -> Deviation | None:
    """Return how a call of `tool` leaves `plan`, None if it keeps to it.

    Tools that keep plans, ask the user or load tools are always right, and so is every tool once
    the plan is completed.

    Args:
        plan: the current plan, None before the first.
        tool: the name of the tool.
        free: names and namespaces of tools that need no plan.
    """
    if is_neutral(tool) or any(in_namespace(tool, name) for name in free):
        return None
    if plan is None or plan.status == "abandoned":
        return Deviation(Breach.NO_PLAN)
    step = plan.step_for(tool)
    if step is None or any(declares(item, tool) for item in workable(plan)):
        return None
    wanted = next((item for item in plan.open_steps if item.uses(tool)), None)
    return Deviation(Breach.OFF_STEP, step, wanted)


class BreachMemo:
    """Remembers what `breach` found for the newest plan: plans change much less than tools run.

    Args:
        free: as for `breach`.
    """

    def __init__(self, free: Iterable[str] = ()) -> None:
        self._free = tuple(free)
        self._known: tuple[Plan | None, dict[str, Deviation | None]] = (None, {})

    def breach(self, plan: Plan | None, tool: str) -> Deviation | None:
        """Return what `breach` returns."""
        of, found = self._known
        if of is not plan or len(found) > MOST_REMEMBERED:
            found = {}
            self._known = plan, found
        if tool not in found:
            found[tool] = breach(plan, tool, free=self._free)
        return found[tool]


def workable(plan: Plan) -> tuple[PlanStep, ...]:
    """Return the steps in progress; where there are none, those that are ready."""
    return tuple(step for step in plan.open_steps if step.started) or plan.ready_steps
