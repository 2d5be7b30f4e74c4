"""One run of stages without any I/O of its own: what to evaluate next, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from trimtab import Prompt, PromptResponse, Run, ToolInvoked, TrimtabError
from trimtab.hosting import to_json
from trimtab_planning._book import PlanBook
from trimtab_planning._criteria import Guardrails
from trimtab_planning._history import (
    ReflectionAdded,
    StageCompleted,
    StageDecision,
    StageReason,
    StageStarted,
    StagesTerminated,
    Termination,
)
from trimtab_planning._stage_plan import (
    REPORT,
    Report,
    StagePlan,
    as_text,
    error_words,
    evaluation_failure,
    output_of,
    typed,
)
from trimtab_planning._stages import (
    INPUT,
    Failure,
    FailureKind,
    Move,
    StageDefinition,
    StageFailed,
    Stages,
    after_failure,
    after_success,
    asked,
    first_stage,
    termination,
)

MAX_TEXT = 2_000


@attrs.frozen
class Attempt:
    """One stage, ready to be evaluated.

    Args:
        stage: its definition.
        number: from 1, since the stage was entered.
        reason: why it starts.
        given: its input.
        error: why the attempt before failed.
        report: where the agent reports a problem.
        before: ids of the runs that were there before.
    """

    stage: StageDefinition
    number: int
    reason: StageReason
    given: Any
    error: str
    report: Report = attrs.field(factory=Report)
    before: frozenset[str] = frozenset()


class StageFlow:
    """Where one run of stages stands.

    Args:
        stages: by name, in order.
        run: of the whole policy; events are recorded there.
        guardrails: of the whole policy.
        given: the input of the run.
        max_attempts: attempts of stages over the whole run.

    Attributes:
        outputs: outputs by stage; the run's input under ``"input"``.
        ended: how the run ended, None while it goes on.
        detail: why it ended.
    """

    def __init__(
        self, stages: Stages, run: Run, *, guardrails: Guardrails, given: Any, max_attempts: int
    ) -> None:
        self.outputs: dict[str, Any] = {INPUT: given}
        self.ended: Termination | None = None
        self.detail = ""
        self.last_output: Any = None
        self._stages = stages
        self._run = run
        self._guardrails = guardrails
        self._max_attempts = max_attempts
        self._inputs: dict[str, Any] = {}
        self._trail: list[StageCompleted] = []
        self._stage = first_stage(stages)
        self._reason = StageReason.FIRST
        self._from = INPUT
        self._attempt = 1
        self._error = ""
        self._plan = StagePlan(PlanBook.of(run), stages)

    @property
    def run_id(self) -> str:
        """The run of all stages."""
        return self._run.run_id

    @property
    def trail(self) -> tuple[StageCompleted, ...]:
        """The stages that ended, oldest first."""
        return tuple(self._trail)

    @property
    def tokens(self) -> int:
        """What all attempts so far have used, input and output together."""
        return sum(event.tokens for event in self._trail)

    def resume(self) -> None:
        """Go on after the last stage that the session knows of this run."""
        session, run_id = self._run.session, self._run.run_id
        for event in session[StageCompleted].where(lambda item: item.stage_run == run_id):
            if event.stage not in self._stages:
                raise ValueError(f"the run has a stage {event.stage!r} that is not declared")
            self._given(self._stages[event.stage])
            self._follow(event, typed(self._stages[event.stage].output, event.output, "output"))
        for end in session[StagesTerminated].where(lambda item: item.stage_run == run_id):
            self.ended, self.detail = end.reason, end.detail

    def begin(self, prompt_name: Callable[[StageDefinition], str]) -> Attempt | None:
        """Record the start of the next attempt and return it; None if the run has ended."""
        if self.ended is None and len(self._trail) >= self._max_attempts:
            self._terminate(Termination.FAILED, f"{self._max_attempts} attempts were made")
        while self.ended is None:
            stage = self._stages[self._stage]
            self._plan.started(stage, self._reason)
            self._run.dispatch(
                StageStarted,
                stage=stage.name,
                attempt=self._attempt,
                stage_run=self._run.run_id,
                reason=self._reason,
                stage_prompt=prompt_name(stage),
            )
            problem = self._given(stage)
            if problem is None:
                known = frozenset(self._run.session.runs())
                given = self._inputs[stage.name]
                return Attempt(stage, self._attempt, self._reason, given, self._error, before=known)
            self._failed(stage, Failure(FailureKind.INPUT, problem), 0)
        return None

    def finish(self, attempt: Attempt, prompt: Prompt[Any], response: PromptResponse[Any]) -> None:
        """Record what an attempt came to."""
        stage = attempt.stage
        tokens, calls = self._used(attempt, prompt.name)
        failure = self._reported(attempt) or self._breached(stage, tokens, calls)
        if failure is not None:
            self._failed(stage, failure, tokens)
            return
        try:
            output = self._checked(stage, response)
            move = after_success(self._stages, stage.name, output)
        except StageFailed as failed:
            self._failed(stage, failed.failure, tokens)
        else:
            self._end(stage, move, tokens, output=output)

    def failed(self, attempt: Attempt, prompt: Prompt[Any], error: TrimtabError) -> None:
        """Record that an attempt could not be brought to an end."""
        tokens, calls = self._used(attempt, prompt.name)
        # Hosts stop an evaluation as soon as its limit is reached.
        failure = self._reported(attempt) or self._breached(attempt.stage, tokens + 1, calls)
        self._failed(attempt.stage, failure or evaluation_failure(attempt.stage, error), tokens)

    def stop(self, reason: Termination, detail: str) -> None:
        """End the run from outside; nothing if it has ended."""
        if self.ended is None:
            self._terminate(reason, detail)

    def _given(self, stage: StageDefinition) -> str | None:
        """Work out the input of a stage that is entered; return what is wrong with it."""
        if stage.name in self._inputs:
            return None
        try:
            given = self.outputs[self._from] if stage.feed is None else stage.feed(self.outputs)
            self._inputs[stage.name] = typed(stage.input_type, given, "input")
        except Exception as error:  # noqa: BLE001 - `feed` is the client's
            return f"the input of stage {stage.name!r} can't be made: {error_words(error)}"
        return None

    def _used(self, attempt: Attempt, prompt_name: str) -> tuple[int, list[ToolInvoked]]:
        session = self._run.session
        runs = {
            run_id: state
            for run_id, state in session.runs().items()
            if run_id not in attempt.before and state.prompt_name == prompt_name
        }
        calls = session[ToolInvoked].where(lambda call: call.run_id in runs) if runs else ()
        return sum(state.usage.total_tokens for state in runs.values()), list(calls)

    def _reported(self, attempt: Attempt) -> Failure | None:
        report = attempt.report.params
        if report is None:
            return None
        plan = self._plan.book.current
        self._run.dispatch(
            ReflectionAdded,
            plan_id=plan.plan_id if plan else "",
            version=plan.version if plan else "",
            step_id=attempt.stage.name,
            observed=report.problem[:MAX_TEXT],
            expected=attempt.stage.handoff,
            met=False,
            proposal=f"rewind to {report.rewind_to[:200]}" if report.rewind_to else "",
        )
        return Failure(FailureKind.REPORTED, report.problem[:MAX_TEXT], report.rewind_to)

    def _breached(
        self, stage: StageDefinition, tokens: int, calls: Iterable[ToolInvoked]
    ) -> Failure | None:
        own, whole = stage.guardrails, self._guardrails
        if whole.max_tokens is not None and self.tokens + tokens > whole.max_tokens:
            text = f"the stages used more than their {whole.max_tokens} tokens"
            return Failure(FailureKind.BUDGET, text)
        calls = [call for call in calls if not (stage.reports and call.tool == REPORT)]
        text = own.breached(calls) or whole.breached(calls) or ""
        if not text and own.max_tokens is not None and tokens > own.max_tokens:
            text = f"the stage used more than its {own.max_tokens} tokens"
        return Failure(FailureKind.GUARDRAIL, text) if text else None

    def _checked(self, stage: StageDefinition, response: PromptResponse[Any]) -> Any:
        """Return the output of a stage.

        Raises:
            StageFailed: it does not fit, or a filter or a check finds something wrong or raises.
        """
        try:
            output = output_of(stage, response)
        except ValueError as error:
            raise StageFailed(Failure(FailureKind.SCHEMA, str(error))) from error
        text = as_text(output) if output is not None else ""
        for kind, checks, value in (
            (FailureKind.GUARDRAIL, stage.guardrails.filters, text),
            (FailureKind.GUARDRAIL, self._guardrails.filters, text),
            (FailureKind.CHECK, stage.checks, output),
        ):
            for check in checks:
                found = asked(f"a check of stage {stage.name!r}", check, value)
                if found:
                    raise StageFailed(Failure(kind, str(found)))
        return output

    def _failed(self, stage: StageDefinition, failure: Failure, tokens: int) -> None:
        failure = attrs.evolve(failure, text=failure.text[:MAX_TEXT])
        move = after_failure(
            self._stages, stage.name, failure, attempt=self._attempt, trail=self._trail
        )
        self._end(stage, move, tokens, failure=failure)

    def _end(
        self,
        stage: StageDefinition,
        move: Move,
        tokens: int,
        *,
        output: Any = None,
        failure: Failure | None = None,
    ) -> None:
        event = self._run.dispatch(
            StageCompleted,
            stage=stage.name,
            attempt=self._attempt,
            stage_run=self._run.run_id,
            success=failure is None,
            output=to_json(output),
            error=failure.text if failure else "",
            tokens=tokens,
            decision=move.decision,
            next_stage=move.stage,
        )
        self._plan.ended(event, as_text(output) if output is not None else "")
        self._follow(event, output)
        if event.decision is StageDecision.DONE:
            self._terminate(Termination.SUCCESS, "")
        elif event.decision is StageDecision.TERMINATE:
            self._terminate(termination(failure), move.detail)

    def _follow(self, event: StageCompleted, output: Any) -> None:
        """Move on as `event` says; the same for what happens now and for what is resumed."""
        self._trail.append(event)
        if event.success:
            self.outputs[event.stage] = self.last_output = output
        self._error = "" if event.success else event.error
        self._attempt = event.attempt + 1 if event.decision is StageDecision.RETRY else 1
        if not event.next_stage:
            return
        self._enter(event)
        self._stage = event.next_stage
        self._reason = StageReason(event.decision.value)

    def _enter(self, event: StageCompleted) -> None:
        """Say where the input of the stage that follows comes from."""
        target = event.next_stage
        if event.decision is StageDecision.FALLBACK and event.stage in self._inputs:
            self._inputs[target] = self._inputs[event.stage]
        elif event.decision is StageDecision.NEXT:
            self._inputs.pop(target, None)
            self._from = event.stage
        elif event.decision is StageDecision.REWIND:
            order = list(self._stages)
            for name in order[order.index(target) + 1 :]:
                self._inputs.pop(name, None)
            for name in order[order.index(target) :]:
                self.outputs.pop(name, None)

    def _terminate(self, reason: Termination, detail: str) -> None:
        self.ended, self.detail = reason, detail
        self._plan.terminated(reason, detail)
        plan = self._plan.book.current
        self._run.dispatch(
            StagesTerminated,
            reason=reason,
            detail=detail[:MAX_TEXT],
            stage_run=self._run.run_id,
            plan_id=plan.plan_id if plan else "",
        )
