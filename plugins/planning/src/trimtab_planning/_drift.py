"""The guidance providers `plan-drift` and `plan-act-reflect`: plan, keep to it, look back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, TypeAlias

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceContext,
    GuidanceInjection,
    Plan,
    PlanStep,
    RunContext,
    ToolCall,
    hookimpl,
)
from trimtab.events import CallOrigin
from trimtab.text import plural, quote, shorten
from trimtab.trajectory import Following
from trimtab_planning._drift_state import RECENT, Drift, DriftKind, PlanTrack
from trimtab_planning._guard import (
    LONGEST,
    Breach,
    BreachMemo,
    breach_text,
    call_words,
    final_text,
    firmer,
    has_reflect,
    reflect_text,
    step_words,
)
from trimtab_planning._history import ReflectionAdded, current_plan
from trimtab_planning._plan_calls import (
    OWN_TOOLS,
    PLAN_UPDATE_STEP,
    HostPlan,
    bare_name,
    is_planning_tool,
    planning_tool,
)
from trimtab_signals import Calls


def drift_text(found: Drift, tools: frozenset[str] | None, *, own: bool, level: int) -> str:
    """Return what to do; the second time it is firmer."""
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


PAR_NAME = "plan-act-reflect"
CATEGORY = "planning"
_RECENT = 16
_POINTS = (
    DecisionPoint.PRE_TOOL_EXECUTION,
    DecisionPoint.PRE_TOOL_SELECTION,
    DecisionPoint.PRE_RESPONSE,
)
_WORKED = frozenset({"done", "completed"})
Words: TypeAlias = tuple[ClassificationResult, str]


@attrs.frozen
class PlanActReflect:
    """Keeps an agent to Plan, Act, Reflect.

    It speaks about a call made before there is a plan, a call of a tool that the current step
    does not list, work that goes on after a step was done without a reflection, and exit criteria
    that were not checked at the end. Where the host can only speak by refusing a call, it does so
    if its configuration says ``refuse``.

    Args:
        free_tools: names and namespaces of tools that need no plan, e.g. for reading.
        reflect: whether it asks for reflections; only of agents that have `plan_reflect`.
        plan_tools: whether the agent has the plan tools even where its host does not tell.
        mirrors: whether plans that the agent keeps with its host's own tools count.

    """

    is_policy: ClassVar[bool] = True
    """It demands a way of working: a replay of everything leaves it out."""

    free_tools: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    reflect: bool = attrs.field(default=True, kw_only=True)
    plan_tools: bool = attrs.field(default=False, kw_only=True)
    mirrors: bool = attrs.field(default=True, kw_only=True)

    _memos: dict[str, BreachMemo] = attrs.field(init=False, factory=dict, eq=False, repr=False)

    name = PAR_NAME
    category = CATEGORY

    @hookimpl
    def run_opened(self, context: RunContext) -> None:
        """Watch for plans of the host's own tools."""
        if self.mirrors:
            context.trajectory.attach(PAR_NAME, HostPlan())

    @hookimpl
    def run_closed(self, context: RunContext) -> None:
        """Forget the run."""
        self._memos.pop(context.run_id, None)

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Return whether a call leaves the plan, or a reflection is due."""
        words = self._words(context)
        if words is None:
            return NOT_RELEVANT
        verdict, text = words
        return attrs.evolve(verdict, found=text)

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Return what to say about it."""
        verdict = context.classification
        episode = verdict.episode if verdict is not None else None
        text = firmer(context.found, context.level_of(episode or PAR_NAME))
        return GuidanceInjection(PAR_NAME, text, priority=50, category=CATEGORY)

    def _words(self, context: GuidanceContext) -> Words | None:
        point = context.decision_point
        if point not in _POINTS:
            return None
        plan = current_plan(context.session, context.run_id) or _host_plan(context)
        if point is DecisionPoint.PRE_RESPONSE:
            return self._unchecked(context, plan)
        return self._breach(context, plan) or self._unreflected(context, plan)

    def _breach(self, context: GuidanceContext, plan: Plan | None) -> Words | None:
        pending = context.decision_point is DecisionPoint.PRE_TOOL_EXECUTION
        calls = context.pending_tool_calls if pending else _last_turn(context)
        if pending and any(is_planning_tool(call.tool) for call in calls):
            return None
        if not calls:
            return None
        memo = self._memos.setdefault(context.run_id, BreachMemo(self.free_tools))
        for call in calls:
            found = memo.breach(plan, call.tool)
            if found is not None:
                sure = 1.0 if found.breach is Breach.NO_PLAN else 0.9
                result = ClassificationResult(
                    True, sure, f"{found.breach}: {call.tool[:80]}", found.episode
                )
                words = call_words(call.tool, call.params)
                return result, breach_text(found, words, self._tools(context), pending=pending)
        return None

    def _unreflected(self, context: GuidanceContext, plan: Plan | None) -> Words | None:
        asked = context.decision_point is DecisionPoint.PRE_TOOL_SELECTION
        if not asked or plan is None or not self._asks(context, plan):
            return None
        if not _last_turn(context):
            return None
        seen = {event.step_id for event in _reflections(context, plan)}
        worked = [step for step in plan.steps if step.status.strip().lower() in _WORKED]
        left = [step for step in worked if step.step_id not in seen]
        if not left or not plan.open_steps:
            return None
        episode = f"reflect:{plan.plan_id}:{left[-1].step_id}"
        result = ClassificationResult(True, 0.8, "a step was done without a reflection", episode)
        return result, reflect_text(left[-1])

    def _unchecked(self, context: GuidanceContext, plan: Plan | None) -> Words | None:
        if plan is None or not self._asks(context, plan) or plan.open_steps:
            return None
        if not plan.exit_criteria or any(not e.step_id for e in _reflections(context, plan)):
            return None
        episode = f"criteria:{plan.plan_id}"
        result = ClassificationResult(True, 0.9, "the exit criteria were not checked", episode)
        return result, final_text(plan)

    def _asks(self, context: GuidanceContext, plan: Plan) -> bool:
        return self.reflect and plan.status == "active" and has_reflect(self._tools(context))

    def _tools(self, context: GuidanceContext) -> frozenset[str] | None:
        known = context.tools
        if not self.plan_tools:
            return known
        return (known or frozenset()) | frozenset(OWN_TOOLS)


def _host_plan(context: GuidanceContext) -> Plan | None:
    seen = context.trajectory.projection(PAR_NAME)
    return seen.plan if isinstance(seen, HostPlan) else None


def _reflections(context: GuidanceContext, plan: Plan) -> tuple[ReflectionAdded, ...]:
    return context.session[ReflectionAdded].where(lambda event: event.plan_id == plan.plan_id)


def _last_turn(context: GuidanceContext) -> tuple[ToolCall, ...]:
    """Return the model's own calls of the last turn; none where it kept the plan."""
    last = context.last_call
    if last is None:
        return ()
    calls = [call for call in context.recent_tool_calls(_RECENT) if call.turn == last.turn]
    if any(is_planning_tool(call.tool) for call in calls):
        return ()
    own = (call for call in calls if call.caller is CallOrigin.MODEL)
    return tuple(ToolCall(call.tool, call.params, call.call_id) for call in own)
