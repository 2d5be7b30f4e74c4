"""Plans that LLM agents follow: versions, reflection, stages, plan tools."""

from trimtab_planning._book import PlanBook, current_plan
from trimtab_planning._events import (
    EVENTS,
    PlanAuthored,
    PlanChange,
    PlanUpdated,
    ReflectionAdded,
    StageCompleted,
    StageDecision,
    StageReason,
    StageStarted,
    StagesTerminated,
    StepCalled,
    Termination,
)
from trimtab_planning._plans import PlanDiff, StepDiff, diff
from trimtab_planning._render import plan_text
from trimtab_planning._tools import plan_tools

__all__ = [
    "EVENTS",
    "PlanAuthored",
    "PlanBook",
    "PlanChange",
    "PlanDiff",
    "PlanUpdated",
    "ReflectionAdded",
    "StageCompleted",
    "StageDecision",
    "StageReason",
    "StageStarted",
    "StagesTerminated",
    "StepCalled",
    "StepDiff",
    "Termination",
    "current_plan",
    "diff",
    "plan_text",
    "plan_tools",
]
