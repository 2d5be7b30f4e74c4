"""Completion check for LLM agents: no stop while steps of the plan are open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from importlib import import_module
from typing import Any, Literal, TypeVar, cast

import attrs

from trimtab import (
    Outcome,
    Plan,
    PlanStep,
    RunContext,
    Slice,
    TaskCompletionContext,
    TaskCompletionResult,
    ToolInvoked,
    hookimpl,
)
from trimtab.text import quote, shorten, text_option
from trimtab.trajectory import MessageRecord
from trimtab_plan_based_checker._waiting import Waits
from trimtab_planning import is_plan_tool, plan_after
from trimtab_signals import CallProjection, CallRecord

__all__ = ["PlanBasedChecker"]

P = TypeVar("P", bound=CallProjection)

STEPS = ("steps", "todos", "plan", "tasks", "items", "task_list", "todoList")
TITLES = (
    "title", "content", "step", "subject", "name", "task", "objective", "text", "description",
    "identifier", "step_id", "id",
)  # fmt: skip
STATUSES = ("status", "state")
FLAGS = ("done", "completed", "complete", "is_done")
LONGEST_TITLE = 200
"""Characters; those of trimtab-planning have at most as many."""


def steps_of(plan: Any) -> tuple[PlanStep, ...] | None:
    """Return the steps of an attrs object, a dataclass, a mapping or a list.

    Returns:
        None if `plan` has no steps that could be recognised. A step without a status may be done
        or not.
    """
    items = plan if isinstance(plan, list | tuple) else _first(plan, STEPS)
    if isinstance(items, Mapping):
        items = tuple(items.values())
    if not isinstance(items, Iterable) or isinstance(items, str | bytes):
        return None
    return tuple(_step(number, item) for number, item in enumerate(items, 1))


def _step(number: int, item: Any) -> PlanStep:
    title = item if isinstance(item, str) else _first(item, TITLES)
    words = title if isinstance(title, str) and title.strip() else f"Step {number}"
    return PlanStep(words[:LONGEST_TITLE], _status(item))


def _status(item: Any) -> str:
    status = _first(item, STATUSES)
    word = status.value if isinstance(status, Enum) else status
    if isinstance(word, str):
        return word
    flag = word if isinstance(word, bool) else _first(item, FLAGS)
    return ("done" if flag else "pending") if isinstance(flag, bool) else ""


def _first(holder: Any, names: Iterable[str]) -> Any:
    """Return what `holder` has under the first of `names` that it has; None if none."""
    for name in names:
        value = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
        if value is not None and not callable(value):
            return value
    return None


@attrs.define(eq=False)
class SeenPlan(CallProjection):
    """The plan of one run, as its tool calls show it.

    Attributes:
        steps: none if no plan was seen.
        current: whether it was changed since the user last spoke; the plan of an earlier request
            does not keep the agent from stopping after a new one.
    """

    steps: tuple[PlanStep, ...] = ()
    current: bool = False

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Follow a call; one that failed or was refused has changed no plan."""
        if not is_plan_tool(event.tool) or call.failed or event.outcome is not Outcome.OK:
            return
        steps = plan_after(self.steps, event.tool, event.params, event.result, unknown="")
        if steps is not None:
            self.steps, self.current = steps, True

    def user_spoke(self, message: MessageRecord) -> None:
        """Put the plan aside until a call changes it again."""
        if not message.notification:
            self.current = False


NAME = "plan-based-checker"
WAITS = f"{NAME}.waits"
SHOWN = 3
LONGEST_SHOWN = 48
LONGEST_MESSAGE = 300
"""Leaves room for the titles of three steps."""
LONGEST_TEXT = 500
"""As long as a nudge may be."""
MESSAGE = (
    "{steps} not yet done ({open} of {total}). Call the tool that does the first one, not the plan."
    " Or correct the plan, or tell the user what is open and why."
)
"""A model that is told to finish what is left ticks it off."""
SEED = "{steps} not yet done."
"""The specification's sentence, ``wording = "seed"``."""


def _plan_type(value: type[Any] | str | None) -> type[Any]:
    """Return the class that ``"module:Class"`` names; the core's `Plan` if there is none."""
    if value is None:
        return Plan
    if isinstance(value, str):
        module, _, name = value.partition(":")
        try:
            value = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"plan_type {value!r} can't be imported: {error}") from error
    if not isinstance(value, type):
        raise ValueError(f"plan_type must be a class or 'module:Class', not {value!r}")
    return value


