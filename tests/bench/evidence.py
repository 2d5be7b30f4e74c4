"""Fits how many points each fact adds when the loop detector weighs the last actions together.

    python tests/bench/evidence.py fit [--write]
    python tests/bench/evidence.py score

It is fitted to the cases of ``tests/data`` that are about loops and, of the folder that
`TRIMTAB_CORPUS` names, to the cases and the recorded runs, of which nothing before the first nudge
of a rule is taken for a loop. Each fact adds a step function; its steps are found one by one, each
time the one that lowers the logistic loss most. ``fit`` prints the points, or writes them into the
detector; ``score`` judges each fourth of the sets of reports, and of the sources of recorded runs,
by points of the rest.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self
from unittest import mock

import attrs

from trimtab import ToolInvoked
from trimtab_doom_loop import _evidence as evidence, _projection as projection
from trimtab_replay import enabled, replay
from trimtab_replay._corpus import Corpus, installed_readers
from trimtab_replay._selection import Prompts

ROOT = Path(__file__).parents[2]
FACTS = evidence.Facts._fields
ROUNDS, RATE, PENALTY, CUTS, MOST_CUTS = 100, 0.2, 2.0, 16, 25
"""Steps, how much of each is taken, what holds each back, and at how many values of a fact it may
lie: at all if it has few. With twice as many steps, or half, unseen sets are judged alike."""
LEAST = 4.0
"""Curvature on each side of a step: some twenty actions."""
LATER = 0.2
"""Share of a loop's weight that is on what comes after it is due, and is easier to see."""
WRITTEN, RECORDED = 0.3, 3.0
"""Weight of cases that were written to test a rule, and of recorded runs."""
BEFORE = 4
"""Actions before it is due in which a loop may be seen or not."""
ODDS = 0.7
"""Of a loop, from which it is told. At 0.5 one of a hundred loops more is told in unseen sets, and
one of a hundred runs more that are none."""
FOLDS = 4


class Row(NamedTuple):
    """One action at which the facts are weighed: its item, what is seen, and whether a rule told
    of a loop at it.
    """

    item: int
    facts: evidence.Facts
    ruled: bool


@attrs.frozen
class Case:
    """One run.

    Attributes:
        source: the file or, of recorded runs, the folder that it is from.
        fires: whether a loop is in it; None for a recorded run.
        due: the item by which it is to be told.
        told: the item at which rules told of it.
        rows: the actions at which the facts are weighed.
    """

    source: str
    fires: bool | None
    due: float
    told: int | None
    rows: tuple[Row, ...]

    def labelled(self, weight: float) -> Iterator[tuple[evidence.Facts, bool, float]]:
        """Yield what is seen, whether that is a loop, and how much it counts."""
        if self.fires:
            due = [row for row in self.rows if row.item >= self.due]
            for number, row in enumerate(due):
                share = LATER / (len(due) - 1) if number else 1.0
                yield row.facts, True, weight * share
            none = [row for row in self.rows if row.item <= self.due - BEFORE]
        else:
            end = min((row.item for row in self.rows if row.ruled), default=math.inf)
            none = [row for row in self.rows if self.fires is False or row.item < end - BEFORE]
        for row in none:
            yield row.facts, False, weight / math.sqrt(len(none))


def cases(paths: Iterable[Path]) -> Iterator[Case]:
    """Yield the runs below `paths`, without cases that are not about loops."""
    prompts = Prompts(enabled(["doom-loop"]))
    for recording in Corpus(installed_readers(lambda _: None), None).recordings(paths):
        meta = recording.meta
        if meta.get("concerns", "DoomLoopDetector") == "DoomLoopDetector":
            with _Watch() as watch:
                replayed = replay(
                    attrs.evolve(recording, entries=watch.over(recording.entries)), prompts
                )
            told = replayed.decisions[0].call if replayed.decisions else None
            path, fires, due = Path(recording.path), None, math.inf
            if "expected" in meta:
                fires, due = meta["expected"] == "fire", meta.get("at")
            rows = tuple(watch.rows)
            if due is None and fires:
                due = rows[-1].item if rows else math.inf
            source = path.stem if fires is not None else path.parent.name
            yield Case(source, fires, math.inf if due is None else due, told, rows)


