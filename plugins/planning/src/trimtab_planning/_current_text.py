"""The plan in a few lines: what an agent reads again and again while it works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trimtab import Event, Plan, PlanStep
from trimtab.text import plural, quote, shorten
from trimtab_planning._events import ReflectionAdded
from trimtab_planning._render import tool_names

LEAST, MOST = 120, 500
_TITLE = 70
_SHOWN = 5


def current_text(
    plan: Plan, reflections: Iterable[ReflectionAdded] = (), *, longest: int = MOST, note: str = ""
) -> str:
    """Return where `plan` stands: goal, current step, open steps, last outcome, reflections.

    What matters least is left out first where the text would be too long: the exit criteria,
    the last outcome, the reflections; then titles of open steps.

    Args:
        plan: the plan.
        reflections: those that bind, newest first.
        longest: characters.
        note: a line that stands at the end and is never left out.
    """
    left = longest - (len(note) + 1 if note else 0)
    lines = [line for line in (_goal(plan), _now(plan)) if line]
    lines = [shorten(line, left // 2) for line in lines]
    for line in (_then(plan), *_unmet(reflections), _outcome(plan), _criteria(plan)):
        room = left - sum(len(known) + 1 for known in lines)
        if line and len(line) <= room:
            lines.append(line)
        elif line and room > _TITLE:
            lines.append(shorten(line, room))
    return shorten("\n".join(lines), left) + (f"\n{note}" if note else "")


def trace_words(plan: Plan, event: Event | None) -> str:
    """Return the plan's id and the event recorded last, for an agent that goes on from a trace."""
    plan_id = shorten(f"{plan.plan_id} {plan.version}".strip() or "none", 80)
    return f"Plan ID: {quote(plan_id, 82)[1:-1]}. Last event: {event_words(event)}."


def event_words(event: Event | None) -> str:
    """Return the kind of an event and when it happened."""
    if event is None:
        return "none"
    at = f"@{event.at.isoformat(timespec='seconds')}" if event.at else ""
    return shorten(f"{type(event).__name__}{at}", 60)


def _goal(plan: Plan) -> str:
    done = f"{sum(step.done for step in plan.steps)} of {plural(len(plan.steps), 'step')} done"
    version = f"{_line(plan.version, 20)}, " if plan.version else ""
    goal = f": {_line(plan.objective, 120)}" if plan.objective else ""
    return f"Your plan ({version}{done}){goal}"


def _now(plan: Plan) -> str:
    started = [step for step in plan.open_steps if step.started]
    if started:
        more = f" and {len(started) - 2} more" if len(started) > 2 else ""
        return f"Now: {'; '.join(map(_step, started[:2]))}{more}"
    if plan.current_step is not None:
        return f"Next: {_step(plan.current_step)}"
    return "" if plan.open_steps else "All steps are done."


def _step(step: PlanStep) -> str:
    tools = f" (tools: {tool_names(step.tools, 4)})" if step.tools else ""
    return f"{_named(step)}{tools}"


def _named(step: PlanStep) -> str:
    return f"{_line(step.step_id or '?', 24)} {_line(step.title, _TITLE)}"


def _then(plan: Plan) -> str:
    started = [step for step in plan.open_steps if step.started]
    now = started or [step for step in (plan.current_step,) if step is not None]
    left = [step for step in plan.open_steps if step not in now]
    return f"Open: {_several(left)}" if left else ""


def _several(steps: Sequence[PlanStep]) -> str:
    more = f"; and {len(steps) - _SHOWN} more" if len(steps) > _SHOWN else ""
    return "; ".join(map(_named, steps[:_SHOWN])) + more


def _unmet(reflections: Iterable[ReflectionAdded]) -> Iterator[str]:
    for event in reflections:
        of = f" in {_line(event.step_id, 24)}" if event.step_id else ""
        then = f"; proposed: {quote(event.proposal, 90)}" if event.proposal else ""
        yield f"Not met{of}: {quote(event.observed, 90)}{then}"


def _outcome(plan: Plan) -> str:
    told = [step for step in plan.steps if step.done and step.outcome]
    return f"Outcome of {_line(told[-1].step_id, 24)}: {quote(told[-1].outcome)}" if told else ""


def _criteria(plan: Plan) -> str:
    more = "; ..." if len(plan.exit_criteria) > 2 else ""
    words = "; ".join(_line(item, 100) for item in plan.exit_criteria[:2])
    return f"Done when: {words}{more}" if words else ""


def _line(text: str, limit: int) -> str:
    return quote(text, limit + 2)[1:-1]
