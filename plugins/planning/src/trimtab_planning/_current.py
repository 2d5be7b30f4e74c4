"""The guidance provider `current-plan`: the plan stands at the end of requests."""

from __future__ import annotations

from collections.abc import Iterator
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
    RunContext,
)
from trimtab.text import plural
from trimtab.trajectory import Following
from trimtab_planning._current_text import LEAST, MOST, current_text, trace_words
from trimtab_planning._events import ReflectionAdded
from trimtab_planning._history import PlanHistory, current_plan
from trimtab_planning._host_plan import HostPlan, SavedHostPlan

NAME = "current-plan"
SHOWN_PER_RUN = 200
"""What strategies allow: each change of a plan is shown, so six times are not enough."""
_LATE = 5  # Turns between two texts where they stay in the history.
_MOST_REFLECTIONS = 50


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


@attrs.frozen
class SavedView:
    """A `PlanView` as a snapshot keeps it."""

    plan: SavedHostPlan
    compactions: int
    last: Shown | None


class PlanView(HostPlan):
    """The plan of the host's own tools, and what the agent was shown.

    Attributes:
        compactions: how often the history was shortened.
        last: what was shown last; None before the first time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.compactions = 0
        self.last: Shown | None = None

    def compacted(self) -> None:
        """Count it: what was shown may be gone."""
        self.compactions += 1

    def state(self) -> SavedView:  # type: ignore[override]
        """Return everything."""
        return SavedView(super().state(), self.compactions, self.last)

    def load_state(self, state: SavedView) -> None:  # type: ignore[override]
        """Take back what `state` returned."""
        super().load_state(state.plan)
        self.compactions, self.last = state.compactions, state.last


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

    repeat_after: int = attrs.field(
        default=6, validator=[attrs.validators.instance_of(int), attrs.validators.ge(1)]
    )
    longest: int = attrs.field(
        default=MOST,
        kw_only=True,
        validator=[
            attrs.validators.instance_of(int),
            attrs.validators.ge(LEAST),
            attrs.validators.le(MOST),
        ],
    )
    mirrors: bool = attrs.field(
        default=True, kw_only=True, validator=attrs.validators.instance_of(bool)
    )
    trace: bool = attrs.field(
        default=False, kw_only=True, validator=attrs.validators.instance_of(bool)
    )

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
