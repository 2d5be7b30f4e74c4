"""What happened after the moments of one provider, in nudged and in held-out runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
        task: of the run, empty if unknown.
    """

    left: bool
    progress: bool
    gave_up: bool
    completed: bool | None
    calls_to_end: int | None
    task: str = ""

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

    def by_task(self, measure: Measure) -> list[tuple[str, bool]]:
        """Return task and value of each run of which it is known; a run of no task is its own."""
        known = ((n, each, each.of(measure)) for n, each in enumerate(self.aftermaths))
        return [(each.task or f"run {n}", value) for n, each, value in known if value is not None]

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


@attrs.define
class Comparing:
    """Sorts the first moment of each provider in each run into its arm.

    Later moments of the same run depend on the first, so they are not counted. A run may be
    recorded several times (its trace, a copy, a snapshot of each turn): the record that tells
    most of it counts.

    Args:
        turns: within how many turns after the moment something must happen to count.

    Attributes:
        runs: how many were added.
        copies: records of runs that were there already.
    """

    turns: int = TURNS
    runs: int = 0
    copies: int = 0
    _best: dict[str, tuple[tuple[bool, bool, int], list[tuple[Moment, Aftermath]]]] = attrs.field(
        factory=dict
    )

    def add(self, run: RecordedRun) -> None:
        """Add the record of one run."""
        key = run.run_id or f"record {self.runs + self.copies}"
        known = self._best.get(key)
        if known is None:
            self.runs += 1
        else:
            self.copies += 1
        if known is None or run.rank > known[0]:
            self._best[key] = run.rank, list(_firsts(run, self.turns))

    def comparisons(self) -> list[Comparison]:
        """Return both arms of each provider."""
        found: dict[str, Comparison] = {}
        for _, firsts in self._best.values():
            for moment, aftermath in firsts:
                comparison = found.setdefault(moment.provider, Comparison(moment.provider))
                arm = comparison.nudged if moment.is_nudged else comparison.held_out
                arm.aftermaths.append(aftermath)
        return list(found.values())


def compare(runs: Iterable[RecordedRun], turns: int = TURNS) -> list[Comparison]:
    """Return both arms of each provider, as `Comparing` sorts them."""
    comparing = Comparing(turns)
    for run in runs:
        comparing.add(run)
    return comparing.comparisons()


def _firsts(run: RecordedRun, turns: int) -> Iterator[tuple[Moment, Aftermath]]:
    first: dict[str, Moment] = {}
    for moment in run.moments:
        first.setdefault(moment.provider, moment)
    for moment in first.values():
        if run.knows(moment):
            yield moment, after(moment, run, turns)


_KNOWN = {"ok": True, "incomplete": False}
"""What a completion check says; one that was skipped, or that failed, says nothing."""


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
        completed=_KNOWN.get(run.completion),
        calls_to_end=len(rest) if run.is_closed else None,
        task=run.task,
    )


def _has_progress(window: Iterable[RecordedCall], seen: set[str]) -> bool:
    return any(call.is_ok and call.output not in seen for call in window)
