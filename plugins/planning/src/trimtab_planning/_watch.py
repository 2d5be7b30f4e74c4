"""Watching a run: plans of the host's tools are recorded, calls are tied to their steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import attrs

from trimtab import Plan, PlanStep, RecorderContext, Slice, ToolInvoked
from trimtab.events import ToolStarted, UserMessage
from trimtab_planning._book import PlanBook
from trimtab_planning._guard import declares
from trimtab_planning._history import PlanAuthored, PlanChange, PlanUpdated, Readable, StepCalled
from trimtab_planning._plan_calls import is_plan_tool, is_planning_tool, steps_after
from trimtab_planning._plans import same_work, with_ids


@attrs.frozen
class MirrorBook(PlanBook):
    """A `PlanBook` that follows the list which the agent keeps with a tool of its host."""

    def mirror(self, steps: Iterable[PlanStep], *, origin: str) -> Plan | None:
        """Take over the plan that the agent keeps with a tool of its host.

        Steps of the same ids and titles only make progress; others make a new version. A plan
        that was made otherwise is left alone while it is active.

        Args:
            steps: the whole list as it is now; empty gives up what is left of it.
            origin: the name of the tool.

        Returns:
            the plan after the change; None if there is none.

        Raises:
            ValueError: the steps are no plan.
        """
        with self._locked():
            steps, old = with_ids(steps), self.active
            if old is not None and not self.mirrors:
                return old
            if old is None:
                known = self.current
                if not steps or (known is not None and known.steps == steps):
                    return known
                return self._ended_with_its_steps(self.author(steps, origin=origin), origin)
            if not steps:
                return self.abandon("the list was cleared", origin=origin)
            return self._ended_with_its_steps(self._followed(old, steps, origin), origin)

    def _followed(self, old: Plan, steps: tuple[PlanStep, ...], origin: str) -> Plan:
        made = attrs.evolve(old, steps=steps)
        if made == old:
            return old
        if not same_work(old, made):
            return self._update(PlanChange.REVISED, made, old, reason="", origin=origin)
        changed = next(new for new, known in zip(steps, old.steps, strict=True) if new != known)
        return self._keep(
            PlanUpdated,
            made,
            change=PlanChange.STEP,
            previous=old.version,
            step_id=changed.step_id,
            origin=origin,
        )


T = TypeVar("T")
SPOKEN = "the user has spoken since"


class Seen:
    """The plans of one run, from its record and from what has been heard since."""

    def __init__(self, session: Readable, run_id: str) -> None:
        kinds: tuple[type[Any], ...] = (Plan, PlanAuthored, PlanUpdated)
        self._kinds: dict[type[Any], Slice[Any]] = {
            kind: Slice(session[kind].where(lambda item: item.run_id in ("", run_id)))
            for kind in kinds
        }

    def __getitem__(self, kind: type[T]) -> Slice[T]:
        """Return the records of `kind`."""
        return self._kinds.get(kind) or Slice()

    def add(self, record: object) -> None:
        """Take one record; a plan that its event has brought is not taken twice."""
        known = self._kinds.get(type(record))
        if known is not None and not (isinstance(record, Plan) and record is known.latest()):
            self._kinds[type(record)] = Slice((*known.all(), record))
        if isinstance(record, PlanAuthored | PlanUpdated):
            self.add(record.plan)


class Recording:
    """Derives the records that follow for the plan from events of a run.

    Args:
        session: where the run is recorded; only read.
        run_id: the run.
        prompt_name, agent_id: of the run, for the records.
        mirrors: whether plans of the host's own tools are taken over.
    """

    def __init__(
        self,
        session: Readable,
        run_id: str,
        prompt_name: str = "",
        agent_id: str | None = None,
        *,
        mirrors: bool = True,
    ) -> None:
        self._seen = Seen(session, run_id)
        self._made: list[object] = []
        self._mirrors = mirrors
        self._book = MirrorBook(self._seen, run_id, prompt_name, agent_id, sink=self._add)

    def record(self, event: object) -> list[object]:
        """Return the records that follow from `event`; none for events of other runs."""
        self._made = []
        if isinstance(event, Plan | PlanAuthored | PlanUpdated):
            self._heard(event)
        elif getattr(event, "run_id", None) != self._book.run_id:
            pass
        elif isinstance(event, ToolStarted):
            self._tie(event.tool, event.call_id)
        elif isinstance(event, ToolInvoked):
            self._ended(event)
        elif isinstance(event, UserMessage) and not event.notification:
            self._spoke()
        return self._made

    def close(self) -> None:
        """The run has ended."""

    def _heard(self, event: Plan | PlanAuthored | PlanUpdated) -> None:
        if event.run_id in ("", self._book.run_id):
            self._seen.add(event)

    def _add(self, record: object) -> None:
        self._made.append(record)
        self._seen.add(record)

    def _ended(self, event: ToolInvoked) -> None:
        if event.started is None:
            self._tie(event.tool, event.call_id)
        if self._mirrors and is_plan_tool(event.tool):
            steps = steps_after(self._book.mirrored_steps(), event)
            if steps is not None:
                self._book.mirror(steps, origin=event.tool)

    def _spoke(self) -> None:
        """Abandon a plan of the host's tools; the agent resumes it by changing it again."""
        book = self._book
        if self._mirrors and book.active is not None and book.mirrors:
            book.abandon(SPOKEN, origin="user")

    def _tie(self, tool: str, call_id: str) -> None:
        plan = self._book.active
        if plan is None or is_planning_tool(tool):
            return
        step = plan.step_for(tool)
        self._book.note(
            StepCalled,
            call_id=call_id,
            tool=tool,
            plan_id=plan.plan_id,
            version=plan.version,
            step_id=step.step_id if step else "",
            declared=step is not None and declares(step, tool),
            expected=(step.expected or step.objective) if step else "",
        )


@attrs.frozen
class PlanWatch:
    """The recorder ``plan-watch``: adds to a run what follows for its plan.

    It ties each call to its step (`StepCalled`), and takes over plans that the agent keeps with
    TodoWrite, TaskCreate and TaskUpdate, update_plan, write_todos and the like.

    Args:
        mirrors: whether plans of the host's own tools are taken over.
    """

    mirrors: bool = attrs.field(default=True, kw_only=True)

    name = "plan-watch"

    def open(self, context: RecorderContext) -> Recording:
        """Watch a run; called when it is opened or resumed."""
        return Recording(
            context.session,
            context.run_id,
            context.prompt.name,
            context.agent_id,
            mirrors=self.mirrors,
        )
