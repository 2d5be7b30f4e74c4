"""Stages: what each does, what goes in and out, its limits, and what follows by pure rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import attrs

from trimtab import Adapter, PlannedTool, PlanStep, PromptTemplate, Tool
from trimtab.hosting import names_known
from trimtab.text import describe_error
from trimtab_planning._criteria import Guardrails, as_guardrails
from trimtab_planning._history import StageCompleted, StageDecision, Termination
from trimtab_planning._strategies import Strategy

Check: TypeAlias = Callable[[Any], str | None]
"""Takes an output; returns what is wrong with it, None if it may pass."""


@attrs.frozen
class Retry:
    """Try the stage again, with the error in its prompt.

    Args:
        times: most retries each time that the stage is entered.
    """

    times: int = attrs.field(default=1, validator=attrs.validators.ge(1))


@attrs.frozen
class Fallback:
    """Go on with another stage, with the same input.

    Args:
        stage: its name.
    """

    stage: str


@attrs.frozen
class Rewind:
    """Go back to an earlier stage, with the input that it had and the error in its prompt.

    Args:
        stage: its name.
        times: most rewinds from this stage in one run.
    """

    stage: str
    times: int = attrs.field(default=1, validator=attrs.validators.ge(1))


@attrs.frozen
class Terminate:
    """End the run.

    Args:
        reason: why, in words; the error where empty.
    """

    reason: str = ""


INPUT = "input"
Transition: TypeAlias = Retry | Fallback | Rewind | Terminate
DEFAULT: tuple[Transition, ...] = (Retry(1), Terminate())


@names_known()
@attrs.frozen
class StageDefinition:
    """One stage.

    Args:
        name: unique among the stages.
        guardrails: `Guardrails`, or rules in words.
        handoff: what it hands to the next stage, in words.
        instructions: an instruction block, or a `PromptTemplate` whose sections, tools and
            providers hold.
        input_type: attrs class or dataclass of its input; anything where None.
        output_type: attrs class or dataclass of its output; text where None.
        tools: tools of its own, beside those of the runner.
        checks: functions that take the output and return what is wrong with it.
        feed: makes the input out of the outputs so far, by stage; the output of the stage
            before where None.
        choose: takes the output and returns the next stage, ``None`` for the next in order.
        on_failure: what to do, in this order, each until it is used up; it ends the run
            where nothing is left.
        spare: entered only by a fallback, a rewind or `choose`, never in order.
        reports: whether the agent gets the tool `stage_report`, with which it says that the
            stage can't succeed.
        adapter: runs this stage; the runner's where None.

    Raises:
        ValueError: the name is empty.
    """

    name: str = attrs.field(validator=attrs.validators.min_len(1))
    guardrails: Guardrails = attrs.field(factory=Guardrails, converter=as_guardrails)
    handoff: str = ""
    instructions: str | PromptTemplate[Any] = ""
    input_type: type[Any] | None = attrs.field(default=None, kw_only=True)
    output_type: type[Any] | None = attrs.field(default=None, kw_only=True)
    tools: tuple[Tool[Any, Any], ...] = attrs.field(default=(), converter=tuple, kw_only=True)
    checks: tuple[Check, ...] = attrs.field(default=(), converter=tuple, kw_only=True)
    feed: Callable[[Mapping[str, Any]], Any] | None = attrs.field(default=None, kw_only=True)
    choose: Callable[[Any], str | None] | None = attrs.field(default=None, kw_only=True)
    on_failure: tuple[Transition, ...] = attrs.field(default=DEFAULT, converter=tuple, kw_only=True)
    spare: bool = attrs.field(default=False, kw_only=True)
    reports: bool = attrs.field(default=False, kw_only=True)
    adapter: Adapter | None = attrs.field(default=None, kw_only=True)

    @property
    def output(self) -> type[Any] | None:
        """The type of its output, the template's where it has one."""
        if self.output_type is None and isinstance(self.instructions, PromptTemplate):
            return self.instructions.output
        return self.output_type

    def step(self, before: str) -> PlanStep:
        """Return the step of the plan that stands for this stage.

        Args:
            before: the stage that it depends on, empty for none.
        """
        return PlanStep(
            self.name,
            step_id=self.name,
            objective=self.instructions[:2_000] if isinstance(self.instructions, str) else "",
            tools=[PlannedTool(name) for name in self.guardrails.tools or ()],
            depends_on=(before,) if before else (),
            expected=self.handoff,
        )


def check_stages(stages: Iterable[StageDefinition]) -> dict[str, StageDefinition]:
    """Return stages by name.

    Raises:
        ValueError: there is none, two share a name, or a transition names no stage, or a later
            one to rewind to.
    """
    known: dict[str, StageDefinition] = {}
    for stage in stages:
        if stage.name in known:
            raise ValueError(f"two stages are called {stage.name!r}; rename one")
        known[stage.name] = stage
    if all(stage.spare for stage in known.values()):
        raise ValueError("there are no stages to begin with")
    if INPUT in known:
        raise ValueError(f"no stage can be called {INPUT!r}: `feed` finds the run's input there")
    order = list(known)
    for stage in known.values():
        for transition in stage.on_failure:
            _check_transition(stage, transition, order)
    return known


def _check_transition(stage: StageDefinition, transition: Transition, order: list[str]) -> None:
    if not isinstance(transition, Fallback | Rewind):
        return
    kind = type(transition).__name__
    if transition.stage not in order:
        raise ValueError(
            f"stage {stage.name!r}: {kind} names {transition.stage!r}; stages are {order}"
        )
    if isinstance(transition, Rewind) and order.index(transition.stage) > order.index(stage.name):
        raise ValueError(f"stage {stage.name!r} can't rewind to {transition.stage!r}: it is later")


