"""What follows a stage: pure rules over what has happened so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import attrs

from trimtab.text import describe_error
from trimtab_planning._events import StageCompleted, StageDecision, StageReason, Termination
from trimtab_planning._stages import Fallback, Retry, Rewind, StageDefinition, Terminate

Stages = Mapping[str, StageDefinition]
Trail = Sequence[StageCompleted]

REASONS = {
    StageDecision.NEXT: StageReason.NEXT,
    StageDecision.RETRY: StageReason.RETRY,
    StageDecision.FALLBACK: StageReason.FALLBACK,
    StageDecision.REWIND: StageReason.REWIND,
}


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
    """Why a stage failed.

    Args:
        kind: what went wrong.
        text: the same in words.
        rewind_to: the earlier stage that the agent wants to go back to.
    """

    kind: FailureKind
    text: str
    rewind_to: str = ""


@attrs.frozen
class Move:
    """What follows a stage.

    Args:
        decision: what is done.
        stage: the stage that follows; empty at the end.
        detail: why, where the run ends.
    """

    decision: StageDecision
    stage: str = ""
    detail: str = ""


class StageFailed(Exception):
    """A stage has produced an output that can't be used.

    Args:
        failure: why.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


DONE = Move(StageDecision.DONE)


def first_stage(stages: Stages) -> str:
    """Return the name of the stage that a run begins with."""
    return next(name for name, stage in stages.items() if not stage.spare)


def asked(what: str, function: Callable[[Any], Any], value: Any) -> Any:
    """Return what a function of the client returns.

    Args:
        what: names it in the failure.
        function: called with `value`.
        value: the output, or its text.

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

    Args:
        stages: all of them.
        name: the stage.
        failure: why it failed.
        attempt: which attempt it was, from 1.
        trail: the stages that ended before.
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
