"""The guidance provider `plan-act-reflect`: plan before you act, act by the plan, reflect."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceContext,
    GuidanceInjection,
    Plan,
    RunContext,
    ToolCall,
    hookimpl,
)
from trimtab.events import CallOrigin
from trimtab_planning._events import ReflectionAdded
from trimtab_planning._guard import (
    Breach,
    BreachMemo,
    breach_text,
    call_words,
    final_text,
    firmer,
    has_reflect,
    reflect_text,
)
from trimtab_planning._history import current_plan
from trimtab_planning._plan_calls import OWN_TOOLS, HostPlan, is_planning_tool

NAME = "plan-act-reflect"
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

    name = NAME
    category = CATEGORY

    @hookimpl
    def run_opened(self, context: RunContext) -> None:
        """Watch for plans of the host's own tools."""
        if self.mirrors:
            context.trajectory.attach(NAME, HostPlan())

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
        text = firmer(context.found, context.level_of(episode or NAME))
        return GuidanceInjection(NAME, text, priority=50, category=CATEGORY)

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
    seen = context.trajectory.projection(NAME)
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
