"""The guidance provider `plan-drift`: notices a plan and an agent that part."""

from __future__ import annotations

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceContext,
    GuidanceInjection,
    RunContext,
)
from trimtab.trajectory import Following
from trimtab_planning._drift_state import RECENT, Drift, DriftKind, PlanTrack
from trimtab_planning._drift_texts import drift_text
from trimtab_planning._history import current_plan
from trimtab_signals import Calls

NAME = "plan-drift"
_CERTAINTY = {
    DriftKind.TICKED: 0.9,
    DriftKind.NARROWED: 0.9,
    DriftKind.REWRITTEN: 0.8,
    DriftKind.AT_ONCE: 0.8,
    DriftKind.OFF_PLAN: 0.8,
    DriftKind.STALE: 0.7,
}
_CHANGING = 2  # One run of the tests is still part of looking for a fault.
_AT_THE_END = (DriftKind.TICKED, DriftKind.NARROWED)


def _count(least: int, default: int) -> int:
    checks = [attrs.validators.instance_of(int), attrs.validators.ge(least)]
    return attrs.field(default=default, validator=checks)


@attrs.frozen
class PlanDrift(Following[PlanTrack]):
    """Speaks where the plan says one thing and the calls another.

    It notices steps marked done whose tools were never called, or several marked done with no
    call in between; a plan cut down to what is done; a plan rewritten again and again before a
    step is finished; all open steps in progress at once; calls that serve no step; and a plan
    that stands still while the calls serve a later step. It follows plans of the plan tools and
    of the host's own. A long step alone is no drift: `current-plan` shows the plan again there.

    Args:
        stale_turns: turns that a plan did not change, before calls are compared with its steps.
        off_plan_calls: calls in a row that serve no open step; only where each lists its tools.

    Raises:
        ValueError: an option is below its least value.
    """

    stale_turns: int = _count(5, 10)
    off_plan_calls: int = _count(2, 5)

    name = NAME
    category = "plan-drift"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION, DecisionPoint.PRE_RESPONSE)

    def projection(self, context: RunContext) -> PlanTrack:  # noqa: ARG002  protocol
        """Return what follows a run's plan."""
        return PlanTrack()

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Return whether the plan and the calls have parted."""
        track = self.followed(context)
        plan = current_plan(context.session, context.run_id)
        if plan is not None and plan.status != "abandoned":
            track.observe(plan)
        found = track.finding
        if context.decision_point is DecisionPoint.PRE_RESPONSE:
            found = found if found is not None and found.kind in _AT_THE_END else None
        else:
            found = found or track.off_plan(self.off_plan_calls) or self._moved_on(context, track)
        if found is None:
            return NOT_RELEVANT
        sure = _CERTAINTY[found.kind]
        return ClassificationResult(True, sure, reason(found), found.episode, found=found)

    def _moved_on(self, context: GuidanceContext, track: PlanTrack) -> Drift | None:
        """Return that the calls serve a later step; to read ahead is no drift."""
        found = track.moved_on(self.stale_turns)
        if found is None:
            return None
        calls = context.trajectory.follow(Calls).recent(RECENT)
        return found if sum(not call.reads for call in calls) >= _CHANGING else None

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Return what to do about it."""
        found: Drift = context.found
        level = context.level_of(found.episode)
        own = current_plan(context.session, context.run_id) is not None
        text = drift_text(found, context.tools, own=own, level=level)
        return GuidanceInjection(f"{NAME}.{found.kind}", text, priority=60, category="plan-drift")


def reason(found: Drift) -> str:
    """Return a finding in a few words, for the record."""
    ids = ", ".join(step.step_id for step in found.steps[:5])
    counts = f", {found.turns} turns, {found.calls} calls" if found.turns or found.calls else ""
    return f"{found.kind}: {ids}{counts}"[:200]
