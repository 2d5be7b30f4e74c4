"""The plan of a run of stages, with a step for each, kept up to date."""

from __future__ import annotations

import attrs

from trimtab import PlanStep
from trimtab_planning._book import PlanBook
from trimtab_planning._events import StageCompleted, StageDecision, StageReason, Termination
from trimtab_planning._policy import Stages
from trimtab_planning._stages import StageDefinition

ORIGIN = "stages"
EXIT_SIGNAL = "The last stage has produced its output."
LONGEST_OUTCOME = 300


@attrs.frozen
class StagePlan:
    """Keeps the plan of a run of stages.

    Args:
        book: of the run.
        stages: by name, in order.
    """

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
