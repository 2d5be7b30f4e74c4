"""Write the tables of one pass as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Any

from words.samples import difference, means, sign_test, wilson

Row = Mapping[str, Any]
MEASURES = {
    "progress": "progress",
    "other_tool": "another tool",
    "new": "a new call",
    "obeyed": "obeyed",
    "copied": "text copied",
    "given_up": "given up",
    "unreadable": "no valid call",
}
REFERENCES = ("none", "placebo", "shipped")
"""Each arm is compared with those of these that come before it."""


def report(rows: Sequence[Row]) -> str:
    """Return all tables."""
    if rows and rows[0].get("kind"):
        return kinds(rows)
    parts = []
    for due, title in ((True, "Guidance is due"), (False, "Nothing is due")):
        part = [row for row in rows if row["due"] is due]
        if part:
            parts += [f"### {title}", shares(part), comparisons(part), families(part)]
    return "\n\n".join(parts) + "\n"


def kinds(rows: Sequence[Row]) -> str:
    """Return how many next calls were right by arm and kind of way on, and how many did harm.

    A moment that was asked more than once counts by its mean.
    """
    names = list(dict.fromkeys(str(row["kind"]) for row in rows))
    lines = [_line("arm", *names, "harmful"), _line(*["---"] * (len(names) + 2))]
    for arm in _arms(rows):
        part = [row for row in rows if row["arm"] == arm]
        cells = []
        for name in names:
            found = _by([row for row in part if row["kind"] == name], "moment", "progress")
            if not found:
                cells.append("–")
                continue
            low, high = wilson(fsum(found.values()), len(found))
            right = f"{fsum(found.values()):g} of {len(found)}"
            cells.append(f"{right} [{_percent(low)}–{_percent(high)}]")
        lines.append(_line(arm, *cells, sum(bool(row["harmful"]) for row in part)))
    return "\n".join(lines) + "\n"


def shares(rows: Sequence[Row]) -> str:
    """Return the share of calls by arm and measure, with intervals over moments."""
    lines = [_line("arm", "moments", *MEASURES.values()), _line(*["---"] * (len(MEASURES) + 2))]
    for arm in _arms(rows):
        part = [row for row in rows if row["arm"] == arm]
        moments = len({row["moment"] for row in part})
        lines.append(_line(arm, moments, *(_share(part, name) for name in MEASURES)))
    return "\n".join(lines)


def _share(rows: Sequence[Row], measure: str) -> str:
    by_moment = _by(rows, "moment", measure)
    if not by_moment:
        return "–"
    successes, trials = fsum(by_moment.values()), len(by_moment)
    low, high = wilson(successes, trials)
    return f"{_percent(successes / trials)} [{_percent(low)}–{_percent(high)}]"


def comparisons(rows: Sequence[Row]) -> str:
    """Return paired sign tests on progress and on another tool, over moments and families."""
    head = [
        "arm",
        "against",
        "progress, moments",
        "progress, families",
        "another tool, families",
        "progress, points over families",
    ]
    lines = [_line(*head), _line(*["---"] * len(head))]
    arms = _arms(rows)
    for arm in arms:
        before = arms[: arms.index(arm)]
        for other in (name for name in REFERENCES if name in before):
            pair = (arm, other)
            tests = [
                _test(rows, pair, unit, measure)
                for unit, measure in (
                    ("moment", "progress"),
                    ("family", "progress"),
                    ("family", "other_tool"),
                )
            ]
            lines.append(_line(arm, other, *tests, _gap(rows, pair)))
    return "\n".join(lines)


def _test(rows: Sequence[Row], arms: tuple[str, str], unit: str, measure: str) -> str:
    test = sign_test(*_pair(rows, arms, unit, measure))
    return f"{test.better}:{test.worse} ({test.equal} equal), p = {test.p:.3f}"


def _gap(rows: Sequence[Row], arms: tuple[str, str]) -> str:
    mean, low, high = (
        f"{100 * value:+.0f}" for value in difference(*_pair(rows, arms, "family", "progress"))
    )
    return f"{mean} [{low}, {high}]"


def _pair(
    rows: Sequence[Row], arms: tuple[str, str], unit: str, measure: str
) -> tuple[dict[str, float], dict[str, float]]:
    one, other = (_by([row for row in rows if row["arm"] == arm], unit, measure) for arm in arms)
    return one, other


def families(rows: Sequence[Row]) -> str:
    """Return progress, or another tool where a world is not known, by family and arm."""
    arms = _arms(rows)
    lines = [_line("family", "moments", *arms), _line(*["---"] * (len(arms) + 2))]
    for family in dict.fromkeys(str(row["family"]) for row in rows):
        part = [row for row in rows if row["family"] == family]
        known = part[0]["progress"] is not None
        name = family if known else f"{family} (another tool)"
        cells = (_percent(_mean(part, arm, "progress" if known else "other_tool")) for arm in arms)
        lines.append(_line(name, len({row["moment"] for row in part}), *cells))
    return "\n".join(lines)


def _mean(rows: Sequence[Row], arm: str, measure: str) -> float:
    found = [float(row[measure]) for row in rows if row["arm"] == arm]
    return fsum(found) / len(found)


def _by(rows: Sequence[Row], unit: str, measure: str) -> dict[str, float]:
    """Return the mean by moment or family; a family is the mean of its moments."""
    told = [row for row in rows if row[measure] is not None]
    by_moment = means(((row["family"], row["moment"]), float(row[measure])) for row in told)
    if unit == "moment":
        return {moment: value for (_, moment), value in by_moment.items()}
    return means((family, value) for (family, _), value in by_moment.items())


def _arms(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["arm"]) for row in rows))


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def episodes(rows: Sequence[Row]) -> str:
    """Return what became of whole episodes, by kind and arm."""
    head = ("arm", "episodes", "solved", "given up", "calls to success", "calls wasted", "progress")
    parts = []
    for due, title in ((True, "From a loop on"), (False, "Tasks that go well, a false alarm")):
        part = [row for row in rows if row["due"] is due]
        if not part:
            continue
        lines = [f"### {title}", "", _line(*head), _line(*["---"] * len(head))]
        lines += [_line(arm, *_episode_cells(part, arm)) for arm in _arms(part)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _episode_cells(rows: Sequence[Row], arm: str) -> Iterator[str]:
    part = [row for row in rows if row["arm"] == arm]
    solved = [row for row in part if row["solved"]]
    low, high = wilson(len(solved), len(part))
    yield str(len(part))
    yield f"{len(solved)} [{_percent(low)}–{_percent(high)} %]"
    yield str(sum(bool(row["given_up"]) for row in part))
    yield f"{sum(row['calls'] for row in solved) / len(solved):.1f}" if solved else "–"
    yield f"{sum(row['wasted'] for row in part)} of {sum(row['calls'] for row in part)}"
    yield str(sum(row["progress"] for row in part))
