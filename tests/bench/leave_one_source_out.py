"""Scores the fitted numbers on sources that they were not fitted on.

Each number of the rules is refitted on all sources but one (its neighbours are tried, one number
at a time), and the source left out is scored with what was found. Run it as
`python tests/backtest/leave_one_source_out.py [FILE ...]`; more files are more sources.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from trimtab._cli import main as trimtab

DATA = Path(__file__).parents[1] / "data"
SOURCES = [DATA / f"{name}.jsonl" for name in ("cases", "shapes", "variants")] + [
    DATA / f"{name}.jsonl" for name in ("reports-3", "reports-4", "variations-4")
]
NUMBERS = {
    "trimtab_doom_loop._stagnation": (
        "_MORE_FOR_ERROR",
        "_MORE_FOR_NUMBERS",
        "_MORE_FOR_NOTHING",
        "_MORE_FOR_ALIKE",
        "_MORE_FOR_CONTENT",
    ),
    "trimtab_doom_loop._effects": (
        "_MORE_FOR_CONTENT",
        "_MORE_FOR_SUBJECT",
        "_MORE_FOR_CHANGES",
    ),
    "trimtab_diagnostic_signal._provider": ("_MORE_IF_DIFFERENT",),
}
TOLD, RIGHT = ("hit", "late", "missed", "early"), ("hit", "quiet")
Place = tuple[str, str, int]
Verdicts = dict[tuple[str, str], str]


def verdicts(sources: list[Path]) -> Verdicts:
    """Return how each case of `sources` comes out, by source and id."""
    found = {}
    for source in sources:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            trimtab(["backtest", str(source), "--jobs", "1", "--json"])
        for run in json.loads(out.getvalue())["runs"]:
            if run["about"] in ("doom-loop", "diagnostic-signal"):
                found[source.name, run["id"]] = run["verdict"]
    return found


def score(found: Verdicts, names: set[str]) -> float:
    """Return the balanced accuracy over the sources `names`."""
    told = [v in RIGHT for (name, _), v in found.items() if name in names and v in TOLD]
    quiet = [v in RIGHT for (name, _), v in found.items() if name in names and v not in TOLD]
    rates = [sum(kind) / len(kind) for kind in (told, quiet) if kind]
    return sum(rates) / len(rates)


def neighbours() -> Iterator[Place]:
    """Yield each number with the values next to it."""
    for module, names in NUMBERS.items():
        for name in names:
            value = getattr(import_module(module), name)
            yield from ((module, name, other) for other in (value - 1, value + 1) if other >= 0)


def with_number(place: Place, sources: list[Path]) -> Verdicts:
    """Return the verdicts with one number changed."""
    module = import_module(place[0])
    before = getattr(module, place[1])
    setattr(module, place[1], place[2])
    try:
        return verdicts(sources)
    finally:
        setattr(module, place[1], before)


def main(sources: list[Path]) -> None:
    """Print, for every source, what was refitted without it and its score then."""
    present = verdicts(sources)
    others = {place: with_number(place, sources) for place in neighbours()}
    names = {source.name for source in sources}
    for left_out in sorted(names):
        rest = names - {left_out}
        chosen = max(others, key=lambda place: score(others[place], rest))
        better = score(others[chosen], rest) > score(present, rest)
        fitted = others[chosen] if better else present
        said = "{1} = {2}".format(*chosen) if better else "no number changes"
        now, then = score(present, {left_out}), score(fitted, {left_out})
        print(f"{left_out:24} as it is {now:.3f}, fitted without it {then:.3f} ({said})")
    for place, found in others.items():
        print(f"  {place[1]} = {place[2]} ({place[0]}): {score(found, names):.3f} over all")


if __name__ == "__main__":
    main(SOURCES + [Path(argument) for argument in sys.argv[1:]])
