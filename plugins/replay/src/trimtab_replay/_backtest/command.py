"""``trimtab backtest``, with its gate for continuous integration and its sweeps of one option."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from trimtab.inspection import did_you_mean, others_to_stderr, output, quoted_list, say
from trimtab_replay._backtest import RATES, Scores
from trimtab_replay._backtest.output import (
    as_document,
    changes,
    merged,
    read_part,
    scores_json,
    show_comparison,
    show_part,
    show_sweep,
)
from trimtab_replay._backtest.scoring import Exam, Part, sit
from trimtab_replay._commands import (
    add_jobs,
    add_selection,
    assignment,
    complain,
    report_stats,
    selection_of,
)
from trimtab_replay._file import ReadStats
from trimtab_replay._recording import ReplayError
from trimtab_replay._selection import Selection, SelectionError, configured
from trimtab_replay._timeline import Progress, Screen


@attrs.frozen
class Gate:
    """A rate that must not be below a limit."""

    rate: str
    limit: float = attrs.field(validator=[attrs.validators.ge(0.0), attrs.validators.le(1.0)])
    about: str = ""

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read ``RATE=LIMIT`` or ``PROVIDER.RATE=LIMIT``."""
        target, _, limit = text.partition("=")
        about, _, rate = target.strip().rpartition(".")
        if rate not in RATES:
            raise ReplayError(
                f"no rate {rate!r}.{did_you_mean(rate, RATES)} Rates: {quoted_list(RATES)}."
            )
        try:
            return cls(rate, float(limit), about)
        except ValueError as error:
            raise ReplayError(f"{text!r} is not of the form {rate}=0.9, from 0 to 1") from error

    def check(self, scores: Sequence[Scores]) -> str:
        """Return what is wrong, empty if the gate is passed."""
        named = {one.about: one for one in scores}
        if not scores:
            raise ReplayError("nothing was scored, so there is nothing to hold against a limit")
        if self.about and self.about not in named:
            raise ReplayError(f"no scores of {self.about!r}. Scored: {quoted_list(named)}.")
        found = named[self.about] if self.about else scores[-1]
        rate = getattr(found, self.rate)
        if rate is None:
            return f"{self.rate} of {found.about} is unknown: no runs to tell it from"
        if rate.value >= self.limit:
            return ""
        return f"{self.rate} of {found.about} is {rate.value:.3f}, below {self.limit:g}"


_RANGE = re.compile(r"\s*(-?\d+)\.\.(-?\d+)\s*")
_MOST = 100


@attrs.frozen
class Sweep:
    """One option of one provider, and the values to try."""

    provider: str
    option: str
    values: tuple[Any, ...]

    @classmethod
    def parse(cls, text: str) -> Sweep:
        """Read ``NAME.OPTION=2..5`` (both ends included) or ``NAME.OPTION=0.5,0.7,0.9``."""
        target, _, values = text.partition("=")
        span = _RANGE.fullmatch(values)
        if span:
            low, high = map(int, span.groups())
            tried: tuple[Any, ...] = tuple(range(low, min(high, low + _MOST) + 1))
        else:
            tried = tuple(assignment(f"{target}=[{values}]")[2])
        if not 1 <= len(tried) <= _MOST:
            raise ReplayError(f"{text!r} has {len(tried)} values; 1 to {_MOST} are tried")
        provider, option, _ = assignment(f"{target}=0")
        return cls(provider, option, tried)


MERGE = "merge"
_ABOUT = """Score providers on labelled runs: a file of cases with verdicts of their own, or a
file of labels (JSON lines with path, id, loop, evident_at, confidence). `trimtab backtest merge
PART...` puts the results of several shards together."""


def register(parser: argparse.ArgumentParser) -> None:
    """Score providers on labelled runs: right, missed, false alarms."""
    parser.description = _ABOUT
    parser.add_argument("paths", metavar="FILE", nargs="+", help="cases, or labels")
    add_selection(parser)
    _add_ways(parser)
    parser.add_argument("--runs", metavar="FOLDER", default="", help="folder of the labelled runs")
    parser.add_argument(
        "--provider",
        metavar="NAME",
        default="doom-loop",
        help="the provider that the labels are about",
    )
    add_jobs(parser)
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_backtest)


