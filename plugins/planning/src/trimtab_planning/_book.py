"""Changes to the plans of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import attrs

from trimtab import Plan, PlanStep, Run, ToolContext
from trimtab_planning._history import (
    ABANDONED,
    COMPLETED,
    CriterionResult,
    E,
    PlanAuthored,
    PlanChange,
    PlanHistory,
    PlanUpdated,
    ReflectionAdded,
    Writable,
)
from trimtab_planning._plans import (
    MAX_TEXT,
    abandoned,
    carry_progress,
    change_step,
    expected_of,
    next_version,
    reopened,
    same_work,
    with_ids,
)


@attrs.frozen
class PlanBook(PlanHistory):
    """Reads and changes the plans of one run; everything is kept in the session.

    Every change is an event, `PlanAuthored` or `PlanUpdated`, and a `Plan` record, which
    completion checkers read. Methods may be called from several threads.

    Args:
        session: where the plans are kept; it may be read-only where `sink` is given.
        run_id: the run that they belong to.
        prompt_name: of that run.
        agent_id: of that run.
        sink: takes the records of a change instead of the session.
    """

    prompt_name: str = ""
    agent_id: str | None = None
    sink: Callable[[object], None] | None = attrs.field(default=None, kw_only=True)

    @classmethod
    def of(cls, run: Run) -> PlanBook:
        """Return the plans of `run`."""
        return cls(run.session, run.run_id, run.prompt.name, run.agent_id)

    @classmethod
    def for_tool(cls, context: ToolContext) -> PlanBook:
        """Return the plans of the run whose tool is being called.

        Args:
            context: what the tool's handler got.

        Raises:
            ValueError: the host does not say which run that is.
        """
        if not context.run_id:
            raise ValueError("the host does not tell tools their run; plans are kept by run")
        return cls(context.session, context.run_id, context.prompt.name, context.agent_id)

    def author(
        self,
        steps: Iterable[PlanStep],
        *,
        objective: str = "",
        exit_criteria: Iterable[str] = (),
        origin: str = "api",
    ) -> Plan:
        """Make a plan. If one is active, make a new version of it, unless it is the same.

        Args:
            steps: in their order; those without an id get one.
            objective: what the plan is for.
            exit_criteria: what must be true in the end.
            origin: who made it, see `PlanAuthored`.

        Raises:
            ValueError: the steps are no plan: no steps, no title, an id twice, an unknown
                dependency, a cycle, or too many.
        """
        with self._locked():
            if self.active is not None:
                return self.revise(
                    steps=steps, objective=objective, exit_criteria=exit_criteria, origin=origin
                )
            plan = Plan(
                _some(with_ids(steps)),
                objective=objective,
                plan_id=self._next_id(),
                version=next_version(()),
                exit_criteria=exit_criteria,
                run_id=self.run_id,
            )
            return self._ended_with_its_steps(self._keep(PlanAuthored, plan, origin=origin), origin)

    def revise(
        self,
        *,
        steps: Iterable[PlanStep] | None = None,
        objective: str | None = None,
        exit_criteria: Iterable[str] | None = None,
        reason: str = "",
        origin: str = "api",
    ) -> Plan:
        """Make a new version of the active plan; what is None stays.

        Steps that keep their id, or else their title, keep their progress; a step without an id
        is matched by its title. The same plan makes no new version, and a plan of done steps only
        is completed, if it has no exit criteria.

        Args:
            steps, objective, exit_criteria: as for `author`.
            reason: why the plan changes.
            origin: who makes the change, see `PlanAuthored`.

        Raises:
            ValueError: no plan is active, or the steps are no plan.
        """
        with self._locked():
            old = self._active()
            made = attrs.evolve(
                old,
                steps=old.steps if steps is None else self._revised(steps, old),
                objective=old.objective if objective is None else objective,
                exit_criteria=old.exit_criteria if exit_criteria is None else exit_criteria,
            )
            if same_work(old, made) and made.steps == old.steps:
                return old
            plan = self._update(PlanChange.REVISED, made, old, reason=reason, origin=origin)
            return self._ended_with_its_steps(plan, origin)

    def rollback(self, version: str, *, reason: str = "", origin: str = "api") -> Plan:
        """Make a new version that asks for what `version` asked for.

        Steps that both have keep the progress made since.

        Args:
            version: an earlier version, e.g. ``"plan.v1"``.
            reason: why.
            origin: who makes the change, see `PlanAuthored`.

        Raises:
            ValueError: there is no plan or no such version, or the plan is completed.
        """
        with self._locked():
            old = self._some_plan()
            if old.status == COMPLETED:
                raise ValueError("the plan is completed; make a new one")
            wanted = self.version(version)
            steps = carry_progress(reopened(wanted), reopened(old), overrule=True)
            made = attrs.evolve(wanted, steps=steps, status="active", reason="")
            why = reason or f"back to {version}"
            plan = self._update(PlanChange.ROLLED_BACK, made, old, reason=why, origin=origin)
            return self._ended_with_its_steps(plan, origin)

    def update_step(
        self,
        step_id: str,
        *,
        status: str | None = None,
        outcome: str | None = None,
        origin: str = "api",
    ) -> Plan:
        """Change the status or the outcome of one step; the version stays.

        A plan without exit criteria is completed with its last step.

        Args:
            step_id: the step.
            status, outcome: the new ones; None changes nothing.
            origin: who makes the change, see `PlanAuthored`.

        Raises:
            ValueError: no plan is active, there is no such step, or it depends on open steps.
        """
        with self._locked():
            old = self._active()
            made = change_step(old, step_id, status=status, outcome=outcome)
            if made == old:
                return old
            plan = self._keep(
                PlanUpdated,
                made,
                change=PlanChange.STEP,
                previous=old.version,
                step_id=step_id,
                origin=origin,
            )
            return self._ended_with_its_steps(plan, origin)

    def complete(self, reason: str = "", *, origin: str = "api") -> Plan:
        """Mark the active plan as completed.

        Args:
            reason: why.
            origin: who makes the change, see `PlanAuthored`.

        Raises:
            ValueError: no plan is active, or steps are open.
        """
        with self._locked():
            old = self._active()
            if old.open_steps:
                names = ", ".join(step.step_id for step in old.open_steps)
                raise ValueError(f"the plan has open steps: {names}")
            return self._completed(old, reason, origin)

    def abandon(self, reason: str, *, origin: str = "api") -> Plan:
        """Abandon the active plan; its open steps are cancelled.

        Args:
            reason: why; not empty.
            origin: who makes the change, see `PlanAuthored`.

        Raises:
            ValueError: no plan is active, or the reason is empty.
        """
        if not reason.strip():
            raise ValueError("say why the plan is abandoned")
        with self._locked():
            made = abandoned(self._active(), reason[:MAX_TEXT])
            return self._ended(PlanChange.ABANDONED, made, made.reason, origin)

    def reflect(
        self,
        observed: str,
        *,
        step_id: str = "",
        expected: str = "",
        met: bool | None = None,
        proposal: str = "",
        checks: Iterable[CriterionResult] = (),
    ) -> ReflectionAdded:
        """Record what was observed against what the plan expects.

        Args:
            observed: what happened.
            step_id: the step; empty for the exit criteria of the plan.
            expected: what was expected; what the plan says where empty.
            met: whether it was reached, as the agent says. True for the whole plan completes it
                where no step is open and no check says otherwise.
            proposal: the change that follows from it.
            checks: what checks of the exit criteria found; they go before what the agent says.

        Raises:
            ValueError: the current plan has no such step.
        """
        checks = tuple(checks)
        known = met if all(item.met for item in checks) else _least(met, checks)
        with self._locked():
            plan = self.current
            event = self.note(
                ReflectionAdded,
                observed=observed[:MAX_TEXT],
                plan_id=plan.plan_id if plan else "",
                version=plan.version if plan else "",
                step_id=step_id,
                expected=(expected or expected_of(plan, step_id))[:MAX_TEXT],
                met=known,
                proposal=proposal[:MAX_TEXT],
                claimed=met,
                checks=checks,
            )
            if known and not step_id and self.active is not None and not self.active.open_steps:
                self.complete("the exit criteria are met")
        return event

    def note(self, kind: type[E], **fields: Any) -> E:
        """Record one event of the run.

        Args:
            kind: its class.
            fields: its own fields.
        """
        event = kind(
            **fields, run_id=self.run_id, prompt_name=self.prompt_name, agent_id=self.agent_id
        )
        self._dispatch(event)
        return event

    def _dispatch(self, record: object) -> None:
        if self.sink is not None:
            self.sink(record)
        else:
            cast(Writable, self.session).dispatch(record)

    def _locked(self) -> AbstractContextManager[None]:
        """Return the lock that keeps what is read and what is written together."""
        return nullcontext() if self.sink is not None else cast(Writable, self.session).lock

    def _ended_with_its_steps(self, plan: Plan, origin: str) -> Plan:
        """Complete a plan of done steps only that has no exit criteria."""
        if plan.open_steps or plan.exit_criteria or plan.status == COMPLETED:
            return plan
        return self._completed(plan, "all steps are done", origin)

    def _completed(self, old: Plan, reason: str, origin: str) -> Plan:
        made = attrs.evolve(old, status=COMPLETED)
        return self._ended(PlanChange.COMPLETED, made, reason, origin)

    def _revised(self, steps: Iterable[PlanStep], old: Plan) -> tuple[PlanStep, ...]:
        return carry_progress(_some(tuple(steps)), old.steps)

    def _active(self) -> Plan:
        plan = self._some_plan()
        if plan.status in (COMPLETED, ABANDONED):
            raise ValueError(f"the plan is {plan.status}; make a new one")
        return plan

    def _some_plan(self) -> Plan:
        plan = self.current
        if plan is None:
            raise ValueError("there is no plan yet; make one first")
        return plan

    def _next_id(self) -> str:
        return f"{self.run_id}/plan-{len(self._own(PlanAuthored)) + 1}"

    def _update(
        self, change: PlanChange, made: Plan, old: Plan, *, reason: str, origin: str
    ) -> Plan:
        version = next_version((old.version, *(plan.version for plan in self.history)))
        plan_id = old.plan_id or self._next_id()
        plan = attrs.evolve(made, version=version, plan_id=plan_id, run_id=self.run_id)
        return self._keep(
            PlanUpdated,
            plan,
            change=change,
            previous=old.version,
            reason=reason[:MAX_TEXT],
            origin=origin,
        )

    def _ended(self, change: PlanChange, made: Plan, reason: str, origin: str) -> Plan:
        return self._keep(
            PlanUpdated, made, change=change, previous=made.version, reason=reason, origin=origin
        )

    def _keep(self, kind: type[PlanAuthored | PlanUpdated], plan: Plan, **fields: Any) -> Plan:
        self.note(kind, plan=plan, **fields)
        self._dispatch(plan)
        return plan


def _some(steps: tuple[PlanStep, ...]) -> tuple[PlanStep, ...]:
    if not steps:
        raise ValueError("a plan needs at least one step")
    return steps


def _least(claimed: bool | None, checks: Iterable[CriterionResult]) -> bool | None:
    """Return whether a claim holds that not all checks agree to: no, or not known."""
    return False if claimed is False or any(item.met is False for item in checks) else None
