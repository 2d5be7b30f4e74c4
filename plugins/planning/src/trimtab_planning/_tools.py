"""The tools with which an agent keeps its plan; they work on every host that takes tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, TypeVar

import attrs

from trimtab import Plan, PlannedTool, PlanStep, Tool, ToolContext, ToolResult
from trimtab_planning._book import PlanBook
from trimtab_planning._criteria import ExitCriterion, as_criteria, results, unmet
from trimtab_planning._names import PLAN_REFLECT, PLAN_REVISE, PLAN_SET, PLAN_UPDATE_STEP
from trimtab_planning._render import plan_text

P = TypeVar("P")
Status = Literal["pending", "in_progress", "done", "skipped", "blocked"]


@attrs.frozen
class ToolSpec:
    """A tool that a step expects to use."""

    name: Annotated[str, "Name of the tool."]
    version: Annotated[str, "Its version, where it matters."] = ""
    params: Annotated[dict[str, Any], "Parameters that the step expects to pass."] = attrs.field(
        factory=dict
    )


@attrs.frozen
class StepSpec:
    """One step of a plan, as an agent writes it."""

    title: Annotated[str, "What is to be done, in a few words."]
    id: Annotated[str, "Short identifier, unique in the plan; made up where empty."] = ""
    objective: Annotated[str, "What the step is for."] = ""
    tools: Annotated[tuple[ToolSpec, ...], "Tools that the step uses; none means any."] = ()
    depends_on: Annotated[tuple[str, ...], "Ids of the steps that must be done before."] = ()
    expected: Annotated[str, "What a good outcome looks like."] = ""
    status: Annotated[Status, "Where it stands."] = "pending"

    def step(self) -> PlanStep:
        """Return the step of the plan."""
        return PlanStep(
            self.title,
            self.status,
            self.id,
            objective=self.objective,
            tools=[PlannedTool(tool.name, tool.version, tool.params) for tool in self.tools],
            depends_on=self.depends_on,
            expected=self.expected,
        )


@attrs.frozen
class PlanSetParams:
    """Parameters of `plan_set`."""

    objective: Annotated[str, "What the plan is for."]
    steps: Annotated[tuple[StepSpec, ...], "The steps, in order."]
    exit_criteria: Annotated[tuple[str, ...], "What must be true in the end."] = ()


@attrs.frozen
class PlanUpdateStepParams:
    """Parameters of `plan_update_step`."""

    step_id: Annotated[str, "Id of the step."]
    status: Annotated[Status, "Where it stands now."]
    outcome: Annotated[str, "What came of it."] = ""


@attrs.frozen
class PlanReviseParams:
    """Parameters of `plan_revise`: steps, a version or a reason to give up."""

    reason: Annotated[str, "Why the plan changes."]
    steps: Annotated[tuple[StepSpec, ...], "All steps of the new version; empty keeps them."] = ()
    objective: Annotated[str, "The new objective; empty keeps it."] = ""
    exit_criteria: Annotated[tuple[str, ...], "The new exit criteria; empty keeps them."] = ()
    rollback_to: Annotated[str, "A version to go back to instead, e.g. plan.v1."] = ""
    abandon: Annotated[bool, "Give the plan up instead."] = False


@attrs.frozen
class PlanReflectParams:
    """Parameters of `plan_reflect`."""

    observed: Annotated[str, "What happened."]
    met: Annotated[bool, "Whether it is what the step, or the exit criteria, expect."]
    step_id: Annotated[str, "The step; empty for the exit criteria of the whole plan."] = ""
    proposal: Annotated[str, "What should change in the plan; empty if nothing."] = ""


def plan_tools(criteria: Iterable[ExitCriterion] = ()) -> tuple[Tool[Any, Any], ...]:
    """Return `plan_set`, `plan_update_step`, `plan_revise` and `plan_reflect`.

    Args:
        criteria: exit criteria; those with a function are checked when the agent says by
            `plan_reflect` that the whole plan is met.
    """
    criteria = as_criteria(criteria)
    return (
        Tool(
            PLAN_SET,
            "Write the plan before you act: objective, steps in order with the tools each uses,"
            " exit criteria. Called again, it makes a new version.",
            PlanSetParams,
            _answering(_set),
        ),
        Tool(
            PLAN_UPDATE_STEP,
            "Say where a step of the plan stands: in_progress before you work on it, done with"
            " its outcome after.",
            PlanUpdateStepParams,
            _answering(_update_step),
        ),
        Tool(
            PLAN_REVISE,
            "Change the plan when evidence demands it: new steps, or back to an earlier version"
            " with rollback_to, or give it up with abandon. Steps that keep their id, or else"
            " their title, keep their progress.",
            PlanReviseParams,
            _answering(_revise),
        ),
        Tool(
            PLAN_REFLECT,
            "Compare what you observed with what a step, or the exit criteria of the plan,"
            " expect; after every step and before the final answer.",
            PlanReflectParams,
            _reflecting(criteria),
        ),
    )


def _set(book: PlanBook, params: PlanSetParams) -> Plan:
    return book.author(
        _steps(params.steps),
        objective=params.objective,
        exit_criteria=params.exit_criteria,
        origin=PLAN_SET,
    )


def _update_step(book: PlanBook, params: PlanUpdateStepParams) -> Plan:
    return book.update_step(
        params.step_id,
        status=params.status,
        outcome=params.outcome or None,
        origin=PLAN_UPDATE_STEP,
    )


def _revise(book: PlanBook, params: PlanReviseParams) -> Plan:
    changes = bool(params.steps or params.objective or params.exit_criteria)
    if changes + bool(params.rollback_to) + params.abandon != 1:
        raise ValueError("give new steps, objective or exit criteria, or rollback_to, or abandon")
    if params.abandon:
        return book.abandon(params.reason, origin=PLAN_REVISE)
    if params.rollback_to:
        return book.rollback(params.rollback_to, reason=params.reason, origin=PLAN_REVISE)
    return book.revise(
        steps=_steps(params.steps) or None,
        objective=params.objective or None,
        exit_criteria=params.exit_criteria or None,
        reason=params.reason,
        origin=PLAN_REVISE,
    )


def _steps(specs: Iterable[StepSpec]) -> tuple[PlanStep, ...]:
    return tuple(spec.step() for spec in specs)


def _answering(
    change: Callable[[PlanBook, P], Plan],
) -> Callable[..., ToolResult[Any]]:
    """Return a handler that answers with the plan, or with what is wrong."""

    def handler(params: P, /, *, context: ToolContext) -> ToolResult[Any]:
        try:
            plan = change(PlanBook.for_tool(context), params)
        except ValueError as error:
            return ToolResult.error(str(error))
        return ToolResult.ok(message=plan_text(plan))

    return handler


def _reflecting(criteria: tuple[ExitCriterion, ...]) -> Callable[..., ToolResult[Any]]:
    """Return the handler of `plan_reflect`: what checks find goes before what the agent says."""

    def handler(params: PlanReflectParams, /, *, context: ToolContext) -> ToolResult[Any]:
        whole = params.met and not params.step_id
        found = results(criteria, context) if whole else ()
        try:
            book = PlanBook.for_tool(context)
            book.reflect(
                params.observed,
                step_id=params.step_id,
                met=params.met,
                proposal=params.proposal,
                checks=found,
            )
        except ValueError as error:
            return ToolResult.error(str(error))
        wrong = unmet(found)
        if wrong:
            return ToolResult.error(f"{wrong}. The plan stays open.")
        return ToolResult.ok(message=plan_text(book.current))

    return handler
