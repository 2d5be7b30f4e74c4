"""What is expected of recorded runs, what came of them, and rates with intervals. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import sqrt
from statistics import median
from typing import Any

import attrs

from trimtab.text import plural, shorten
from trimtab_replay._results import Decision, Replayed

EARLIEST, LATEST = -2, 3
"""Where, in calls from the one with which a loop is evident, a first nudge is a hit."""
_REASON_TEXT = 100


class Verdict(StrEnum):
    """How one run came out."""

    HIT = "hit"
    LATE = "late"
    EARLY = "early"
    MISSED = "missed"
    QUIET = "quiet"
    FALSE_ALARM = "false alarm"

    @property
    def right(self) -> bool:
        return self in (Verdict.HIT, Verdict.QUIET)


@attrs.frozen(kw_only=True)
class Judged:
    """One scored run.

    Args:
        about: the provider that it is scored for.
        expected: whether it must speak.
        due: the call (cases: the item) by which, or (labels) with which; None for any time.
        first: the call after which it first spoke; None if it never did.
        reason: why it is not right; empty if it is.
    """

    id: str
    path: str
    about: str
    expected: bool
    verdict: Verdict
    due: int | None = None
    first: int | None = None
    reason: str = ""

    @property
    def delay(self) -> int | None:
        """Calls from when it was due to when it spoke; None if one is unknown."""
        return None if self.due is None or self.first is None else self.first - self.due


@attrs.frozen(kw_only=True)
class Label:
    """What a careful reader said of one recorded run.

    Args:
        path: the file, below the folder of the runs.
        id: the run in it.
        loop: whether it holds a loop.
        evident_at: 0-based index of the call with which the loop is evident.
        confidence: ``"borderline"`` is left out of the scores.
    """

    path: str
    id: str
    loop: bool
    evident_at: int | None = None
    confidence: str = ""


def judge_case(replayed: Replayed, about: str, speakers: Collection[str]) -> Judged:
    """Hold a replayed case against the verdict in its `meta`."""
    case = replayed.meta
    spoken = [decision for decision in replayed.decisions if decision.provider in speakers]
    expected = case.get("expected") == "fire"
    due = _index(case.get("at"))
    verdict, reason = _case_verdict(case, spoken, due) if expected else _silence(spoken)
    return Judged(
        id=replayed.id,
        path=replayed.path,
        about=about,
        expected=expected,
        verdict=verdict,
        due=due if expected else None,
        first=spoken[0].call if spoken else None,
        reason=reason,
    )


def _silence(spoken: Sequence[Decision]) -> tuple[Verdict, str]:
    if not spoken:
        return Verdict.QUIET, ""
    return Verdict.FALSE_ALARM, f"spoke {_told(spoken)}"


def _case_verdict(
    case: Mapping[str, Any], spoken: Sequence[Decision], due: int | None
) -> tuple[Verdict, str]:
    if not spoken:
        return Verdict.MISSED, "never spoke" + ("" if due is None else f", due by item {due}")
    if due is not None and spoken[0].call > due:
        return Verdict.LATE, f"due by item {due}, spoke {_told(spoken)}"
    for number, limit in enumerate(_repeats(case), 2):
        if sum(decision.call <= limit for decision in spoken) < number:
            return Verdict.LATE, f"due again by item {limit}, spoke {_told(spoken)}"
    return _counted(case, spoken)


def _repeats(case: Mapping[str, Any]) -> Iterator[int]:
    again = case.get("also_fire_by")
    wanted = [case.get("refire_by"), *(again if isinstance(again, list) else [again])]
    yield from sorted(limit for value in wanted if (limit := _index(value)) is not None)


def _counted(case: Mapping[str, Any], spoken: Sequence[Decision]) -> tuple[Verdict, str]:
    exact = _index(case.get("expect_count"))
    limits = [_index(case.get(key)) for key in ("expect_count", "max_fires", "max_blocks")]
    most = min((limit for limit in limits if limit is not None), default=len(spoken))
    if len(spoken) > most:
        return Verdict.FALSE_ALARM, f"{plural(len(spoken), 'nudge')}, at most {most} allowed"
    if exact is not None and len(spoken) < exact:
        return Verdict.MISSED, f"{plural(len(spoken), 'nudge')}, {exact} expected"
    return Verdict.HIT, ""


def judge_label(replayed: Replayed, label: Label, about: str) -> Judged:
    """Hold a replayed run against its label; the first nudge of `about` counts."""
    spoken = [decision for decision in replayed.decisions if decision.provider == about]
    verdict, reason = _label_verdict(label, spoken) if label.loop else _silence(spoken)
    return Judged(
        id=label.id,
        path=label.path,
        about=about,
        expected=label.loop,
        verdict=verdict,
        due=label.evident_at if label.loop else None,
        first=spoken[0].call if spoken else None,
        reason=reason,
    )


def _label_verdict(label: Label, spoken: Sequence[Decision]) -> tuple[Verdict, str]:
    evident = label.evident_at
    if not spoken:
        return Verdict.MISSED, f"never spoke, evident at call {evident}"
    if evident is None:
        return Verdict.HIT, ""
    off = spoken[0].call - evident
    if EARLIEST <= off <= LATEST:
        return Verdict.HIT, ""
    verdict = Verdict.EARLY if off < EARLIEST else Verdict.LATE
    return verdict, f"evident at call {evident}, spoke {_told(spoken)}"


def _told(spoken: Sequence[Decision]) -> str:
    first = spoken[0]
    why = shorten(first.reason or first.text, _REASON_TEXT)
    calls = ", ".join(str(decision.call) for decision in spoken[:4])
    return f"after {calls}{', …' if len(spoken) > 4 else ''} ({first.provider}: {why})"


def _index(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


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


def wilson(hits: int, of: int, z: float = _Z, design: float = 1.0) -> Rate | None:
    """Return the share `hits` of `of`; None if there is nothing to share.

    Args:
        hits: how often it happened.
        of: in how many runs.
        z: how many standard errors the interval reaches to each side.
        design: by how much fewer independent runs would tell the same.
    """
    if not of:
        return None
    share, square, told = hits / of, z * z, of / design
    centre = (share + square / (2 * told)) / (1 + square / told)
    half = z / (1 + square / told) * sqrt(share * (1 - share) / told + square / (4 * told**2))
    return Rate(share, min(max(0.0, centre - half), share), max(min(1.0, centre + half), share))


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
    """How one provider, or several taken together, came out."""

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
