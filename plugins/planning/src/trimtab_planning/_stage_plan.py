"""What one attempt of a stage gets and gives: its prompt, its step in the plan, typed values."""

from __future__ import annotations

import json
from typing import Annotated, Any

import attrs

from trimtab import (
    PlanStep,
    PromptResponse,
    Tool,
    ToolContext,
    ToolResult,
    TrimtabError,
)
from trimtab.hosting import from_json, to_json
from trimtab_planning._book import PlanBook
from trimtab_planning._history import StageCompleted, StageDecision, StageReason, Termination
from trimtab_planning._stages import Failure, FailureKind, StageDefinition, Stages


def output_of(stage: StageDefinition, response: PromptResponse[Any]) -> Any:
    """Return the typed output.

    Raises:
        ValueError: there is none, or it does not fit; the message is meant for the model.
    """
    kind = stage.output
    value = response.output if response.output is not None else response.text
    if kind is None or isinstance(value, kind):
        return value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the output is no {kind.__name__}: no JSON, {error}") from None
    if value is None:
        raise ValueError(f"there is no output; a {kind.__name__} is needed")
    return typed(kind, value, "output")


def typed(kind: type[Any] | None, value: Any, name: str) -> Any:
    """Return an input or output as its type, also one that an event holds as JSON.

    Raises:
        ValueError: it does not fit.
    """
    if kind is None or value is None or isinstance(value, kind):
        return value
    return from_json(kind, to_json(value), name=name)


def evaluation_failure(stage: StageDefinition, error: TrimtabError) -> Failure:
    """Return what it means that an evaluation raised `error`."""
    kind = FailureKind.SCHEMA if stage.output is not None else FailureKind.EVALUATION
    return Failure(kind, error_words(error))


def error_words(error: Exception) -> str:
    """Return the text of an error, never empty."""
    return str(error) or type(error).__name__


REPORT = "stage_report"


@attrs.frozen
class ReportParams:
    """Parameters of `stage_report`."""

    problem: Annotated[str, "Why this stage can't succeed."]
    rewind_to: Annotated[str, "The earlier stage that must be done again; empty for none."] = ""


@attrs.define
class Report:
    """What the agent reported in one attempt; None if nothing."""

    params: ReportParams | None = None

    def tool(self) -> Tool[Any, Any]:
        """Return the tool with which the agent reports."""
        return Tool(
            REPORT,
            "Say that this stage can't succeed, and which earlier stage must be done again."
            " Only for problems that you can't solve here.",
            ReportParams,
            self._take,
        )

    def _take(self, params: ReportParams, /, *, context: ToolContext) -> ToolResult[Any]:
        del context
        self.params = params
        return ToolResult.ok(message="Recorded. End this stage now with a short answer.")


def as_text(value: Any) -> str:
    """Return an input or output as the agent reads it: text as it is, else JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(to_json(value), ensure_ascii=False, indent=2, default=str)


ORIGIN = "stages"
EXIT_SIGNAL = "The last stage has produced its output."
LONGEST_OUTCOME = 300


@attrs.frozen
class StagePlan:
    """Keeps the plan of a run of stages."""

    book: PlanBook
    stages: Stages

    def author(self, objective: str, exit_signal: str) -> None:
        """Make the plan, unless the run has one: a step for each stage that is no spare."""
        if self.book.current is not None:
            return
        steps: list[PlanStep] = []
        for stage in self.stages.values():
            if not stage.spare:
                steps.append(stage.step(steps[-1].step_id if steps else ""))
        self.book.author(
            steps,
            objective=objective,
            exit_criteria=[exit_signal or EXIT_SIGNAL],
            origin=ORIGIN,
        )

    def started(self, stage: StageDefinition, reason: StageReason) -> None:
        """Mark a stage as in progress; a spare one joins the plan, a rewind opens steps again."""
        if self.book.active is None:
            return
        if reason is StageReason.REWIND:
            self._reopen(stage.name)
        self._join(stage)
        self._skip_before(stage.name)
        self._set(stage.name, "in_progress", "")

    def ended(self, event: StageCompleted, output: str) -> None:
        """Record the result of a stage."""
        if self.book.active is None:
            return
        if event.success:
            self._set(event.stage, "done", output)
        elif event.decision is StageDecision.FALLBACK:
            self._set(event.stage, "skipped", event.error)
        else:
            self._set(event.stage, "pending", event.error)

    def terminated(self, reason: Termination, detail: str) -> None:
        """Complete or abandon the plan."""
        if self.book.active is None:
            return
        if reason is not Termination.SUCCESS:
            self.book.abandon(f"{reason}: {detail}", origin=ORIGIN)
            return
        for step in self.book.active.open_steps:
            self._set(step.step_id, "skipped", "")
        if self.book.active is not None:
            self.book.complete("the last stage has produced its output", origin=ORIGIN)

    def _join(self, stage: StageDefinition) -> None:
        plan = self.book.active
        if plan is None or plan.step(stage.name) is not None:
            return
        order = [name for name in self.stages if name == stage.name or plan.step(name)]
        known = {step.step_id: step for step in plan.steps}
        steps = [known.get(name) or stage.step("") for name in order]
        self.book.revise(steps=steps, reason=f"stage {stage.name} stands in", origin=ORIGIN)

    def _reopen(self, name: str) -> None:
        """Set the steps from `name` on back to pending, the last first."""
        plan = self.book.active
        order = list(self.stages)
        later = order[order.index(name) :]
        for step in reversed(plan.steps if plan else ()):
            if step.step_id in later and step.status != "pending":
                self.book.update_step(step.step_id, status="pending", origin=ORIGIN)

    def _skip_before(self, name: str) -> None:
        """Skip the open steps before `name`: a stage chose to jump over them."""
        plan = self.book.active
        for step in plan.steps if plan else ():
            if step.step_id == name:
                return
            if not step.done:
                self._set(step.step_id, "skipped", "")

    def _set(self, step_id: str, status: str, outcome: str) -> None:
        self.book.update_step(
            step_id, status=status, outcome=outcome[:LONGEST_OUTCOME] or None, origin=ORIGIN
        )
