"""The plain plan."""

import pytest

from trimtab import Plan, PlanStep, Session


def test_open_steps_are_those_that_need_work():
    plan = Plan(
        [
            PlanStep("a", "done"),
            PlanStep("b", "in_progress"),
            PlanStep("c"),
            PlanStep("d", "Cancelled"),
        ]
    )
    assert [step.title for step in plan.open_steps] == ["b", "c"]


@pytest.mark.parametrize("status", ["done", "DONE", "completed", "skipped", "cancelled", " Done "])
def test_these_words_mean_done(status):
    assert PlanStep("a", status).done


@pytest.mark.parametrize("status", ["pending", "in_progress", "blocked", "", "undone", None])
def test_all_others_do_not(status):
    assert not PlanStep("a", status).done


def test_a_session_keeps_plans():
    session = Session()
    session.dispatch(Plan([PlanStep("a")]))
    session.dispatch(Plan([PlanStep("a", "done")]))
    assert session[Plan].latest() == Plan([PlanStep("a", "done")])
