"""The tools with which an agent keeps its plan; they work on every host that takes tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, TypeVar

import attrs

from trimtab import Plan, PlannedTool, PlanStep, Tool, ToolContext, ToolResult
from trimtab_planning._book import PlanBook
from trimtab_planning._criteria import ExitCriterion, as_criteria, results, unmet
from trimtab_planning._plan_calls import PLAN_REFLECT, PLAN_REVISE, PLAN_SET, PLAN_UPDATE_STEP
from trimtab_planning._plans import plan_text

P = TypeVar("P")
Status = Literal["pending", "in_progress", "done", "skipped", "blocked"]


# The schemas below stand in every request of the model: a name that says enough has no text.


@attrs.frozen
class ToolSpec:
    """A tool that a step expects to use: its name, version and parameters."""

    name: str
    version: str = ""
    params: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class StepSpec:
    """One step of a plan, as an agent writes it."""

    title: str
    id: str = ""
    objective: str = ""
    tools: Annotated[tuple[ToolSpec, ...], "None means any."] = ()
    depends_on: Annotated[tuple[str, ...], "Ids of steps."] = ()
    expected: Annotated[str, "A good outcome."] = ""

    def step(self) -> PlanStep:
        """Return the step of the plan."""
        return PlanStep(
            self.title,
            step_id=self.id,
            objective=self.objective,
            tools=[PlannedTool(tool.name, tool.version, tool.params) for tool in self.tools],
            depends_on=self.depends_on,
            expected=self.expected,
        )


@attrs.frozen
class PlanSetParams:
    """Parameters of `plan_set`."""

    objective: str
    steps: tuple[StepSpec, ...]
    exit_criteria: tuple[str, ...] = ()
    reason: Annotated[str, "Of a change."] = ""


@attrs.frozen
class PlanUpdateStepParams:
    """Parameters of `plan_update_step`."""

    step_id: str
    status: Status
    outcome: str = ""


@attrs.frozen
class PlanReviseParams:
    """Parameters of `plan_revise`: a version to go back to, or a reason to give up."""

    reason: str
    rollback_to: Annotated[str, "E.g. plan.v1."] = ""
    abandon: bool = False


@attrs.frozen
class PlanReflectParams:
    """Parameters of `plan_reflect`."""

    observed: str
    met: Annotated[bool, "Whether it is as expected."]
    step_id: Annotated[str, "Empty for the whole plan."] = ""
    proposal: Annotated[str, "Change of the plan."] = ""


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
            "Write the plan of a task of three steps or more: objective, steps in order with the"
            " tools each uses, what must be true in the end. Not for a question, nor for one or"
            " two calls. Call it again, with all steps, when evidence demands a change: steps that"
            " keep id or title keep their progress.",
            PlanSetParams,
            _answering(_set),
            sequential=True,
        ),
        Tool(
            PLAN_UPDATE_STEP,
            "Say where a step stands at once: in_progress before you work on it, one step at a"
            " time; done with its outcome after.",
            PlanUpdateStepParams,
            _answering(_update_step),
            sequential=True,
        ),
        Tool(
            PLAN_REVISE,
            "Go back to an earlier version of the plan, or abandon it.",
            PlanReviseParams,
            _answering(_revise),
            sequential=True,
        ),
        Tool(
            PLAN_REFLECT,
            "Compare what you observed with what a step or the exit criteria expect, before the"
            " final answer and after a step whose outcome is open.",
            PlanReflectParams,
            _reflecting(criteria),
            sequential=True,
        ),
    )


def _set(book: PlanBook, params: PlanSetParams) -> Plan:
    steps = tuple(spec.step() for spec in params.steps)
    if book.active is None:
        return book.author(
            steps,
            objective=params.objective,
            exit_criteria=params.exit_criteria,
            origin=PLAN_SET,
        )
    return book.revise(
        steps=steps,
        objective=params.objective or None,
        exit_criteria=params.exit_criteria or None,
        reason=params.reason,
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
    if bool(params.rollback_to) == params.abandon:
        raise ValueError("give rollback_to, or abandon; new steps go to plan_set")
    if params.abandon:
        return book.abandon(params.reason, origin=PLAN_REVISE)
    return book.rollback(params.rollback_to, reason=params.reason, origin=PLAN_REVISE)


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
