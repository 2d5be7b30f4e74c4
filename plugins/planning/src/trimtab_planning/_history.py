"""What happens to plans and stages, as events of the session, and the record of them in one run."""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Any, Protocol, TypeVar

import attrs

from trimtab import Event, Plan, PlanStep, Slice
from trimtab_planning._plan_calls import is_plan_tool
from trimtab_planning._plans import PlanDiff, diff


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


E = TypeVar("E", bound=Event)
T = TypeVar("T")
COMPLETED, ABANDONED = "completed", "abandoned"


class Readable(Protocol):
    """A session as far as it is read: a `Session`, or what a provider sees of one."""

    def __getitem__(self, kind: type[T], /) -> Slice[T]:
        """Return the records of `kind`."""
        ...


class Writable(Readable, Protocol):
    """A session to which records can be added."""

    @property
    def lock(self) -> AbstractContextManager[None]:
        """Keeps what is read and what is written together."""
        ...

    def dispatch(self, event: object, /) -> None:
        """Add one record."""
        ...


def current_plan(session: Readable, run_id: str) -> Plan | None:
    """Return the newest plan of a run, or of the whole session; None if there is none.

    Args:
        session: where plans are kept.
        run_id: the run.
    """
    plans = session[Plan]
    latest = plans.latest()
    if latest is None or latest.run_id in ("", run_id):
        return latest
    own = plans.where(lambda plan: plan.run_id in ("", run_id))
    return own[-1] if own else None


@attrs.frozen
class PlanHistory:
    """Reads the plans of one run.

    Args:
        session: where the plans are kept.
        run_id: the run that they belong to.
    """

    session: Readable
    run_id: str

    @property
    def current(self) -> Plan | None:
        """The newest plan, whatever its status; None before the first."""
        return current_plan(self.session, self.run_id)

    @property
    def active(self) -> Plan | None:
        """The newest plan where it is neither completed nor abandoned."""
        plan = self.current
        return None if plan is None or plan.status in (COMPLETED, ABANDONED) else plan

    @property
    def history(self) -> tuple[Plan, ...]:
        """The last state of each version of the current plan, oldest first."""
        plan = self.current
        versions: dict[str, Plan] = {}
        for item in self.session[Plan].where(lambda item: item.run_id == self.run_id):
            if plan is not None and item.plan_id == plan.plan_id:
                versions[item.version] = item
        return tuple(versions.values())

    @property
    def reflections(self) -> tuple[ReflectionAdded, ...]:
        """The reflections of the run, oldest first."""
        return self._own(ReflectionAdded)

    def version(self, version: str) -> Plan:
        """Return the last state of a version of the current plan.

        Raises:
            ValueError: there is no such version.
        """
        known = {plan.version: plan for plan in self.history}
        if version not in known:
            names = ", ".join(known) or "none"
            raise ValueError(f"there is no version {version!r:.40}; versions are {names}")
        return known[version]

    def diff(self, before: str, after: str) -> PlanDiff:
        """Return how two versions of the current plan differ.

        Args:
            before, after: the versions.
        """
        return diff(self.version(before), self.version(after))

    @property
    def mirrors(self) -> bool:
        """Whether the current plan was read from a tool of the host."""
        event = self.last_change
        return event is not None and is_plan_tool(event.origin)

    @property
    def last_change(self) -> PlanAuthored | PlanUpdated | None:
        """The event that made the current plan what it is."""
        authored = self._own(PlanAuthored)
        updated = self._own(PlanUpdated)
        if updated and (not authored or updated[-1].plan_id == authored[-1].plan_id):
            return updated[-1]
        return authored[-1] if authored else None

    def mirrored_steps(self) -> tuple[PlanStep, ...]:
        """Return the steps that the host's tool wrote last, an abandoned plan's included."""
        told = [event for event in self._own(PlanAuthored) if is_plan_tool(event.origin)]
        if not told:
            return ()
        plan_id = told[-1].plan_id
        later = [
            event.plan
            for event in self._own(PlanUpdated)
            if event.plan_id == plan_id and event.change is not PlanChange.ABANDONED
        ]
        return (later[-1] if later else told[-1].plan).steps

    def _own(self, kind: type[E]) -> tuple[E, ...]:
        return self.session[kind].where(lambda event: event.run_id == self.run_id)