class _Watch:
    """Notes what is seen at each action of a run that rules alone judge."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._items: list[int] = []
        self._calls = 0
        self._patches = (
            mock.patch.object(projection, "find_by_evidence", return_value=None),
            mock.patch.object(projection.LoopProjection, "turn_closed", self._closing()),
        )

    def __enter__(self) -> Self:
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()

    def over(self, entries: Iterable[Any]) -> Iterator[Any]:
        """Yield the entries of a recording, and note which items are calls."""
        for entry in entries:
            if isinstance(entry.item, ToolInvoked):
                self._items.append(entry.call)
            yield entry

    def _closing(self) -> Any:
        close = projection.LoopProjection.turn_closed

        def turn_closed(self_: Any, turn: Any) -> None:
            newest = self_._actions.kept[-1].number if self_._actions.kept else -1
            close(self_, turn)
            self._calls += len(turn.calls)
            actions, times = self_._actions, self_._repeats
            if not actions.kept or actions.kept[-1].number == newest:
                return
            if evidence.worth_weighing(actions, times) and not projection.waits_as_told(actions):
                item = self._items[min(self._calls, len(self._items)) - 1]
                facts = evidence.facts_of(actions)
                self.rows.append(Row(item, facts, self_.loop is not None))

        return turn_closed


Labelled = tuple[evidence.Facts, bool, float]
Points = Mapping[str, Sequence[tuple[float, float]]]


def fitted(given: Sequence[Labelled]) -> tuple[float, Points]:
    """Return where the sum begins and what each fact adds, by Newton's steps on the loss."""
    cuts = [_cuts([row[0][fact] for row in given]) for fact in range(len(FACTS))]
    places = [
        [sum(row[0][fact] >= cut for cut in cuts[fact]) for row in given]
        for fact in range(len(FACTS))
    ]
    right = sum(weight for _, loop, weight in given if loop)
    start = math.log(right / (sum(row[2] for row in given) - right))
    odds = [start] * len(given)
    points: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    for _ in range(ROUNDS):
        chances = [1 / (1 + math.exp(-odd)) for odd in odds]
        slopes = [
            weight * (chance - loop)
            for (_, loop, weight), chance in zip(given, chances, strict=True)
        ]
        curves = [
            weight * chance * (1 - chance)
            for (_, _, weight), chance in zip(given, chances, strict=True)
        ]
        steps = [
            step
            for fact in range(len(FACTS))
            for step in _steps(fact, places[fact], slopes, curves)
        ]
        if not steps:
            break  # nothing is in doubt any more
        _, fact, cut, below, above = max(steps)
        start += below
        points[FACTS[fact]][cuts[fact][cut - 1]] += above - below
        for row, place in enumerate(places[fact]):
            odds[row] += above if place >= cut else below
    ordered = {fact: tuple(sorted(points[fact].items())) for fact in FACTS if fact in points}
    return start, ordered