def stage_table(stages: Iterable[StageDefinition]) -> str:
    """Return the stages as a Markdown table: stage, guardrails, handoff."""
    rows = (
        f"| {_cell(stage.name)} | {_cell(' '.join(stage.guardrails.lines()))} |"
        f" {_cell(stage.handoff)} |"
        for stage in stages
    )
    return "\n".join(("| Stage | Guardrails | Handoff |", "| --- | --- | --- |", *rows))


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def multi_stage(
    stages: Iterable[StageDefinition], *, exit_signal: str = "", guardrails: Any = None
) -> Strategy:
    """Return the strategy whose section shows the sequence of stages; `StageRunner` runs them.

    Args:
        stages: in their order.
        exit_signal: when the run is done.
        guardrails: limits over all stages.

    Raises:
        ValueError: the stages are wrong, see `check_stages`.
    """
    stages = tuple(check_stages(stages).values())
    return Strategy(
        "multi-stage",
        "Multi-stage Policy",
        rules=(
            f"Stage sequence: {' -> '.join(stage.name for stage in stages)}",
            "Do the work of your stage only, and keep to its guardrails.",
        ),
        termination=(exit_signal or f"Stage {stages[-1].name} has produced its output.",),
        guardrails=as_guardrails(guardrails),
        detail=stage_table(stages),
    )


Stages = Mapping[str, StageDefinition]
Trail = Sequence[StageCompleted]


class FailureKind(StrEnum):
    """What went wrong in a stage."""

    INPUT = "input"
    EVALUATION = "evaluation"
    SCHEMA = "schema"
    CHECK = "check"
    GUARDRAIL = "guardrail"
    BUDGET = "budget"
    REPORTED = "reported"


@attrs.frozen
class Failure:
    """Why a stage failed."""

    kind: FailureKind
    text: str
    rewind_to: str = ""


@attrs.frozen
class Move:
    """What follows a stage."""

    decision: StageDecision
    stage: str = ""
    detail: str = ""


class StageFailed(Exception):
    """A stage has produced an output that can't be used."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


DONE = Move(StageDecision.DONE)


def first_stage(stages: Stages) -> str:
    """Return the name of the stage that a run begins with."""
    return next(name for name, stage in stages.items() if not stage.spare)


def asked(what: str, function: Callable[[Any], Any], value: Any) -> Any:
    """Return what a function of the client returns.

    Raises:
        StageFailed: it raised.
    """
    try:
        return function(value)
    except Exception as error:
        text = f"{what} raised {describe_error(error)}"
        raise StageFailed(Failure(FailureKind.CHECK, text)) from error


def after_success(stages: Stages, name: str, output: Any) -> Move:
    """Return what follows a stage that succeeded.

    Raises:
        StageFailed: its `choose` raised, or names no stage.
    """
    choose = stages[name].choose
    chosen = None if choose is None else asked(f"`choose` of stage {name!r}", choose, output)
    if chosen is None:
        order = list(stages)
        later = (other for other in order[order.index(name) + 1 :] if not stages[other].spare)
        chosen = next(later, "")
    elif not isinstance(chosen, str) or chosen not in stages:
        text = f"stage {name!r} chose {chosen!r:.80}; stages are {', '.join(stages)}"
        raise StageFailed(Failure(FailureKind.CHECK, text))
    return Move(StageDecision.NEXT, chosen) if chosen else DONE


def after_failure(
    stages: Stages, name: str, failure: Failure, *, attempt: int, trail: Trail
) -> Move:
    """Return what follows a stage that failed: the first of its transitions that is left.

    An input that does not fit and a problem that the agent reported are not retried; nothing
    follows where the budget of all stages is used up.
    """
    if failure.kind is FailureKind.BUDGET:
        return Move(StageDecision.TERMINATE, detail=failure.text)
    final = failure.kind in (FailureKind.INPUT, FailureKind.REPORTED)
    for transition in _ordered(stages[name], failure):
        match transition:
            case Retry(times) if not final and attempt <= times:
                return Move(StageDecision.RETRY, name)
            case Fallback(stage) if not _used(trail, name, StageDecision.FALLBACK, stage):
                return Move(StageDecision.FALLBACK, stage)
            case Rewind(stage, times) if _used(trail, name, StageDecision.REWIND, stage) < times:
                return Move(StageDecision.REWIND, stage)
            case Terminate(reason):
                return Move(StageDecision.TERMINATE, detail=reason or failure.text)
    return Move(StageDecision.TERMINATE, detail=failure.text)


def _ordered(stage: StageDefinition, failure: Failure) -> list[Any]:
    """Return the transitions of a stage, the rewind that the agent asks for first."""
    asked = [
        item
        for item in stage.on_failure
        if isinstance(item, Rewind) and item.stage == failure.rewind_to
    ]
    return [*asked, *(item for item in stage.on_failure if item not in asked)]


def _used(trail: Trail, name: str, decision: StageDecision, target: str) -> int:
    wanted = (name, decision, target)
    return sum((event.stage, event.decision, event.next_stage) == wanted for event in trail)


def termination(failure: Failure | None) -> Termination:
    """Return how a run ended whose last stage failed so, or did not fail."""
    if failure is None:
        return Termination.SUCCESS
    if failure.kind in (FailureKind.GUARDRAIL, FailureKind.BUDGET):
        return Termination.GUARDRAIL_VIOLATION
    return Termination.FAILED
