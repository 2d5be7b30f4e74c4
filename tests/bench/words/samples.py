"""Intervals and tests for small paired samples."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

import attrs

K = TypeVar("K", bound=Hashable)
Z = 1.959964
DRAWS = 5000


def wilson(successes: float, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson for a share.

    Args:
        successes: between 0 and `trials`; a moment that was asked twice may count half.
        trials: at least 1.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"no share: {successes} of {trials}")
    share, square = successes / trials, Z * Z
    centre = share + square / (2 * trials)
    half = Z * math.sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    whole = 1 + square / trials
    return max(0.0, (centre - half) / whole), min(1.0, (centre + half) / whole)


@attrs.frozen
class SignTest:
    """How often one side was better, and how likely so uneven a split is by chance.

    Args:
        better: pairs in which the first is greater.
        worse: pairs in which it is smaller.
        equal: pairs without a difference; they don't count.
    """

    better: int
    worse: int
    equal: int = 0

    @property
    def p(self) -> float:
        """The exact two-sided chance."""
        pairs = self.better + self.worse
        if not pairs:
            return 1.0
        tail = sum(math.comb(pairs, n) for n in range(min(self.better, self.worse) + 1))
        return min(1.0, 2 * tail / 2.0**pairs)


def sign_test(one: Mapping[K, float], other: Mapping[K, float]) -> SignTest:
    """Compare two arms on the keys that both have."""
    shared = one.keys() & other.keys()
    better = sum(one[key] > other[key] for key in shared)
    worse = sum(one[key] < other[key] for key in shared)
    return SignTest(better, worse, len(shared) - better - worse)


def difference(one: Mapping[K, float], other: Mapping[K, float]) -> tuple[float, float, float]:
    """Return the mean difference on shared keys with its 95 % bootstrap interval.

    Keys are drawn anew 5,000 times, always in the same way.
    """
    shared = sorted(one.keys() & other.keys(), key=str)
    if not shared:
        raise ValueError("no key is shared")
    gaps = [one[key] - other[key] for key in shared]
    draw = random.Random(0)
    drawn = sorted(math.fsum(draw.choices(gaps, k=len(gaps))) / len(gaps) for _ in range(DRAWS))
    tail = DRAWS // 40
    return math.fsum(gaps) / len(gaps), drawn[tail], drawn[-tail - 1]


def means(values: Iterable[tuple[K, float]]) -> dict[K, float]:
    """Return the mean of the values of each key."""
    sums: dict[K, list[float]] = defaultdict(list)
    for key, value in values:
        sums[key].append(value)
    return {key: math.fsum(found) / len(found) for key, found in sums.items()}
