"""A run with plans, and steps to make them of."""

from __future__ import annotations

import pytest

from trimtab import Outcome, PlanStep, Prompt, Session
from trimtab_planning import PlanBook


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def run(session):
    return session.open_run(Prompt("agent", "main", config=None))


@pytest.fixture
def book(run):
    return PlanBook.of(run)


@pytest.fixture
def steps():
    return (
        PlanStep("Fetch", step_id="a", tools=["analytics"], expected="3 rows"),
        PlanStep("Check", step_id="b", tools=["warehouse"], depends_on=["a"]),
        PlanStep("Report", step_id="c", depends_on=["b"]),
    )


@pytest.fixture
def call(run):
    """Record one tool call of the run, start and end."""
    numbers = iter(range(10_000))

    def make(tool, params=None, result="ok", *, outcome=Outcome.OK, run=run):
        call_id = f"c{next(numbers)}"
        run.tool_started(tool, params or {}, call_id)
        return run.tool_finished(call_id, result, outcome=outcome)

    return make
