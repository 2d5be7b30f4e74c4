"""A plan: steps with a title and a status, and what else an agent may say about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from trimtab._types.options import as_tuple, is_collection, items_of

DONE_STATUSES = frozenset({"done", "completed", "skipped", "cancelled", "canceled", "complete"})
STARTED_STATUSES = frozenset({"in_progress", "in-progress", "active", "started"})
ACTIVE, COMPLETED, ABANDONED = "active", "completed", "abandoned"


def is_done(status: object) -> bool:
    """Return whether a step of this status needs no more work; case does not matter."""
    return _word(status) in DONE_STATUSES


def _word(status: object) -> str:
    value = status if type(status) is str else getattr(status, "value", status)
    return value.strip().lower() if isinstance(value, str) else ""


def in_namespace(tool: str, name: str) -> bool:
    """Return whether `tool` is called `name`, or lies in the namespace of that name.

    Names are divided by ``.``, ``/``, ``:`` or ``__``: ``warehouse`` holds ``warehouse.sql`` and
    ``mcp__warehouse__sql``. A ``*`` at the end stands for any rest. Case does not matter.
    """
    tool, name = _divided(tool), _divided(name)
    if name.endswith("*"):
        return f"__{name.removesuffix('*')}" in f"__{tool}"
    return bool(name) and f"__{name}__" in f"__{tool}__"


def _divided(name: str) -> str:
    for separator in (".", "/", ":"):
        name = name.replace(separator, "__")
    return name.strip().lower()


@attrs.frozen
class PlannedTool:
    """A tool that a step expects to use.

    Args:
        name: as the agent calls it.
        version: of the tool, where versions matter.
        params: the parameters that the step expects to pass, JSON-like.
    """

    name: str
    version: str = ""
    params: Mapping[str, Any] = attrs.field(factory=dict)


def _as_tools(items: Iterable[Any]) -> tuple[Any, ...]:
    if not is_collection(items):
        return as_tuple(items)
    return tuple(PlannedTool(item) if isinstance(item, str) else item for item in items)


@attrs.frozen
class PlanStep:
    """One step.

    Args:
        title: what is to be done.
        status: ``"pending"``, ``"in_progress"``, ``"done"`` or any word of the agent's.
        step_id: identifier in its plan, where steps have one.
        objective: what the step is for.
        tools: the tools that it expects to use; a string is a tool of that name.
        depends_on: ids of the steps that must be done before.
        expected: what a good outcome looks like.
        outcome: what came of it.
    """

    title: str
    status: str = "pending"
    step_id: str = ""
    objective: str = ""
    tools: tuple[PlannedTool, ...] = attrs.field(
        default=(), converter=_as_tools, validator=items_of(PlannedTool)
    )
    depends_on: tuple[str, ...] = attrs.field(
        default=(), converter=as_tuple, validator=items_of(str)
    )
    expected: str = ""
    outcome: str = ""

    @property
    def done(self) -> bool:
        """Whether it needs no more work."""
        return is_done(self.status)

    @property
    def started(self) -> bool:
        """Whether it is being worked on."""
        return _word(self.status) in STARTED_STATUSES

    def uses(self, tool: str) -> bool:
        """Whether it lists `tool`, by name or namespace; see `in_namespace`."""
        return any(in_namespace(tool, planned.name) for planned in self.tools)


def _check_steps(_: object, __: object, steps: tuple[PlanStep, ...]) -> None:
    known: dict[str, PlanStep] = {}
    for step in steps:
        if step.step_id and known.setdefault(step.step_id, step) is not step:
            raise ValueError(f"two steps have the id {step.step_id!r}; give each its own")
    for step in steps:
        for needed in step.depends_on:
            if needed not in known:
                name = step.step_id or step.title
                raise ValueError(f"step {name!r} depends on {needed!r}, which is not a step")
    _check_cycles(known)


def _check_cycles(steps: Mapping[str, PlanStep]) -> None:
    from graphlib import CycleError, TopologicalSorter

    try:
        TopologicalSorter({name: step.depends_on for name, step in steps.items()}).prepare()
    except CycleError as error:
        cycle = ", ".join(map(repr, reversed(error.args[1])))
        raise ValueError(f"steps depend on each other in a cycle: {cycle}") from None


@attrs.frozen
class Plan:
    """Steps on the way to an objective; keep it in a session with ``session.dispatch(plan)``.

    Args:
        steps: in their order.
        objective: what the plan is for.
        plan_id: the same for all versions of a plan.
        version: ``"plan.v1"``, ``"plan.v2"``, … where versions are kept.
        exit_criteria: what must be true in the end, one condition each.
        status: ``"active"``, ``"completed"`` or ``"abandoned"``.
        reason: why it was abandoned.
        run_id: the run it belongs to; empty if it belongs to the whole session.

    Raises:
        ValueError: two steps share an id, a dependency is not a step, or steps depend on each
            other in a cycle.
    """

    steps: tuple[PlanStep, ...] = attrs.field(
        default=(), converter=as_tuple, validator=[items_of(PlanStep), _check_steps]
    )
    objective: str = ""
    plan_id: str = ""
    version: str = ""
    exit_criteria: tuple[str, ...] = attrs.field(
        default=(), converter=as_tuple, validator=items_of(str)
    )
    status: str = ACTIVE
    reason: str = ""
    run_id: str = ""

    @property
    def open_steps(self) -> tuple[PlanStep, ...]:
        """The steps that still need work."""
        return tuple(step for step in self.steps if not step.done)

    @property
    def ready_steps(self) -> tuple[PlanStep, ...]:
        """The open steps whose dependencies are done, in the order of the plan."""
        left = self.open_steps
        waiting = {step.step_id for step in left}
        return tuple(step for step in left if waiting.isdisjoint(step.depends_on))

    @property
    def current_step(self) -> PlanStep | None:
        """The first step in progress, else the first that is ready; None if none is open."""
        started = (step for step in self.open_steps if step.started)
        return next(started, None) or next(iter(self.ready_steps), None)

    def step(self, step_id: str) -> PlanStep | None:
        """Return a step by its identifier, or None.

        Args:
            step_id: as in `PlanStep.step_id`.
        """
        return next((step for step in self.steps if step.step_id == step_id), None)

    def step_for(self, tool: str) -> PlanStep | None:
        """Return the step that a call of `tool` serves, None if no step is open.

        A step in progress that lists the tool comes first, then a ready one that lists it, then
        the current step.
        """
        started = [step for step in self.open_steps if step.started]
        listed = (step for step in (*started, *self.ready_steps) if step.uses(tool))
        return next(listed, self.current_step)
