"""Watching a run: plans of the host's tools are taken over, calls are tied to their steps."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from trimtab import Event, Outcome, Session, ToolInvoked, ToolStarted, UserMessage
from trimtab_planning._book import PlanBook
from trimtab_planning._events import StepCalled
from trimtab_planning._mirrors import mirrored
from trimtab_planning._names import is_mirrored, is_planning_tool
from trimtab_planning._rules import declares

SPOKEN = "the user has spoken since"


@attrs.frozen
class PlanWatch:
    """What is recorded about the plan while a run goes on.

    Args:
        book: the plans of the run.
        mirrors: whether plans of the host's own tools are taken over.
    """

    book: PlanBook
    mirrors: bool = True

    def start(self) -> Callable[[], None]:
        """Watch from now on; return a function that ends it."""
        session = self.book.session
        ends = [
            session.observe(ToolStarted, self.started),
            session.observe(ToolInvoked, self.ended),
            session.observe(UserMessage, self.spoke),
        ]

        def stop() -> None:
            for end in ends:
                end()

        return stop

    def started(self, event: ToolStarted) -> None:
        """Tie a call that starts to its step."""
        if self._own(event):
            self._tie(event.tool, event.call_id)

    def ended(self, event: ToolInvoked) -> None:
        """Take over what a call says of the plan; tie it where its start was not told."""
        if not self._own(event):
            return
        if event.started is None:
            self._tie(event.tool, event.call_id)
        if self.mirrors and event.outcome is Outcome.OK and is_mirrored(event.tool):
            steps = mirrored(event, self.book.mirrored_steps())
            if steps is not None:
                self.book.mirror(steps, origin=event.tool)

    def spoke(self, event: UserMessage) -> None:
        """Give up a plan of the host's tools when the user asks for something else.

        The agent goes on with it by touching it again.
        """
        if self._own(event) and not event.notification:
            book = self.book
            if book.active is not None and book.mirrors:
                book.abandon(SPOKEN, origin="user")

    def _own(self, event: Event) -> bool:
        return event.run_id == self.book.run_id

    def _tie(self, tool: str, call_id: str) -> None:
        plan = self.book.active
        if plan is None or is_planning_tool(tool):
            return
        step = plan.step_for(tool)
        self.book.session.dispatch(
            StepCalled(
                call_id=call_id,
                tool=tool,
                plan_id=plan.plan_id,
                version=plan.version,
                step_id=step.step_id if step else "",
                declared=step is not None and declares(step, tool),
                expected=(step.expected or step.objective) if step else "",
                run_id=self.book.run_id,
                prompt_name=self.book.prompt_name,
                agent_id=self.book.agent_id,
            )
        )


def watch_plans(
    session: Session,
    run_id: str,
    *,
    prompt_name: str = "",
    agent_id: str | None = None,
    mirrors: bool = True,
) -> Callable[[], None]:
    """Watch one run; the provider `plan-act-reflect` does it for its own.

    Args:
        session: where the run is recorded.
        run_id: the run.
        prompt_name, agent_id: of the run, for the events.
        mirrors: whether plans kept with TodoWrite, TaskCreate and TaskUpdate, update_plan,
            write_todos and the like are taken over.

    Returns:
        a function that ends the watching.
    """
    return PlanWatch(PlanBook(session, run_id, prompt_name, agent_id), mirrors).start()
