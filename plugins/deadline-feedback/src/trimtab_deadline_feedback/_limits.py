"""What limits a run, and in which band of each limit it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import attrs

from trimtab_deadline_feedback._words import amount, duration

if TYPE_CHECKING:
    from trimtab import Budget, FeedbackContext

TIME = "time"
TURNS = "turns"
SHARES = (0.5, 0.25, 0.1, 0.05)
"""Bands of every limit, as the share that is left."""


@attrs.frozen
class Limit:
    """One limit of a run.

    Attributes:
        name: `TIME`, or the unit.
        left, total: amounts, seconds for `TIME`.
        began: turns when its count began; a host counts the turns of each request of the user.
    """

    name: str
    left: float
    total: float
    began: int = 0

    @property
    def share(self) -> float:
        """The share that is left: 1.0 is all, 0.0 and less is none."""
        return self.left / self.total if self.total > 0 else 0.0

    @property
    def reached(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    @property
    def last_turn(self) -> bool:
        """Whether one response is left."""
        return self.name == TURNS and self.left == 1

    def amount(self, value: float) -> str:
        """Return `value`, in the limit's unit, in words."""
        return duration(value) if self.name == TIME else amount(value)

    @property
    def shares(self) -> tuple[float, ...]:
        """The bands that every limit has, as amounts left."""
        return tuple(share * self.total for share in SHARES)

    def band(self, thresholds: Iterable[float]) -> float | None:
        """Return the tightest threshold that is passed, None if none is.

        Args:
            thresholds: amounts left, in the limit's unit. Nothing left is a band of its own, 0.
        """
        passed = [threshold for threshold in thresholds if self.left <= threshold]
        return 0.0 if self.reached else min(passed, default=None)


def limits_of(context: FeedbackContext) -> tuple[Limit, ...]:
    """Return the limits of a run; of two about time, or about turns, only the nearer."""
    times = sorted(_times(context), key=lambda limit: limit.left)
    turns = sorted(_turns(context), key=lambda limit: limit.left)
    return (*times[:1], *turns[:1], *_amounts(context))


def _times(context: FeedbackContext) -> Iterator[Limit]:
    deadline, budget = context.deadline, context.budget
    if deadline is not None:
        yield Limit(TIME, deadline.remaining().total_seconds(), deadline.total)
    if budget is not None and budget.max_active_seconds is not None:
        total = budget.max_active_seconds
        yield Limit(TIME, total - context.active_seconds, total)


def _turns(context: FeedbackContext) -> Iterator[Limit]:
    budget, most = context.budget, context.host.max_turns
    if most is not None:
        made = context.turns_of_request
        yield Limit(TURNS, most - made, most, context.turn_count - made)
    if budget is not None and budget.max_turns is not None:
        yield Limit(TURNS, budget.max_turns - context.turn_count, budget.max_turns)


def _amounts(context: FeedbackContext) -> Iterator[Limit]:
    budget: Budget | None = context.budget
    if budget is None:
        return
    usage = context.usage
    for name, total, used in (
        ("tokens", budget.max_total_tokens, usage.total_tokens),
        ("input tokens", budget.max_input_tokens, usage.input_tokens),
        ("output tokens", budget.max_output_tokens, usage.output_tokens),
        ("units of cost", budget.max_cost, usage.cost),
        ("calls", budget.max_calls, context.tool_call_count),
    ):
        if total is not None:
            yield Limit(name, total - used, total)
