"""Fit how much each piece of evidence counts when a tool is chosen for a text.

    python tests/bench/words fit

The moments are those of the fourth to twelfth pass whose right next call is another tool, and
those at which it is none and no reader of answers knows so. The weights are those of a conditional
logit with a small penalty; "none" is one of the choices. What they reach is told for each set by
weights of the other sets.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from trimtab import GuidanceContext
from trimtab_signals import Calls, _untried as untried, asked_of_last
from words import guided
from words.moments import Moment, read

SETS = (
    "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
)  # fmt: skip
PENALTY = 0.3
"""Of each weight's square; between 0.1 and 1 the sets are judged alike."""
_ROUNDS = 30
_SMALL = 1e-6
FIELDS = (*(field.name for field in attrs.fields(untried.Evidence)), "none")


@attrs.frozen
class Choice:
    """One moment as the fit sees it.

    Attributes:
        moment: where it comes from.
        rows: by tool the evidence; that of "" is to name none.
        right: the tools that help; "" if none does.
    """

    moment: Moment
    rows: Mapping[str, Sequence[float]]
    right: frozenset[str]


def choices(number: str) -> Iterator[Choice]:
    """Return the choices of one pass."""
    for moment in read(Path(__file__).with_name(f"moments_{number}.jsonl")):
        if not moment.due:
            continue
        context = guided.context_at(moment)
        tried = (context.trajectory.follow(Calls).recent(1)[0].tool,)
        right = frozenset(call.tool for call in moment.right) - {*tried}
        if moment.kind != "other-right":
            if asked_of_last(context, tried) is not None:
                continue
            right = frozenset()
        yield Choice(moment, dict(_rows(context, tried)), right or frozenset({""}))


def _rows(context: GuidanceContext, tried: Sequence[str]) -> Iterator[tuple[str, list[float]]]:
    tools = {*(context.tools or ())} - {"finish"}
    calls = context.trajectory.follow(Calls).recent(64)
    descriptions, task = context.tool_descriptions, untried.task_of(context)
    found = untried.choice_of(tools, tried, calls, descriptions, task)
    for name in sorted(tools.difference(tried)):
        yield name, [*map(float, attrs.astuple(found.evidence(name))), 0.0]
    yield "", [*[0.0] * (len(FIELDS) - 1), 1.0]


def fitted(given: Sequence[Choice], penalty: float = PENALTY) -> list[float]:
    """Return the weights that make the right choices likeliest, by Newton's method."""
    size = len(FIELDS)
    weights = [0.0] * size
    for _ in range(_ROUNDS):
        slope = [2 * penalty * weight for weight in weights]
        curve = [[2.0 * penalty * (i == j) for j in range(size)] for i in range(size)]
        for choice in given:
            _add(choice, weights, slope, curve)
        step = _solved(curve, slope)
        weights = [weight - part for weight, part in zip(weights, step, strict=True)]
        if max(map(abs, step)) < _SMALL:
            break
    return weights


def _add(
    choice: Choice, weights: Sequence[float], slope: list[float], curve: list[list[float]]
) -> None:
    """Add what one choice says of slope and curvature."""
    shares = shares_of(choice, weights)
    mean = [0.0] * len(weights)
    for name, row in choice.rows.items():
        for i, value in enumerate(row):
            mean[i] += shares[name] * value
    for name, row in choice.rows.items():
        apart = [value - middle for value, middle in zip(row, mean, strict=True)]
        wanted = 1 / len(choice.right) if name in choice.right else 0.0
        for i, one in enumerate(apart):
            slope[i] -= wanted * one
            for j, other in enumerate(apart):
                curve[i][j] += shares[name] * one * other


def shares_of(choice: Choice, weights: Sequence[float]) -> dict[str, float]:
    """Return how likely each tool is by these weights."""
    odds = {
        name: math.exp(math.fsum(map(operator.mul, weights, row)))
        for name, row in choice.rows.items()
    }
    total = math.fsum(odds.values())
    return {name: one / total for name, one in odds.items()}


def _solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve linear equations by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        best = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[best] = rows[best], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(len(rows)):
            if k != i:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def report() -> Iterator[str]:
    """Yield the weights, and how often those of the other sets put the right tool first."""
    every = {number: list(choices(number)) for number in SETS}
    weights = fitted([choice for given in every.values() for choice in given])
    yield from (f"{name:12} {weight:6.2f}" for name, weight in zip(FIELDS, weights, strict=True))
    for number, judged in every.items():
        weights = fitted([choice for name in SETS if name != number for choice in every[name]])
        right = sum(_likeliest(choice, weights) in choice.right for choice in judged)
        yield f"{number:12} {right} of {len(judged)}"


def _likeliest(choice: Choice, weights: Sequence[float]) -> str:
    shares = shares_of(choice, weights)
    return max(shares, key=lambda name: shares[name])
