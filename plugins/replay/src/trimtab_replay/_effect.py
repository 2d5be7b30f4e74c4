"""``trimtab effect``: whether nudges help, measured on a user's own record."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from enum import Enum
from math import ceil, log, sqrt
from statistics import NormalDist
from typing import Any

import attrs

from trimtab.inspection import say
from trimtab.text import plural, sanitize
from trimtab_replay._backtest import wilson
from trimtab_replay._commands import complain, count, report_skipped
from trimtab_replay._effect_measures import TURNS, Comparing, Comparison, Measure, Records
from trimtab_replay._local_sessions import own_journals
from trimtab_replay._timeline import Progress, Screen, wrap

CONFIDENCE = 0.95
FEWEST = 10
"""Runs that each arm must have before anything is said about them."""

RELEVANT = 0.2
"""A difference that would matter; smaller ones count as none once they can be excluded."""

_POWER = 0.8
DECISIVE = (Measure.PROGRESS, Measure.COMPLETED)
"""What decides whether a provider helps or harms; the rest is shown."""


class Verdict(Enum):
    """What a comparison shows; the value is its name in JSON."""

    HELPS = "helps"
    HARMS = "harms"
    NO_DIFFERENCE = "no difference"
    UNCLEAR = "unclear"
    TOO_LITTLE = "too little"


@attrs.frozen
class Share:
    """In how many of how many runs something happened."""

    count: int
    of: int

    @property
    def rate(self) -> float:
        """The share, from 0.0 to 1.0; 0.0 of no runs."""
        return self.count / self.of if self.of else 0.0

    def interval(self, z: float, design: float = 1.0) -> tuple[float, float]:
        """Return Wilson's interval."""
        found = wilson(self.count, self.of, z, design)
        return (found.low, found.high) if found is not None else (0.0, 1.0)

    def __str__(self) -> str:
        return f"{self.count} of {self.of} ({self.rate:.0%})" if self.of else "none known"


@attrs.frozen
class Difference:
    """How much more often something happened in nudged than in held-out runs.

    Args:
        confidence: of the interval, wide enough for all comparisons that are made at once.
        design: the design effect of tasks; 1.0 where runs are independent of each other.
    """

    measure: Measure
    nudged: Share
    held_out: Share
    confidence: float
    design: float = 1.0

    @property
    def value(self) -> float:
        """Nudged minus held out, from −1.0 to 1.0."""
        return self.nudged.rate - self.held_out.rate

    @property
    def interval(self) -> tuple[float, float]:
        """Newcombe's interval for the difference of two shares, valid at each of many looks."""
        total = self.nudged.of + self.held_out.of
        per_arm = 2 * self.nudged.of * self.held_out.of / total if total else 0.0
        z = _z_at_any_time(self.confidence, per_arm / self.design)
        low, high = self.nudged.interval(z, self.design)
        other_low, other_high = self.held_out.interval(z, self.design)
        down = sqrt((self.nudged.rate - low) ** 2 + (other_high - self.held_out.rate) ** 2)
        up = sqrt((high - self.nudged.rate) ** 2 + (self.held_out.rate - other_low) ** 2)
        return self.value - down, self.value + up

    @property
    def verdict(self) -> Verdict:
        if min(self.nudged.of, self.held_out.of) < FEWEST:
            return Verdict.TOO_LITTLE
        low, high = self.interval
        if low > 0 or high < 0:
            return Verdict.HELPS if (low > 0) == self.measure.is_good else Verdict.HARMS
        is_narrow = low > -RELEVANT and high < RELEVANT
        return Verdict.NO_DIFFERENCE if is_narrow else Verdict.UNCLEAR

    @property
    def needed(self) -> int:
        """Runs in each arm that would show a relevant difference four times out of five."""
        known = self.nudged.of + self.held_out.of
        share = (self.nudged.count + self.held_out.count) / known if known else 0.5
        share = min(max(share, RELEVANT), 1 - RELEVANT)
        runs = 100.0
        for _ in range(8):  # how wide an interval is depends a little on the number of runs
            z = _z_at_any_time(self.confidence, runs) + NormalDist().inv_cdf(_POWER)
            runs = 2 * share * (1 - share) * (z / RELEVANT) ** 2
        return ceil(runs * self.design)


_NARROWEST = 0.08
"""Where intervals are narrowest, for the time that they hold at: near 100 runs of each kind."""


def _z_at_any_time(confidence: float, runs: float) -> float:
    """Return how many standard errors an interval needs that holds however often one looks.

    The mixture of Robbins, for shares that are nearly normal; Waudby-Smith and others,
    "Time-uniform central limit theory and asymptotic confidence sequences", give its proof.

    Args:
        confidence: that the true value lies in all intervals, of this and of every other look.
        runs: of each kind, at this look.
    """
    scaled = max(runs, 1.0) * _NARROWEST
    return sqrt(2 * (1 + 1 / scaled) * log(sqrt(scaled + 1) / (1 - confidence)))


