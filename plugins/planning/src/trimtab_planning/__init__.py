"""Plans that LLM agents follow: versions, reflection, stages, plan tools."""

from trimtab.inspection import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_book": "PlanBook",
        "_criteria": "ExitCriterion Guardrails PlanCriteria",
        "_current": "CurrentPlan",
        "_drift": "PlanActReflect PlanDrift",
        "_guard": "guarded",
        "_history": (
            "CriterionResult current_plan EVENTS PlanAuthored PlanChange PlanHistory "
            "PlanUpdated ReflectionAdded StageCompleted StageDecision StageReason StageStarted "
            "StagesTerminated StepCalled Termination"
        ),
        "_plan_calls": "is_plan_tool is_planning_tool plan_after PLAN_TOOLS planning_tool",
        "_plans": "diff plan_text PlanDiff StepDiff",
        "_runner": "StageResult StageRunner",
        "_stages": "Fallback multi_stage Retry Rewind stage_table StageDefinition Terminate",
        "_strategies": "event_trace plan_act_reflect PlanningParams react Strategy",
        "_tools": "plan_tools",
        "_watch": "PlanWatch",
    },
)
