"""What happened after the moments of one provider, in nudged and in held-out runs."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from statistics import median

import attrs

from trimtab_replay._effect.records import Moment, RecordedCall, RecordedRun

TURNS = 3
"""Turns after a moment within which something must happen to count, by default."""


class Measure(Enum):
    """What is counted; the value is its name in JSON, in snake case."""

    LEFT = "left"
    PROGRESS = "progress"
    COMPLETED = "completed"
    GAVE_UP = "gave_up"

    @property
    def words(self) -> str:
        """What it counts, as a part of a sentence."""
        return _WORDS[self]

    @property
    def is_good(self) -> bool:
        """Whether more of it is better."""
        return self is not Measure.GAVE_UP


_WORDS = {
    Measure.LEFT: "a call not made before",
    Measure.PROGRESS: "a call that went well with a new answer",
    Measure.COMPLETED: "completed at the end",
    Measure.GAVE_UP: "no further call",
}


@attrs.frozen
class Aftermath:
    """What followed the first moment of a provider in one run; None is unknown.

    Args:
        calls_to_end: calls from the moment to the end of the run, if the run has ended.
    """

    left: bool
    progress: bool
    gave_up: bool
    completed: bool | None
    calls_to_end: int | None

    def of(self, measure: Measure) -> bool | None:
        """Return what was measured."""
        value: bool | None = getattr(self, measure.value)
        return value


@attrs.define
class Arm:
    """The nudged or the held-out runs of one provider, one moment each."""

    aftermaths: list[Aftermath] = attrs.field(factory=list)

    def count(self, measure: Measure) -> tuple[int, int]:
        """Return in how many runs it happened, and of how many it is known."""
        values = [value for each in self.aftermaths if (value := each.of(measure)) is not None]
        return sum(values), len(values)

    @property
    def calls_to_end(self) -> float | None:
        """The median of the runs that have ended; None if there is none."""
        counts = [each.calls_to_end for each in self.aftermaths if each.calls_to_end is not None]
        return median(counts) if counts else None

    def __len__(self) -> int:
        return len(self.aftermaths)


@attrs.define
class Comparison:
    """Both arms of one provider."""

    provider: str
    nudged: Arm = attrs.field(factory=Arm)
    held_out: Arm = attrs.field(factory=Arm)


def compare(runs: Iterable[RecordedRun], turns: int = TURNS) -> list[Comparison]:
    """Sort the first moment of each provider in each run into its arm.

    Later moments of the same run depend on the first, so they are not counted.

    Args:
        turns: within how many turns after the moment something must happen to count.
    """
    comparisons: dict[str, Comparison] = {}
    for run in runs:
        first: dict[str, Moment] = {}
        for moment in run.moments:
            first.setdefault(moment.provider, moment)
        for name, moment in first.items():
            if not run.knows(moment):
                continue
            comparison = comparisons.setdefault(name, Comparison(name))
            arm = comparison.nudged if moment.is_nudged else comparison.held_out
            arm.aftermaths.append(after(moment, run, turns))
    return list(comparisons.values())


def after(moment: Moment, run: RecordedRun, turns: int) -> Aftermath:
    """Return what followed `moment` in `run`."""
    before = [call for call in run.calls if call.turn <= moment.turn]
    rest = run.calls[len(before) :]
    window = [call for call in rest if call.turn <= moment.turn + turns]
    actions = {call.action for call in before}
    return Aftermath(
        left=any(call.action not in actions for call in window),
        progress=_has_progress(window, {call.output for call in before}),
        gave_up=not rest and run.is_closed,
        completed=run.completion == "ok" if run.completion else None,
        calls_to_end=len(rest) if run.is_closed else None,
    )


def _has_progress(window: Iterable[RecordedCall], seen: set[str]) -> bool:
    return any(call.is_ok and call.output not in seen for call in window)
