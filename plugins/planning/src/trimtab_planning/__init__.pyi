from trimtab_planning._book import (
    PlanBook as PlanBook,
)
from trimtab_planning._criteria import (
    ExitCriterion as ExitCriterion,
    Guardrails as Guardrails,
    PlanCriteria as PlanCriteria,
)
from trimtab_planning._current import (
    CurrentPlan as CurrentPlan,
)
from trimtab_planning._drift import (
    PlanActReflect as PlanActReflect,
    PlanDrift as PlanDrift,
)
from trimtab_planning._guard import (
    guarded as guarded,
)
from trimtab_planning._history import (
    EVENTS as EVENTS,
    CriterionResult as CriterionResult,
    PlanAuthored as PlanAuthored,
    PlanChange as PlanChange,
    PlanHistory as PlanHistory,
    PlanUpdated as PlanUpdated,
    ReflectionAdded as ReflectionAdded,
    StageCompleted as StageCompleted,
    StageDecision as StageDecision,
    StageReason as StageReason,
    StageStarted as StageStarted,
    StagesTerminated as StagesTerminated,
    StepCalled as StepCalled,
    Termination as Termination,
    current_plan as current_plan,
)
from trimtab_planning._plan_calls import (
    PLAN_TOOLS as PLAN_TOOLS,
    is_plan_tool as is_plan_tool,
    is_planning_tool as is_planning_tool,
    plan_after as plan_after,
    planning_tool as planning_tool,
)
from trimtab_planning._plans import (
    PlanDiff as PlanDiff,
    StepDiff as StepDiff,
    diff as diff,
    plan_text as plan_text,
)
from trimtab_planning._runner import (
    StageResult as StageResult,
    StageRunner as StageRunner,
)
from trimtab_planning._stages import (
    Fallback as Fallback,
    Retry as Retry,
    Rewind as Rewind,
    StageDefinition as StageDefinition,
    Terminate as Terminate,
    multi_stage as multi_stage,
    stage_table as stage_table,
)
from trimtab_planning._strategies import (
    PlanningParams as PlanningParams,
    Strategy as Strategy,
    event_trace as event_trace,
    plan_act_reflect as plan_act_reflect,
    react as react,
)
from trimtab_planning._tools import (
    plan_tools as plan_tools,
)
from trimtab_planning._watch import (
    PlanWatch as PlanWatch,
)
