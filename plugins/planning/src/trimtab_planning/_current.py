"""The guidance provider `current-plan`: the plan stands at the end of requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    Delivery,
    Event,
    GuidanceContext,
    GuidanceInjection,
    Plan,
    PlanStep,
    RunContext,
)
from trimtab.text import plural, quote, shorten
from trimtab.trajectory import Following
from trimtab_planning._history import PlanHistory, ReflectionAdded, current_plan
from trimtab_planning._plan_calls import HostPlan
from trimtab_planning._plans import as_line, tool_names

LEAST, MOST = 120, 500
_TITLE = 70
_SHOWN = 5


def current_text(
    plan: Plan, reflections: Iterable[ReflectionAdded] = (), *, longest: int = MOST, note: str = ""
) -> str:
    """Return where `plan` stands: goal, current step, open steps, last outcome, reflections.

    What matters least is left out first where the text would be too long: the exit criteria,
    the last outcome, the reflections; then titles of open steps.
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
    return f"Plan ID: {as_line(plan_id, 80)}. Last event: {event_words(event)}."


def event_words(event: Event | None) -> str:
    """Return the kind of an event and when it happened."""
    if event is None:
        return "none"
    at = f"@{event.at.isoformat(timespec='seconds')}" if event.at else ""
    return shorten(f"{type(event).__name__}{at}", 60)


def _goal(plan: Plan) -> str:
    done = f"{sum(step.done for step in plan.steps)} of {plural(len(plan.steps), 'step')} done"
    version = f"{as_line(plan.version, 20)}, " if plan.version else ""
    goal = f": {as_line(plan.objective, 120)}" if plan.objective else ""
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
    return f"{as_line(step.step_id or '?', 24)} {as_line(step.title, _TITLE)}"


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
        of = f" in {as_line(event.step_id, 24)}" if event.step_id else ""
        then = f"; proposed: {quote(event.proposal, 90)}" if event.proposal else ""
        yield f"Not met{of}: {quote(event.observed, 90)}{then}"


def _outcome(plan: Plan) -> str:
    told = [step for step in plan.steps if step.done and step.outcome]
    return f"Outcome of {as_line(told[-1].step_id, 24)}: {quote(told[-1].outcome)}" if told else ""


def _criteria(plan: Plan) -> str:
    more = "; ..." if len(plan.exit_criteria) > 2 else ""
    words = "; ".join(as_line(item, 100) for item in plan.exit_criteria[:2])
    return f"Done when: {words}{more}" if words else ""


NAME = "current-plan"
SHOWN_PER_RUN = 200
"""What strategies allow: each change of a plan is shown, so six times are not enough."""
_LATE = 5  # Turns between two texts where they stay in the history.
_MOST_REFLECTIONS = 50
_A_NUMBER, _A_FLAG = attrs.validators.instance_of(int), attrs.validators.instance_of(bool)


@attrs.frozen
class Shown:
    """What was shown last.

    Args:
        text: the plan, without its note.
        turn: in which it was shown.
        since: the turn in which this text was shown first.
        compactions: how often the history had been shortened.
    """

    text: str
    turn: int
    since: int
    compactions: int


@attrs.define(eq=False)
class PlanView(HostPlan):
    """The plan of the host's own tools, and what the agent was shown.

    Attributes:
        compactions: how often the history was shortened.
        last: what was shown last; None before the first time.
    """

    compactions: int = 0
    last: Shown | None = None

    def compacted(self) -> None:
        """Count it: what was shown may be gone."""
        self.compactions += 1


