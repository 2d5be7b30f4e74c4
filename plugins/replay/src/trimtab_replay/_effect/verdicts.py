"""Whether two shares differ, and the sentence that says so."""

from __future__ import annotations

from enum import Enum
from math import ceil, sqrt
from statistics import NormalDist

import attrs

from trimtab import plural
from trimtab_replay._effect.measures import Comparison, Measure

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

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return Wilson's interval."""
        if not self.of:
            return 0.0, 1.0
        z = _z(confidence)
        middle = self.rate + z * z / (2 * self.of)
        spread = z * sqrt(self.rate * (1 - self.rate) / self.of + z * z / (4 * self.of**2))
        scale = 1 + z * z / self.of
        low, high = (middle - spread) / scale, (middle + spread) / scale
        return min(max(0.0, low), self.rate), max(min(1.0, high), self.rate)

    def __str__(self) -> str:
        return f"{self.count} of {self.of} ({self.rate:.0%})" if self.of else "none known"


@attrs.frozen
class Difference:
    """How much more often something happened in nudged than in held-out runs.

    Args:
        confidence: of the interval, wide enough for all comparisons that are made at once.
    """

    measure: Measure
    nudged: Share
    held_out: Share
    confidence: float

    @property
    def value(self) -> float:
        """Nudged minus held out, from −1.0 to 1.0."""
        return self.nudged.rate - self.held_out.rate

    @property
    def interval(self) -> tuple[float, float]:
        """Newcombe's interval for the difference of two independent shares."""
        low, high = self.nudged.interval(self.confidence)
        other_low, other_high = self.held_out.interval(self.confidence)
        down = sqrt((self.nudged.rate - low) ** 2 + (other_high - self.held_out.rate) ** 2)
        up = sqrt((high - self.nudged.rate) ** 2 + (self.held_out.rate - other_low) ** 2)
        return self.value - down, self.value + up

    @property
    def verdict(self) -> Verdict:
        """What it shows."""
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
        z = _z(self.confidence) + NormalDist().inv_cdf(_POWER)
        return ceil(2 * share * (1 - share) * (z / RELEVANT) ** 2)


def _z(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)


@attrs.frozen
class Effect:
    """What one provider's nudges do.

    Args:
        differences: one for each measure.
    """

    comparison: Comparison
    differences: tuple[Difference, ...]

    def of(self, measure: Measure) -> Difference:
        """Return the difference in `measure`."""
        return next(each for each in self.differences if each.measure is measure)

    @property
    def verdict(self) -> Verdict:
        """Harm in a decisive measure outweighs help in another."""
        verdicts = [self.of(measure).verdict for measure in DECISIVE]
        for verdict in (Verdict.HARMS, Verdict.HELPS):
            if verdict in verdicts:
                return verdict
        return verdicts[0]


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
    return Difference(measure, nudged, held_out, confidence)


def sentence(effect: Effect, turns: int) -> str:
    """Say in one or two plain sentences what the record shows about a provider."""
    comparison, name = effect.comparison, effect.comparison.provider
    if not comparison.held_out:
        count = len(comparison.nudged)
        return (
            f"{name}: {_all_of(count)} in which it spoke {_was(count)} nudged, so there is nothing "
            f"to compare. Set holdout = 0.5 for it and record more runs."
        )
    if not comparison.nudged:
        count = len(comparison.held_out)
        return (
            f"{name}: {_none_of(count)} nudged (shadow mode or holdout = 1), so there "
            f"is nothing to compare. Set holdout = 0.5 for it and record more runs."
        )
    return f"{name}: {_verdict_sentence(effect)} {_facts(effect, turns)}"


def _all_of(count: int) -> str:
    return "the only run" if count == 1 else f"all {count:,} runs"


def _none_of(count: int) -> str:
    return "the only run was not" if count == 1 else f"none of the {count:,} runs was"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _verdict_sentence(effect: Effect) -> str:
    progress = effect.of(Measure.PROGRESS)
    verdict = effect.verdict
    if verdict is Verdict.HARMS:
        worse = next(m for m in DECISIVE if effect.of(m).verdict is Verdict.HARMS)
        return f"its nudges do harm ({worse.words})."
    if verdict is Verdict.HELPS:
        better = next(m for m in DECISIVE if effect.of(m).verdict is Verdict.HELPS)
        return f"its nudges help ({better.words})."
    if verdict is Verdict.NO_DIFFERENCE:
        return f"any difference that its nudges make is below {RELEVANT:.0%}."
    if verdict is Verdict.TOO_LITTLE:
        return (
            f"too few runs to tell. At least {FEWEST} of each kind are needed, and about "
            f"{progress.needed} to show a difference of {RELEVANT:.0%}."
        )
    return (
        f"no effect is shown, and none is excluded. About {progress.needed} runs of each kind "
        f"would show a difference of {RELEVANT:.0%}."
    )


def _facts(effect: Effect, turns: int) -> str:
    decisive = [m for m in DECISIVE if effect.of(m).verdict is effect.verdict] or [DECISIVE[0]]
    shown = effect.of(decisive[0])
    low, high = shown.interval
    within = f" within {plural(turns, 'turn')}" if shown.measure is Measure.PROGRESS else ""
    name = shown.measure.words[:1].upper() + shown.measure.words[1:]
    return (
        f"{name}{within}: {shown.nudged} nudged, {shown.held_out} held out, "
        f"difference {100 * shown.value:+.0f} points "
        f"(interval {100 * low:+.0f} to {100 * high:+.0f})."
    )
