"""Watching a run: plans of the host's tools are taken over, calls are tied to their steps."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from trimtab import Event, Outcome, RunContext, Session, ToolInvoked, ToolStarted, UserMessage
from trimtab_planning._events import StepCalled
from trimtab_planning._history import Readable
from trimtab_planning._mirror_book import MirrorBook
from trimtab_planning._mirrors import mirrored
from trimtab_planning._names import is_mirrored, is_planning_tool
from trimtab_planning._rules import declares

SPOKEN = "the user has spoken since"


@attrs.frozen
class Recording:
    """Says what is to be recorded about the plan when an event of the run has happened.

    Args:
        session: where the run is recorded; only read.
        run_id: the run.
        prompt_name, agent_id: of the run, for the records.
        mirrors: whether plans of the host's own tools are taken over.
    """

    session: Readable
    run_id: str
    prompt_name: str = ""
    agent_id: str | None = None
    mirrors: bool = True

    def record(self, event: object) -> list[object]:
        """Return the records that follow from `event`; none for events of other runs."""
        made: list[object] = []
        if getattr(event, "run_id", None) != self.run_id:
            return made
        book = MirrorBook(
            self.session, self.run_id, self.prompt_name, self.agent_id, sink=made.append
        )
        if isinstance(event, ToolStarted):
            self._tie(book, event.tool, event.call_id)
        elif isinstance(event, ToolInvoked):
            self._ended(book, event)
        elif isinstance(event, UserMessage) and not event.notification:
            self._spoke(book)
        return made

    def _ended(self, book: MirrorBook, event: ToolInvoked) -> None:
        if event.started is None:
            self._tie(book, event.tool, event.call_id)
        if self.mirrors and event.outcome is Outcome.OK and is_mirrored(event.tool):
            steps = mirrored(event, book.mirrored_steps())
            if steps is not None:
                book.mirror(steps, origin=event.tool)

    def _spoke(self, book: MirrorBook) -> None:
        """Give up a plan of the host's tools; the agent goes on with it by touching it again."""
        if self.mirrors and book.active is not None and book.mirrors:
            book.abandon(SPOKEN, origin="user")

    def _tie(self, book: MirrorBook, tool: str, call_id: str) -> None:
        plan = book.active
        if plan is None or is_planning_tool(tool):
            return
        step = plan.step_for(tool)
        book.note(
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

    mirrors: bool = attrs.field(
        default=True, kw_only=True, validator=attrs.validators.instance_of(bool)
    )

    name = "plan-watch"

    def open(self, context: RunContext) -> Recording:
        """Watch a run; called when it is opened or resumed."""
        run = context.run
        return Recording(
            context.session, run.run_id, context.prompt.name, run.agent_id, self.mirrors
        )


def watch_plans(
    session: Session,
    run_id: str,
    *,
    prompt_name: str = "",
    agent_id: str | None = None,
    mirrors: bool = True,
) -> Callable[[], None]:
    """Watch one run, from outside; as the recorder `plan-watch` does for its prompt.

    Args:
        session: where the run is recorded.
        run_id: the run.
        prompt_name, agent_id: of the run, for the events.
        mirrors: whether plans kept with TodoWrite, TaskCreate and TaskUpdate, update_plan,
            write_todos and the like are taken over.

    Returns:
        a function that ends the watching.
    """
    watch = Recording(session, run_id, prompt_name, agent_id, mirrors)

    def follow(event: Event) -> None:
        for record in watch.record(event):
            session.dispatch(record)

    ends = [session.observe(kind, follow) for kind in (ToolStarted, ToolInvoked, UserMessage)]

    def stop() -> None:
        for end in ends:
            end()

    return stop
