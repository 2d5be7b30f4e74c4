"""Deadlines and budgets: what is no limit is refused."""

from __future__ import annotations

import math

import pytest

from trimtab import Budget, Deadline


@pytest.mark.parametrize("total", [math.nan, math.inf, -math.inf])
def test_a_deadline_is_a_number_of_seconds(total: float) -> None:
    with pytest.raises(ValueError, match="total must be seconds"):
        Deadline(total)


@pytest.mark.parametrize("limit", [0, -1, math.nan])
def test_a_budget_allows_something(limit: float) -> None:
    with pytest.raises(ValueError, match="max_cost must be above 0"):
        Budget(max_cost=limit)