def _add_ways(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shard", metavar="I/N", type=_shard, default=(0, 1), help="run only part I of N parts"
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--compare", metavar=("A", "B"), nargs=2, help="compare two configurations")
    group.add_argument("--sweep", metavar="NAME.OPTION=2..5", help="try values of one option")
    _add_gates(group)


def _add_gates(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--fail-under",
        metavar="RATE=LIMIT",
        action="append",
        default=[],
        help="exit with status 1 if a rate is below a limit, e.g. balanced_accuracy=0.9",
    )


def _shard(text: str) -> tuple[int, int]:
    place, _, of = text.partition("/")
    if not (place.isdecimal() and of.isdecimal() and 1 <= int(place) <= int(of)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a part such as 1/4")
    return int(place) - 1, int(of)


@others_to_stderr()
def run_backtest(options: argparse.Namespace) -> int:
    """Score what the arguments name; 1 where something was not read or a gate failed."""
    gates = [Gate.parse(text) for text in options.fail_under]
    if options.paths[0] == MERGE:
        part = merged({path: read_part(path) for path in options.paths[1:]})
        return _finish(part, gates, ReadStats(runs=1), as_json=options.json)
    exam = Exam(
        paths=tuple(options.paths),
        runs=options.runs,
        provider=options.provider,
        shard=options.shard,
        jobs=options.jobs,
    )
    stats = ReadStats()
    taken = _taker(exam, stats)
    if options.compare:
        return _compare(options, taken, stats)
    if options.sweep:
        return _sweep(options, taken, stats)
    part = taken(selection_of(options, default_all=True))
    return _finish(part, gates, stats, as_json=options.json)


Scorer = Callable[[Selection], Part]


def _taker(exam: Exam, stats: ReadStats) -> Scorer:
    progress = Progress()

    def taken(selection: Selection) -> Part:
        part = sit(exam, selection, stats, after_file=progress.files, warn=complain)
        progress.clear()
        return part

    return taken


def _finish(part: Part, gates: Sequence[Gate], stats: ReadStats, *, as_json: bool) -> int:
    if as_json:
        _write(as_document(part))
    else:
        show_part(part, Screen.of(output()))
    wrong = [line for gate in gates if (line := gate.check(part.scores))]
    for line in wrong:
        complain(line)
    return report_stats(stats) or int(bool(wrong))


def _compare(options: argparse.Namespace, taken: Scorer, stats: ReadStats) -> int:
    if options.enable or options.all or options.config or options.options:
        raise SelectionError(
            "--compare names the configurations; leave out --enable, --all, --config, --set"
        )
    parts = [(path, taken(configured(path, options.prompt or ""))) for path in options.compare]
    if options.json:
        changed = [
            {"id": new.id, "path": new.path, "about": new.about, "before": old.verdict.value,
             "after": new.verdict.value, "first_before": old.first, "first_after": new.first}
            for old, new in changes(parts[0][1], parts[1][1])
        ]  # fmt: skip
        documents = [{"config": path, **as_document(part)} for path, part in parts]
        _write({"compare": documents, "changed": changed})
    else:
        show_comparison(parts, Screen.of(output()))
    return report_stats(stats)


def _sweep(options: argparse.Namespace, taken: Scorer, stats: ReadStats) -> int:
    sweep = Sweep.parse(options.sweep)
    base = selection_of(options, default_all=True)
    tried = [
        (each, taken(base.with_option(sweep.provider, sweep.option, each))) for each in sweep.values
    ]
    name = f"{sweep.provider}.{sweep.option}"
    if options.json:
        results = [{"value": value, "scores": scores_json(part.scores)} for value, part in tried]
        _write({"sweep": name, "results": results})
    else:
        show_sweep(name, tried, Screen.of(output()))
    return report_stats(stats)


def _write(document: dict[str, Any]) -> None:
    say(json.dumps(document, indent=1, default=str))
