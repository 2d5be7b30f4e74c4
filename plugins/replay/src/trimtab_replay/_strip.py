"""The turns of a run at a glance."""

from __future__ import annotations

from enum import Enum

from trimtab_replay._results import CallView, Replayed


class TurnState(Enum):
    """What a turn was like; the value is its letter in a strip."""

    OK = "o"
    ERROR = "e"
    PARALLEL = "p"
    WAITING = "w"
    TEXT = "t"


def states(replayed: Replayed) -> list[TurnState]:
    """Return the state of every turn of a run whose steps were kept."""
    calls: list[list[CallView]] = [[] for _ in range(replayed.turns)]
    for step in replayed.steps:
        calls[step.turn].append(step)
    return [_state(steps) for steps in calls]


def _state(steps: list[CallView]) -> TurnState:
    if not steps:
        return TurnState.TEXT
    if any(step.failed for step in steps):
        return TurnState.ERROR
    if all(step.polling for step in steps):
        return TurnState.WAITING
    return TurnState.PARALLEL if len(steps) > 1 else TurnState.OK