@attrs.frozen
class PlanBasedChecker:
    """Sends the agent back while its plan has open steps.

    The plan is the latest record of `plan_type` in the session. If there is none, it is the plan
    that the agent keeps with its host's tools: TodoWrite, TaskCreate and TaskUpdate, update_plan,
    write_todos. Without any plan the agent may stop. It may also stop while it waits for its
    user, whom it asks or who asked it to stop there, or for work that it started.

    Args:
        plan_type: attrs class, dataclass or dict type of the plans in the session, or
            ``"module:Class"``; `trimtab.Plan` if None. Steps are objects or mappings.
        from_tools: whether plans kept with the host's tools count.
        message: what the agent reads, with ``{steps}``, ``{open}`` and ``{total}``.
        wording: ``"seed"`` for the specification's sentence, word for word.

    Raises:
        ValueError: an option is wrong.
    """

    plan_type: type[Any] = attrs.field(default=None, converter=_plan_type)
    from_tools: bool = attrs.field(default=True, kw_only=True)
    message: str = attrs.field(
        default=MESSAGE,
        kw_only=True,
        validator=text_option(LONGEST_MESSAGE, steps="", open=0, total=0),
    )
    wording: Literal["", "seed"] = attrs.field(default="", kw_only=True)

    name = NAME

    @hookimpl
    def run_opened(self, context: RunContext) -> None:
        """Watch the run for plans."""
        if self.from_tools:
            _followed(context, NAME, SeenPlan)
        _followed(context, WAITS, Waits)

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Return ok, or incomplete with the titles of the first open steps."""
        steps = self._steps(context)
        if steps is None:
            return TaskCompletionResult.unverified("the plan in the session has no steps to read")
        if not steps:
            return TaskCompletionResult.ok("No plan has been created.")
        if not any(step.status for step in steps):
            return TaskCompletionResult.unverified("the plan doesn't say which steps are done")
        return self._verdict(steps, context)

    def _verdict(
        self, steps: Sequence[PlanStep], context: TaskCompletionContext
    ) -> TaskCompletionResult:
        left = [step for step in steps if not step.done]
        if not left:
            one = len(steps) == 1
            said = "The one step" if one else f"All {len(steps)} steps"
            return TaskCompletionResult.ok(f"{said} of the plan {'is' if one else 'are'} done.")
        titles = [step.title for step in left]
        ended = [step.title for step in steps if step.done]
        waits = _followed(context, WAITS, Waits)
        reason = "" if context.final else waits.reason(titles, ended)
        if reason:
            return TaskCompletionResult.unverified(f"{len(left)} steps are open, but {reason}")
        message = SEED if self.wording == "seed" else self.message
        text = message.format(steps=_named(left), open=len(left), total=len(steps))
        done = len(steps) - len(left)
        return TaskCompletionResult.incomplete(
            shorten(text, LONGEST_TEXT), progress=f"{done}/{len(steps)}"
        )

    def _steps(self, context: TaskCompletionContext) -> Sequence[PlanStep] | None:
        plan = _newest(context.session[self.plan_type], context.run_id)
        steps = () if plan is None else steps_of(plan)
        if steps or steps is None or not self.from_tools:
            return steps
        seen = _followed(context, NAME, SeenPlan)
        return seen.steps if seen.current else ()


def _newest(plans: Slice[Any], run_id: str) -> Any:
    """Return the newest plan of the run or of the whole session, None if there is none."""

    def counts(plan: Any) -> bool:
        return getattr(plan, "run_id", "") in ("", run_id)

    latest = plans.latest()
    if latest is None or counts(latest):
        return latest
    own = plans.where(counts)
    return own[-1] if own else None


def _followed(context: RunContext, name: str, kind: type[P]) -> P:
    """Return a projection of the run, up to date; one that joins late has seen the record."""
    context.trajectory.attach(name, kind())
    return cast("P", context.trajectory.projection(name))


def _named(steps: Sequence[PlanStep]) -> str:
    """Return ``Steps 'a' and 'b' are``: at most three, shortened, then ``...``."""
    shown = [f"'{quote(step.title, LONGEST_SHOWN)[1:-1]}'" for step in steps[:SHOWN]]
    if len(steps) == 1:
        return f"Step {shown[0]} is"
    if len(steps) > SHOWN:
        return f"Steps {', '.join(shown)}... are"
    return f"Steps {', '.join(shown[:-1])} and {shown[-1]} are"
