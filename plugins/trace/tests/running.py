"""Runs with providers, for the tests of recorders and replay."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import attrs

from trimtab import (
    NOT_RELEVANT,
    Budget,
    ClassificationResult,
    Deadline,
    DecisionPoint,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceInjection,
    GuidanceProviderConfig,
    ManualClock,
    Outcome,
    Plan,
    PlanStep,
    Prompt,
    Run,
    Session,
    TaskCompletionResult,
    ToolCall,
    Usage,
)


def _failed_in_a_row(context: Any) -> int:
    calls = reversed(context.recent_tool_calls(64))
    return sum(1 for _ in takewhile(lambda call: call.outcome is Outcome.ERROR, calls))


@attrs.define
class Repeats:
    """Speaks from the third failure in a row on."""

    threshold: int = 3
    name: str = "repeats"
    category: str = "loops"

    def classify(self, *, context: Any) -> ClassificationResult:
        if _failed_in_a_row(context) < self.threshold:
            return NOT_RELEVANT
        return ClassificationResult(relevant=True, confidence=0.9, reason="failures in a row")

    def provide(self, *, context: Any) -> GuidanceInjection:
        times = _failed_in_a_row(context)
        return GuidanceInjection("repeats", f"{times} failures in a row at {context.turn_count}.")


@attrs.define
class Remaining:
    """Tells the seconds that are left."""

    name: str = "remaining"

    def should_run(self, *, context: Any) -> bool:
        return context.deadline is not None

    def provide(self, *, context: Any) -> Feedback:
        left = context.deadline.remaining().total_seconds()
        return Feedback(summary=f"{left:.1f} seconds are left.")


@attrs.define
class PlanDone:
    """Wants all steps of the plan done."""

    name: str = "plan-done"

    def check(self, context: Any) -> TaskCompletionResult:
        plan = context.session[Plan].latest()
        if plan is None or not plan.open_steps:
            return TaskCompletionResult.ok()
        return TaskCompletionResult.incomplete(f"{len(plan.open_steps)} steps are open.")


@attrs.define
class Own:
    """A checker of the client's own; what it says depends on the world."""

    answers: list[Any]
    name: str = "own"

    def check(self, context: Any) -> TaskCompletionResult:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@attrs.define
class Flaky:
    """Fails at every other question."""

    name: str = "flaky"
    category: str = "faults"

    def classify(self, *, context: Any) -> ClassificationResult:
        if context.turn_count % 2:
            raise ValueError(f"turn {context.turn_count}")
        return NOT_RELEVANT

    def provide(self, *, context: Any) -> GuidanceInjection:
        raise AssertionError


def prompt(*recorders: Any, threshold: int = 3, ns: str = "agent", key: str = "main") -> Prompt:
    """Return a prompt with providers of all kinds."""
    return Prompt(
        ns,
        key,
        config=None,
        recorders=recorders,
        guidance_providers=[
            GuidanceProviderConfig(Repeats(threshold), cooldown_turns=1),
            Flaky(),
        ],
        feedback_providers=[FeedbackProviderConfig(Remaining(), FeedbackTrigger(every_n_calls=4))],
        completion_checkers=[PlanDone()],
    )


def step(run: Run, number: int, clock: ManualClock, *, fails: bool) -> None:
    """Let the model call one tool, as a host would tell it."""
    call = ToolCall("bash", {"command": f"make {number % 2}"}, f"call-{number}")
    run.model_responded(text="I try.", tool_calls=[call], usage=Usage(100, 10, 0.01))
    run.guide(DecisionPoint.PRE_TOOL_EXECUTION, pending=[call])
    clock.advance(0.1)
    run.tool_started(call.tool, call.params, call.call_id)
    clock.advance(1.3)
    run.tool_finished(
        call.call_id,
        {"text": "boom" if fails else "fine", "float": float("inf")},
        outcome=Outcome.ERROR if fails else Outcome.OK,
        error="exit status 2" if fails else None,
    )
    run.guide(DecisionPoint.POST_TOOL_RESULT)
    run.feedback()
    run.guide(DecisionPoint.PRE_TOOL_SELECTION)


def drive(prompt: Prompt, *, run_id: str = "run-1") -> Session:
    """Run an agent through failures, stops, a plan and its end; return the session."""
    clock = ManualClock()
    session = Session(clock=clock)
    run = session.open_run(
        prompt,
        run_id=run_id,
        deadline=Deadline(300.0, clock),
        budget=Budget(max_total_tokens=1_000_000),
    )
    run.render()
    run.user_message("Build it")
    for number in range(9):
        step(run, number, clock, fails=number not in (4, 8))
    session.dispatch(Plan([PlanStep("build"), PlanStep("test")], "release"))
    own = Own(
        [
            TaskCompletionResult.ok(),
            TaskCompletionResult.incomplete("not yet", progress="1/2"),
            RuntimeError("the service is down"),
            TaskCompletionResult.unverified("no access"),
        ]
    )
    run.check_completion(extra=[own], stop_reason="end_turn")
    session.dispatch(Plan([PlanStep("build", "done"), PlanStep("test", "done")], "release"))
    for _ in range(4):
        clock.advance(5)
        run.check_completion(extra=[own] if own.answers else (), output={"ok": True})
    run.check_completion(awaiting_user=True)
    run.compacted("shorter")
    run.close("done")
    return session