def design_effect(nudged: list[tuple[str, bool]], held_out: list[tuple[str, bool]]) -> float:
    """Return by how much the variance grows because runs of one task are alike; 1.0 at least.

    That is the variance of the difference over tasks, divided by that of independent runs.
    """
    residuals: dict[str, float] = defaultdict(float)
    alone = 0.0
    for sign, arm in ((1, nudged), (-1, held_out)):
        if not arm:
            return 1.0
        rate = sum(value for _, value in arm) / len(arm)
        alone += rate * (1 - rate) / len(arm)
        for task, value in arm:
            residuals[task] += sign * (value - rate) / len(arm)
    tasks = len(residuals)
    if tasks < 2 or not alone:
        return 1.0
    together = tasks / (tasks - 1) * sum(residual**2 for residual in residuals.values())
    return max(1.0, together / alone)


@attrs.frozen
class Effect:
    """What one provider's nudges do."""

    comparison: Comparison
    differences: tuple[Difference, ...]

    def of(self, measure: Measure) -> Difference:
        return next(each for each in self.differences if each.measure is measure)

    @property
    def verdict(self) -> Verdict:
        """Harm in a decisive measure outweighs help in another."""
        verdicts = [each.verdict for each in self.known]
        for verdict in (Verdict.HARMS, Verdict.HELPS):
            if verdict in verdicts:
                return verdict
        if len(set(verdicts)) == 1:
            return verdicts[0]
        return Verdict.UNCLEAR if verdicts else Verdict.TOO_LITTLE

    @property
    def known(self) -> list[Difference]:
        """The decisive differences of which anything is known."""
        decisive = [self.of(measure) for measure in DECISIVE]
        return [each for each in decisive if each.nudged.of or each.held_out.of]

    @property
    def open(self) -> Difference:
        """The decisive difference that needs most runs until it is known."""
        undecided = [each for each in self.known if each.verdict is not Verdict.NO_DIFFERENCE]
        decisive = undecided or self.known or [self.of(DECISIVE[0])]
        return max(decisive, key=lambda each: each.needed)


def effects(comparisons: list[Comparison]) -> list[Effect]:
    """Judge each provider, at a confidence that holds for all of them together."""
    looks = max(1, len(DECISIVE) * len(comparisons))
    confidence = 1 - (1 - CONFIDENCE) / looks
    return [
        Effect(each, tuple(_difference(each, measure, confidence) for measure in Measure))
        for each in comparisons
    ]


def _difference(comparison: Comparison, measure: Measure, confidence: float) -> Difference:
    nudged = Share(*comparison.nudged.count(measure))
    held_out = Share(*comparison.held_out.count(measure))
    design = design_effect(comparison.nudged.by_task(measure), comparison.held_out.by_task(measure))
    return Difference(measure, nudged, held_out, confidence, design)


def sentence(effect: Effect, turns: int) -> str:
    """Say in one or two plain sentences what the record shows about a provider."""
    comparison, name = effect.comparison, effect.comparison.provider
    if not comparison.held_out:
        count = len(comparison.nudged)
        runs, were = ("the only run", "was") if count == 1 else (f"all {count:,} runs", "were")
        return (
            f"{name}: {runs} in which it spoke {were} nudged, so there is nothing to compare. "
            f"Set holdout = 0.5 for it and record more runs."
        )
    if not comparison.nudged:
        count = len(comparison.held_out)
        none = "the only run was not" if count == 1 else f"none of the {count:,} runs was"
        return (
            f"{name}: {none} nudged (shadow mode or holdout = 1), so there "
            f"is nothing to compare. Set holdout = 0.5 for it and record more runs."
        )
    return f"{name}: {_verdict_sentence(effect)} {_facts(effect, turns)}"


def _verdict_sentence(effect: Effect) -> str:
    undecided = effect.open
    verdict = effect.verdict
    if verdict is Verdict.HARMS:
        worse = next(m for m in DECISIVE if effect.of(m).verdict is Verdict.HARMS)
        return f"its nudges do harm ({worse.words})."
    if verdict is Verdict.HELPS:
        better = next(m for m in DECISIVE if effect.of(m).verdict is Verdict.HELPS)
        return f"its nudges help ({better.words})."
    if verdict is Verdict.NO_DIFFERENCE:
        about = " and in ".join(f"'{each.measure.words}'" for each in effect.known)
        unknown = [m.words for m in DECISIVE if not any(m is e.measure for e in effect.known)]
        rest = "".join(f" Nothing is known of '{words}'." for words in unknown)
        return f"any difference that its nudges make in {about} is below {RELEVANT:.0%}.{rest}"
    if verdict is Verdict.TOO_LITTLE:
        return (
            f"too few runs to tell. At least {FEWEST} of each kind are needed, and about "
            f"{undecided.needed} to show a difference of {RELEVANT:.0%}."
        )
    what = "a new answer" if undecided.measure is Measure.PROGRESS else "completion"
    return (
        f"no effect is shown, and none is excluded. About {undecided.needed} runs of each kind "
        f"in which it is known whether there was {what} would show a "
        f"difference of {RELEVANT:.0%}."
    )