def _cuts(values: Sequence[float]) -> list[float]:
    """Return values at which a step may lie, each with as many others between as the next."""
    distinct = sorted({round(value, 2) for value in values})
    if len(distinct) <= MOST_CUTS + 1:
        return distinct[1:]
    ordered = sorted(values)
    places = (len(ordered) * part // CUTS for part in range(1, CUTS))
    return sorted({round(ordered[place], 2) for place in places} - {ordered[0]})


def _steps(
    fact: int, places: Sequence[int], slopes: Sequence[float], curves: Sequence[float]
) -> Iterator[tuple[float, int, int, float, float]]:
    """Yield the steps that a fact may get: gain, fact, cut, and what is added on either side."""
    slope, curve = [0.0] * (MOST_CUTS + 1), [0.0] * (MOST_CUTS + 1)
    for place, one, other in zip(places, slopes, curves, strict=True):
        slope[place] += one
        curve[place] += other
    all_slope, all_curve = sum(slope), sum(curve)
    below_slope = below_curve = 0.0
    for cut in range(1, MOST_CUTS + 1):
        below_slope += slope[cut - 1]
        below_curve += curve[cut - 1]
        above_slope, above_curve = all_slope - below_slope, all_curve - below_curve
        if min(below_curve, above_curve) * 4 >= LEAST:
            gain = below_slope**2 / (below_curve + PENALTY) + above_slope**2 / (
                above_curve + PENALTY
            )
            below = -RATE * below_slope / (below_curve + PENALTY)
            yield gain, fact, cut, below, -RATE * above_slope / (above_curve + PENALTY)


def points_with(facts: evidence.Facts, start: float, points: Points) -> float:
    """Return the points of some facts by other points than those of the detector."""
    with mock.patch.object(evidence, "START", start), mock.patch.object(evidence, "POINTS", points):
        return evidence.points_of(facts)


def told(case: Case, start: float, points: Points) -> int | None:
    """Return at which item rules or points first tell of a loop."""
    found = [row.item for row in case.rows if points_with(row.facts, start, points) > 0]
    return min([*found, *([] if case.told is None else [case.told])], default=None)


def verdicts(given: Iterable[Case], start: float, points: Points) -> Counter[str]:
    """Return how many runs come out in which way."""
    count: Counter[str] = Counter()
    for case in given:
        item = told(case, start, points)
        if not case.fires:
            kind = "recorded " * (case.fires is None) + ("quiet" if item is None else "told")
            count[kind + " before" * (item is not None and case.told is not None)] += 1
        else:
            count["missed" if item is None else "hit" if item <= case.due else "late"] += 1
    return count


def everything() -> list[tuple[Case, float]]:
    """Return all cases and recorded runs, and how much each counts."""
    data = sorted((ROOT / "tests" / "data").glob("*.jsonl"))
    found = [(case, 1.0 if case.source.startswith("reports-") else WRITTEN) for case in cases(data)]
    if corpus := os.environ.get("TRIMTAB_CORPUS"):
        found += [(case, WRITTEN) for case in cases(sorted(Path(corpus, "cases").glob("*.jsonl")))]
        folders = [path for path in Path(corpus, "trajectories").iterdir() if path.is_dir()]
        found += [(case, RECORDED) for case in cases(sorted(folders))]
    return found


def labelled(given: Iterable[tuple[Case, float]]) -> list[Labelled]:
    """Return all that is seen in some runs."""
    return [row for case, weight in given for row in case.labelled(weight)]


def score() -> None:
    """Print how runs come out by points of the others."""
    every = everything()
    sources = sorted({case.source for case, _ in every})
    fold = {source: number % FOLDS for number, source in enumerate(sources)}
    count: Counter[str] = Counter()
    for number in range(FOLDS):
        start, points = at_odds(labelled(one for one in every if fold[one[0].source] != number))
        count += verdicts((case for case, _ in every if fold[case.source] == number), start, points)
    print(dict(count))


def at_odds(given: Sequence[Labelled]) -> tuple[float, Points]:
    """Return what is fitted, so that above 0 a loop is told."""
    start, points = fitted(given)
    return start - math.log(ODDS), points


def as_source(start: float, points: Points) -> str:
    """Return the points as they stand in the detector."""
    lines = [
        f"START = {start:.2f}",
        '"""Where the sum begins."""',
        "POINTS: Mapping[str, Sequence[tuple[float, float]]] = {",
    ]
    for fact, steps in points.items():
        if fact == "things":
            continue  # which explain work to the fit; the detector leaves lists to the rules
        lines.append(f'    "{fact}": (')
        lines += [f"        ({least:g}, {added:.2f})," for least, added in steps]
        lines.append("    ),")
    return "\n".join([*lines, "}"]) + "\n"


def main() -> None:
    """Fit, or score what the fit is worth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["fit", "score"])
    parser.add_argument("--write", action="store_true", help="write the points into the detector")
    options = parser.parse_args()
    if options.command == "score":
        score()
        return
    source = as_source(*at_odds(labelled(everything())))
    print(source)
    if options.write:
        path = Path(evidence.__file__)
        pattern = re.compile(r"^START = .*?^(?=\"\"\"By fact)", re.DOTALL | re.MULTILINE)
        path.write_text(pattern.sub(lambda _: source, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
