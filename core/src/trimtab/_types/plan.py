"""A plain plan: steps with a title and a status (seed 003)."""

from __future__ import annotations

import attrs

from trimtab._types.options import as_tuple

DONE_STATUSES = frozenset({"done", "completed", "skipped", "cancelled"})


def is_done(status: object) -> bool:
    """Return whether a step of this status needs no more work (DESIGN 5: case-insensitive)."""
    value = getattr(status, "value", status)
    return isinstance(value, str) and value.strip().lower() in DONE_STATUSES


@attrs.frozen
class PlanStep:
    """One step.

    Args:
        title: what is to be done.
        status: ``"pending"``, ``"in_progress"``, ``"done"`` or any word of the agent's.
        step_id: identifier in its plan, where steps have one.
    """

    title: str
    status: str = "pending"
    step_id: str = ""

    @property
    def done(self) -> bool:
        """Whether it needs no more work."""
        return is_done(self.status)


@attrs.frozen
class Plan:
    """Steps on the way to an objective; keep it in a session with ``session.dispatch(plan)``.

    Args:
        steps: in their order.
        objective: what the plan is for.
    """

    steps: tuple[PlanStep, ...] = attrs.field(default=(), converter=as_tuple)
    objective: str = ""

    @property
    def open_steps(self) -> tuple[PlanStep, ...]:
        """The steps that still need work."""
        return tuple(step for step in self.steps if not step.done)