def _facts(effect: Effect, turns: int) -> str:
    decided = [each for each in effect.known if each.verdict is effect.verdict]
    shown = decided[0] if decided else effect.open
    low, high = shown.interval
    within = f" within {plural(turns, 'turn')}" if shown.measure is Measure.PROGRESS else ""
    name = shown.measure.words[:1].upper() + shown.measure.words[1:]
    return (
        f"{name}{within}: {shown.nudged} nudged, {shown.held_out} held out, "
        f"difference {100 * shown.value:+.0f} points "
        f"(interval {100 * low:+.0f} to {100 * high:+.0f})."
    )


FORMAT = 1


def register(parser: argparse.ArgumentParser) -> None:
    """Compare nudged with held-out runs of your own record: do the nudges help?"""
    parser.description = (
        "Compare runs in which a provider's text reached the agent with runs in which it was held "
        "out (holdout or shadow mode): sessions, journals and traces that trimtab recorded."
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a recorded session, or a folder")
    parser.add_argument(
        "--turns",
        metavar="N",
        type=count,
        default=TURNS,
        help="turns after a nudge in which an effect counts",
    )
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_effect)


def run_effect(options: argparse.Namespace) -> int:
    """Compare what the arguments name; 1 if something was not read."""
    if not options.paths:
        options.paths = [str(own_journals())]
    records = Records()
    progress = Progress()
    comparing = Comparing(options.turns)
    for run in records.runs(options.paths):
        comparing.add(run)
        progress.items(comparing.runs, "runs")
    found, seen = effects(comparing.comparisons()), comparing.runs
    progress.clear()
    if options.json:
        say(json.dumps(as_document(found, comparing), indent=1))
    else:
        _show(found, comparing)
    if not found:
        complain(f"no provider spoke, or would have spoken, in {_runs(seen)}")
    return report_skipped(records.skipped, records.other_files)


def _runs(count: int) -> str:
    return plural(count, "recorded run")


def _show(found: list[Effect], comparing: Comparing) -> None:
    screen, turns, copies = Screen.of(sys.stdout), comparing.turns, comparing.copies
    screen.say(screen.paint(_runs(comparing.runs), "bold"))
    if copies:
        screen.say(f"{plural(copies, 'further record')} of the same runs not counted")
    for effect in found:
        screen.say()
        for line in wrap(sanitize(sentence(effect, turns), 1_000), screen.width):
            screen.say(line)
        if effect.comparison.nudged and effect.comparison.held_out:
            screen.say()
            screen.table(tuple(_rows(effect)))
    if found:
        screen.say()
        confidence = found[0].differences[0].confidence
        screen.say(
            f"Intervals: {confidence:.1%} each, 95% for all verdicts together, however often"
        )
        screen.say("you look. Runs of one task count as alike. Only a holdout chooses runs at")
        screen.say("random; other differences may have other causes.")


def _rows(effect: Effect) -> Any:
    yield "", "nudged", "held out", "difference", "interval"
    for each in effect.differences:
        low, high = each.interval
        is_known = bool(each.nudged.of and each.held_out.of)
        yield (
            each.measure.words,
            str(each.nudged),
            str(each.held_out),
            f"{100 * each.value:+.0f}" if is_known else "–",
            f"{100 * low:+.0f} to {100 * high:+.0f}" if is_known else "–",
        )
    nudged, held_out = effect.comparison.nudged, effect.comparison.held_out
    yield "calls to the end, median", _median(nudged), _median(held_out), "", ""


def _median(arm: Any) -> str:
    return "–" if arm.calls_to_end is None else f"{arm.calls_to_end:g}"


def as_document(found: list[Effect], comparing: Comparing) -> dict[str, Any]:
    """Return what ``--json`` writes (docs/reference/effect-json.md)."""
    return {
        "format": FORMAT,
        "runs": comparing.runs,
        "copies": comparing.copies,
        "turns": comparing.turns,
        "providers": [_effect_json(effect, comparing.turns) for effect in found],
    }


def _effect_json(effect: Effect, turns: int) -> dict[str, Any]:
    comparison: Comparison = effect.comparison
    return {
        "provider": comparison.provider,
        "verdict": effect.verdict.value,
        "message": sentence(effect, turns),
        "nudged_runs": len(comparison.nudged),
        "held_out_runs": len(comparison.held_out),
        "calls_to_end": {
            "nudged": comparison.nudged.calls_to_end,
            "held_out": comparison.held_out.calls_to_end,
        },
        "measures": {each.measure.value: _difference_json(each) for each in effect.differences},
    }


def _difference_json(difference: Difference) -> dict[str, Any]:
    is_known = bool(difference.nudged.of and difference.held_out.of)
    return {
        "nudged": [difference.nudged.count, difference.nudged.of],
        "held_out": [difference.held_out.count, difference.held_out.of],
        "difference": difference.value if is_known else None,
        "interval": list(difference.interval) if is_known else None,
        "confidence": difference.confidence,
        "design_effect": difference.design,
        "verdict": difference.verdict.value,
        "more_is_better": difference.measure.is_good,
    }