@attrs.frozen
class CurrentPlan(Following[PlanView]):
    """Shows the agent where its plan stands: goal, current step, open steps, last outcome.

    It speaks when the plan has changed, `repeat_after` turns after it spoke last, and after the
    history was shortened. Where the host keeps such texts in the history, a change alone is no
    reason: the answer of the tool that made it stands there already.

    Args:
        repeat_after: turns.
        longest: characters of the text, 120 to 500.
        mirrors: whether plans that the agent keeps with its host's own tools are shown.
        trace: whether the text also says the plan's id and the event recorded last.

    Raises:
        ValueError: an option is wrong.
    """

    is_policy: ClassVar[bool] = True
    """It finds nothing wrong: a replay of everything leaves it out."""

    repeat_after: int = attrs.field(default=6, validator=[_A_NUMBER, attrs.validators.ge(1)])
    longest: int = attrs.field(
        default=MOST,
        kw_only=True,
        validator=[_A_NUMBER, attrs.validators.ge(LEAST), attrs.validators.le(MOST)],
    )
    mirrors: bool = attrs.field(default=True, kw_only=True, validator=_A_FLAG)
    trace: bool = attrs.field(default=False, kw_only=True, validator=_A_FLAG)

    name = NAME
    category = NAME
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION,)

    def projection(self, context: RunContext) -> PlanView:  # noqa: ARG002 - one view for all
        """Return a new view of the plan."""
        return PlanView()

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Return whether the plan is to be shown."""
        view = self.followed(context)
        plan = current_plan(context.session, context.run_id) or (
            view.plan if self.mirrors else None
        )
        if plan is None or plan.status != "active":
            return NOT_RELEVANT
        told = binding(context, plan)
        text = current_text(plan, told, longest=self.longest)
        reason = self._reason(context, view, text)
        if not reason:
            return NOT_RELEVANT
        turn = context.turn_count - 1
        last = view.last
        since = last.since if last is not None and last.text == text else turn
        shown = Shown(text, turn, since, view.compactions)
        note = self._note(context, plan, turn - since)
        said = current_text(plan, told, longest=self.longest, note=note)
        # An episode of its own each time: a text that is wanted again has no pause to keep.
        episode = f"{NAME}:{turn}:{view.compactions}"
        return ClassificationResult(True, 1.0, reason, episode, found=(said, shown))

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Return the plan."""
        said, shown = context.found
        self.followed(context).last = shown
        return GuidanceInjection(NAME, said, priority=300, category=NAME)

    def _reason(self, context: GuidanceContext, view: PlanView, text: str) -> str:
        """Return why the plan is to be shown now, empty if it need not be."""
        last, since = view.last, context.turns_since_nudge(NAME)
        if last is None or since is None or context.turn_count - 1 - since != last.turn:
            return "not shown yet"
        if last.compactions != view.compactions:
            return "the history was shortened"
        stays = context.host.delivers(context.decision_point) is Delivery.PERSISTED
        if last.text != text and not stays:
            return "the plan has changed"
        wait = max(self.repeat_after, _LATE) if stays else self.repeat_after
        return "not shown for some turns" if since >= wait else ""

    def _note(self, context: GuidanceContext, plan: Plan, unchanged: int) -> str:
        if self.trace:
            turns = plural(context.turn_count, "turn")  # two events may bear the same second
            return f"{trace_words(plan, _last_event(context))} {turns} so far."
        return f"Unchanged for {plural(unchanged, 'turn')}." if unchanged else ""


def binding(context: GuidanceContext, plan: Plan) -> tuple[ReflectionAdded, ...]:
    """Return the reflections on this version of a plan that say no, newest first.

    A later reflection on the same step takes the place of an earlier one, and so does a new
    version of the plan.
    """
    seen: dict[str, ReflectionAdded] = {}
    for number, event in enumerate(context.session[ReflectionAdded].newest()):
        if number >= _MOST_REFLECTIONS:
            break
        if event.plan_id == plan.plan_id and event.version == plan.version:
            seen.setdefault(event.step_id, event)
    return tuple(event for event in seen.values() if event.met is False)


def _last_event(context: GuidanceContext) -> Event | None:
    events = [event for event in _newest(context) if event.at is not None]
    return max(events, key=lambda event: event.at, default=None)  # type: ignore[arg-type, return-value]


def _newest(context: GuidanceContext) -> Iterator[Event]:
    """Yield the newest event of each kind; of two at the same time, the later one first."""
    history = PlanHistory(context.session, context.run_id)
    told = history.reflections[-1:]
    known = (context.last_call, *told, history.last_change, context.last_response)
    yield from (event for event in known if event is not None)
