"""What happens to plans and stages, as events of the session."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import attrs

from trimtab import Event, Plan


class PlanChange(StrEnum):
    """What happened to a plan."""

    REVISED = "revised"
    ROLLED_BACK = "rolled_back"
    STEP = "step"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class StageReason(StrEnum):
    """Why a stage starts."""

    FIRST = "first"
    NEXT = "next"
    RETRY = "retry"
    FALLBACK = "fallback"
    REWIND = "rewind"


class StageDecision(StrEnum):
    """What follows the end of a stage."""

    NEXT = "next"
    RETRY = "retry"
    FALLBACK = "fallback"
    REWIND = "rewind"
    TERMINATE = "terminate"
    DONE = "done"


class Termination(StrEnum):
    """How a run of stages ended."""

    SUCCESS = "success"
    MANUAL_STOP = "manual_stop"
    GUARDRAIL_VIOLATION = "guardrail_violation"
    FAILED = "failed"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PlanAuthored(Event):
    """A plan was made.

    Args:
        plan: the whole plan.
        origin: ``"plan_set"``, the name of the host's tool that the plan was read from, or
            ``"api"``.
    """

    section_key = "planning"
    plan: Plan
    origin: str = "api"

    @property
    def plan_id(self) -> str:
        """The plan's id."""
        return self.plan.plan_id


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PlanUpdated(Event):
    """A plan changed.

    Args:
        plan: the whole plan after the change.
        change: what happened.
        previous: the version before; the plan's own where the change makes no new version.
        step_id: the step that changed, for `PlanChange.STEP`.
        reason: why.
        origin: as for `PlanAuthored`.
    """

    section_key = "planning"
    plan: Plan
    change: PlanChange = attrs.field(converter=PlanChange)
    previous: str = ""
    step_id: str = ""
    reason: str = ""
    origin: str = "api"

    @property
    def plan_id(self) -> str:
        """The plan's id."""
        return self.plan.plan_id


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StepCalled(Event):
    """A tool call belongs to a step of the plan; recorded when the call starts.

    Args:
        call_id, tool: the call.
        plan_id, version: the plan at that time.
        step_id: its step; empty if no step is open.
        declared: whether the step lists the tool, or lists no tools at all.
        expected: what the step expects.
    """

    section_key = "action"
    keep_newest = True
    call_id: str
    tool: str
    plan_id: str
    version: str
    step_id: str = ""
    declared: bool = True
    expected: str = ""


@attrs.frozen
class CriterionResult:
    """What a check of one exit criterion found.

    Args:
        text: of the criterion.
        met: whether it is true; None if the check failed to say.
        detail: what is wrong.
    """

    text: str
    met: bool | None
    detail: str = ""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ReflectionAdded(Event):
    """The agent compared what it observed with what the plan expects.

    Args:
        plan_id, version: the plan; empty if there is none.
        step_id: the step, stage or, where empty, the plan as a whole.
        observed: what happened.
        expected: what the step or the exit criteria expect.
        met: whether that was reached; None if it is not known. Without `checks` it is what the
            agent claims.
        proposal: the change that the agent proposes.
        claimed: what the agent said; differs from `met` where a check says otherwise.
        checks: what the checks of the exit criteria found.
    """

    section_key = "reflection"
    observed: str
    plan_id: str = ""
    version: str = ""
    step_id: str = ""
    expected: str = ""
    met: bool | None = None
    proposal: str = ""
    claimed: bool | None = None
    checks: tuple[CriterionResult, ...] = ()


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StageStarted(Event):
    """A stage starts.

    Args:
        stage: its name.
        attempt: 1 for its first attempt since it was entered.
        stage_run: id of the run of all stages.
        reason: why it starts.
        stage_prompt: name of the prompt that it evaluates.
    """

    stage: str
    attempt: int
    stage_run: str
    reason: StageReason = attrs.field(converter=StageReason)
    stage_prompt: str = ""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StageCompleted(Event):
    """A stage ended, successful or not.

    Args:
        stage, attempt, stage_run: as for `StageStarted`.
        success: whether its output passed all checks.
        output: what it produced, JSON-like.
        error: why it failed.
        tokens: what it used, input and output together.
        decision: what follows.
        next_stage: the stage that follows; empty at the end.
    """

    stage: str
    attempt: int
    stage_run: str
    success: bool
    decision: StageDecision = attrs.field(converter=StageDecision)
    output: Any = None
    error: str = ""
    tokens: int = 0
    next_stage: str = ""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StagesTerminated(Event):
    """A run of stages ended.

    Args:
        reason: how.
        detail: why, in words.
        stage_run: id of the run of all stages.
        plan_id: the plan that it followed.
    """

    reason: Termination = attrs.field(converter=Termination)
    detail: str = ""
    stage_run: str = ""
    plan_id: str = ""


EVENTS: tuple[type[Event], ...] = (
    PlanAuthored,
    PlanUpdated,
    StepCalled,
    ReflectionAdded,
    StageStarted,
    StageCompleted,
    StagesTerminated,
)
"""All of them."""
