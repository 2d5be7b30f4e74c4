"""From verdicts to rates with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import sqrt
from statistics import median

import attrs

from trimtab_replay._backtest.verdicts import Judged, Verdict

_Z = 1.959964  # 95 %, two-sided


@attrs.frozen
class Rate:
    """A share with its 95 % interval.

    Args:
        value: 0.0–1.0.
        low, high: the interval: Wilson's for a share; for the mean of two shares the one that
            follows from theirs (Newcombe's square-and-add).
    """

    value: float
    low: float
    high: float


def wilson(hits: int, of: int) -> Rate | None:
    """Return the share `hits` of `of`; None if there is nothing to share."""
    if not of:
        return None
    share, square = hits / of, _Z * _Z
    centre = (share + square / (2 * of)) / (1 + square / of)
    half = _Z / (1 + square / of) * sqrt(share * (1 - share) / of + square / (4 * of * of))
    return Rate(share, max(0.0, centre - half), min(1.0, centre + half))


def mean_of(rates: Iterable[Rate | None]) -> Rate | None:
    """Return the mean of the shares that are not None; None if all are."""
    known = [rate for rate in rates if rate is not None]
    if not known:
        return None
    value = sum(rate.value for rate in known) / len(known)
    down = sqrt(sum((rate.value - rate.low) ** 2 for rate in known)) / len(known)
    up = sqrt(sum((rate.high - rate.value) ** 2 for rate in known)) / len(known)
    return Rate(value, max(0.0, value - down), min(1.0, value + up))


@attrs.frozen
class Scores:
    """How one provider, or several taken together, came out.

    Args:
        about: its name, or the names.
        counts: runs by verdict.
        delay: median of the calls from when it was due to when it spoke.
    """

    about: str
    counts: Mapping[Verdict, int]
    fire: int
    silent: int
    delay: float | None = None

    @property
    def runs(self) -> int:
        return self.fire + self.silent

    @property
    def precision(self) -> Rate | None:
        """Of the runs in which it spoke, the share in which it was right."""
        return wilson(self.counts[Verdict.HIT], self._spoke)

    @property
    def recall(self) -> Rate | None:
        """Of the runs in which it must speak, the share in which it did so in time."""
        return wilson(self.counts[Verdict.HIT], self.fire)

    @property
    def specificity(self) -> Rate | None:
        """Of the runs in which it must be silent, the share in which it was."""
        return wilson(self.counts[Verdict.QUIET], self.silent)

    @property
    def balanced_accuracy(self) -> Rate | None:
        """The mean of recall and specificity; one of them where the other has no runs."""
        return mean_of((self.recall, self.specificity))

    @property
    def _spoke(self) -> int:
        return self.runs - self.counts[Verdict.QUIET] - self.counts[Verdict.MISSED]


RATES = ("precision", "recall", "specificity", "balanced_accuracy")


def score(about: str, judged: Iterable[Judged]) -> Scores:
    """Add up verdicts."""
    rows = list(judged)
    counts = Counter(row.verdict for row in rows)
    fire = sum(row.expected for row in rows)
    delays = [row.delay for row in rows if row.delay is not None]
    return Scores(
        about,
        {verdict: counts[verdict] for verdict in Verdict},
        fire,
        len(rows) - fire,
        median(delays) if delays else None,
    )


TOGETHER = (("doom-loop", "diagnostic-signal"),)
"""Providers about the same problem: in the cases about one, the other may speak as well."""
ALL = "all"


def score_all(judged: Iterable[Judged]) -> list[Scores]:
    """Score provider by provider, those of `TOGETHER` together as well, and all."""
    rows = list(judged)
    names = list(dict.fromkeys(row.about for row in rows))
    found = [score(name, (row for row in rows if row.about == name)) for name in names]
    found += [
        score(" + ".join(group), (row for row in rows if row.about in group))
        for group in TOGETHER
        if len(set(group) & set(names)) > 1
    ]
    if len(names) > 1:
        found.append(score(ALL, rows))
    return found
