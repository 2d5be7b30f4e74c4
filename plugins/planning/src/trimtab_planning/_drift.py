"""The guidance provider `plan-drift`: notices a plan and an agent that part."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceContext,
    GuidanceInjection,
    PlanStep,
    RunContext,
)
from trimtab.text import plural, quote, shorten
from trimtab.trajectory import Following
from trimtab_planning._drift_state import RECENT, Drift, DriftKind, PlanTrack
from trimtab_planning._guard import LONGEST, firmer, step_words
from trimtab_planning._history import current_plan
from trimtab_planning._plan_calls import PLAN_UPDATE_STEP, bare_name, planning_tool
from trimtab_signals import Calls


def drift_text(found: Drift, tools: frozenset[str] | None, *, own: bool, level: int) -> str:
    """Return what to do; the second time it is firmer.

    Args:
        found: what was noticed.
        tools: the agent's tools, None if unknown; no other tool is named.
        own: whether the plan is kept with the plan tools.
        level: 1, 2 or 3.
    """
    by = _by(tools, own=own)
    return firmer(shorten(_TEXTS[found.kind](found, by), LONGEST), level)


def _by(tools: Iterable[str] | None, *, own: bool) -> str:
    """Return ``" with TodoWrite"``: the tool that changes a step; empty if none is known."""
    known = sorted(tools or ())
    wanted = (PLAN_UPDATE_STEP,) if own else ("taskupdate",)
    update = next((tool for tool in known if bare_name(tool) in wanted), None)
    tool = update or planning_tool(known)
    return f" with {tool}" if tool else ""


def _ticked(found: Drift, by: str) -> str:
    if found.tools:
        used = quote(", ".join(found.tools[:4]), 90)[1:-1]
        if found.sharing:
            return (
                f"You marked {step_words(found.steps[0])} done with no call since the last change"
                f" of the plan, and {used} had {plural(found.calls, 'call')} for {found.sharing}"
                f" such steps. Do it now, or set it to pending{by}; if an earlier call did it, say"
                " so in its outcome."
            )
        return (
            f"You marked {step_words(found.steps[0])} done, and called none of its tools since it"
            f" was planned: {used}. Do it now, or set it to pending{by}; if it was not needed,"
            " mark it skipped and say why."
        )
    return (
        f"You marked {plural(len(found.steps), 'step')} done with no call in between:"
        f" {_several(found.steps)}. Set what you have not done back to pending{by}, and do it."
    )


def _narrowed(found: Drift, by: str) -> str:
    return (
        f"Open steps are gone from your plan, and all that is left is done:"
        f" {_several(found.steps)}. Put back{by} what is still needed and do it; otherwise tell"
        " the user what you left out and why."
    )


def _rewritten(found: Drift, by: str) -> str:  # noqa: ARG001  one form for all
    return (
        f"You have written {found.turns} new plans without finishing a step. Keep this one and"
        f" do {step_words(found.steps[0])} now."
    )


def _at_once(found: Drift, by: str) -> str:
    return (
        f"All {len(found.steps)} open steps are marked in progress: {_several(found.steps)}."
        f" Leave in progress what you work on now, and set the others to pending{by}."
    )


def _stale(found: Drift, by: str) -> str:
    current, later = found.steps
    return (
        f"Your last calls look like {step_words(later)}, and your plan has been at"
        f" {step_words(current)} for {plural(found.turns, 'turn')}. Mark{by} what is done and what"
        " you work on now, or finish the step that the plan is at."
    )


def _off_plan(found: Drift, by: str) -> str:
    called = quote(", ".join(found.tools[:4]), 90)[1:-1]
    return (
        f"Your last {found.calls} calls ({called}) serve no open step of your plan. Go on with"
        f" {step_words(found.steps[0])}, or change the plan{by} so that it says what you do."
    )


def _several(steps: Iterable[PlanStep]) -> str:
    known = tuple(steps)
    words = "; ".join(quote(step.title, 70) for step in known[:3])
    return words + (f"; and {len(known) - 3} more" if len(known) > 3 else "")


_TEXTS = {
    DriftKind.TICKED: _ticked,
    DriftKind.NARROWED: _narrowed,
    DriftKind.REWRITTEN: _rewritten,
    DriftKind.AT_ONCE: _at_once,
    DriftKind.STALE: _stale,
    DriftKind.OFF_PLAN: _off_plan,
}


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
