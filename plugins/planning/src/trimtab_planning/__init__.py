"""Plans that LLM agents follow: versions, reflection, stages, plan tools."""

from trimtab_planning._book import PlanBook
from trimtab_planning._criteria import ExitCriterion, Guardrails, PlanCriteria
from trimtab_planning._current import CurrentPlan
from trimtab_planning._drift import PlanActReflect, PlanDrift
from trimtab_planning._guard import guarded
from trimtab_planning._history import (
    EVENTS,
    CriterionResult,
    PlanAuthored,
    PlanChange,
    PlanHistory,
    PlanUpdated,
    ReflectionAdded,
    StageCompleted,
    StageDecision,
    StageReason,
    StageStarted,
    StagesTerminated,
    StepCalled,
    Termination,
    current_plan,
)
from trimtab_planning._plan_calls import (
    PLAN_TOOLS,
    is_plan_tool,
    is_planning_tool,
    plan_after,
    planning_tool,
)
from trimtab_planning._plans import PlanDiff, StepDiff, diff, plan_text
from trimtab_planning._runner import StageResult, StageRunner
from trimtab_planning._stages import (
    Fallback,
    Retry,
    Rewind,
    StageDefinition,
    Terminate,
    multi_stage,
    stage_table,
)
from trimtab_planning._strategies import (
    PlanningParams,
    Strategy,
    event_trace,
    plan_act_reflect,
    react,
)
from trimtab_planning._tools import plan_tools
from trimtab_planning._watch import PlanWatch

__all__ = [
    "EVENTS",
    "PLAN_TOOLS",
    "CriterionResult",
    "CurrentPlan",
    "ExitCriterion",
    "Fallback",
    "Guardrails",
    "PlanActReflect",
    "PlanAuthored",
    "PlanBook",
    "PlanChange",
    "PlanCriteria",
    "PlanDiff",
    "PlanDrift",
    "PlanHistory",
    "PlanUpdated",
    "PlanWatch",
    "PlanningParams",
    "ReflectionAdded",
    "Retry",
    "Rewind",
    "StageCompleted",
    "StageDecision",
    "StageDefinition",
    "StageReason",
    "StageResult",
    "StageRunner",
    "StageStarted",
    "StagesTerminated",
    "StepCalled",
    "StepDiff",
    "Strategy",
    "Terminate",
    "Termination",
    "current_plan",
    "diff",
    "event_trace",
    "guarded",
    "is_plan_tool",
    "is_planning_tool",
    "multi_stage",
    "plan_act_reflect",
    "plan_after",
    "plan_text",
    "plan_tools",
    "planning_tool",
    "react",
    "stage_table",
]
