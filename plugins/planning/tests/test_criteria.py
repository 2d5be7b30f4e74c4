"""Exit criteria with a function: checked where the agent says done, and before it may stop."""

from __future__ import annotations

import pytest

from trimtab import PlanStep, Session, ToolCall, ToolExecutor
from trimtab_planning import (
    ExitCriterion,
    PlanBook,
    PlanCriteria,
    ReflectionAdded,
    plan_act_reflect,
    react,
)


def failing(_):
    raise OSError("no such host")


class Run:
    """A run whose exit criterion is checked by `found`."""

    def __init__(self, found):
        self.found = found
        criterion = ExitCriterion("The tests pass.", self.checked)
        prompt = react(done_when=criterion).prompt("a", "b", config=None)
        self.session = Session()
        self.run = self.session.open_run(prompt)
        self.executor = ToolExecutor(self.run, prompt.render().tools)
        self.book = PlanBook.of(self.run)
        self.book.author([PlanStep("A", "done")], exit_criteria=["The tests pass."])

    def checked(self, context):
        assert context.session[ReflectionAdded].all() is not None
        return failing(context) if self.found is OSError else self.found

    def reflect(self, **params):
        call = ToolCall("plan_reflect", {"observed": "fine", "met": True, **params}, "c1")
        return self.executor.execute(call)


@pytest.mark.parametrize("found", [None, True, ""])
def test_what_holds_completes_the_plan(found):
    it = Run(found)

    assert it.reflect().outcome == "ok"
    assert it.book.current.status == "completed"
    assert it.run.check_completion().status == "ok"


@pytest.mark.parametrize(("found", "words"), [("2 tests fail", " (2 tests fail)"), (False, "")])
def test_what_does_not_hold_is_told_and_the_claim_recorded(found, words):
    it = Run(found)
    answer = it.reflect()
    event = it.session[ReflectionAdded].latest()

    assert answer.text == f'"The tests pass." is not met{words}. The plan stays open.'
    assert (event.claimed, event.met, event.checks[0].met) == (True, False, False)
    assert it.book.current.status == "active"
    gate = it.run.check_completion()
    assert gate.status == "incomplete"
    assert f'"The tests pass." is not met{words}' in gate.feedback


@pytest.mark.parametrize("found", [OSError, 3])
def test_a_check_that_cannot_say_leaves_it_unknown(found):
    it = Run(found)

    assert it.reflect().outcome == "ok"
    assert it.session[ReflectionAdded].latest().met is None
    assert it.book.current.status == "active"
    assert it.run.check_completion().status == "unverified"


def test_nothing_is_checked_for_a_step_or_a_claim_that_it_is_not_met():
    it = Run(OSError)
    it.reflect(met=False)
    assert it.session[ReflectionAdded].latest().checks == ()
    it.reflect(step_id="S1")
    assert it.session[ReflectionAdded].latest().checks == ()


def test_without_a_function_the_agents_word_counts_and_is_a_claim():
    strategy = plan_act_reflect(done_when=["It is good.", ExitCriterion("It is short.")])
    prompt = strategy.prompt("a", "b", config=None)

    assert "- It is good.\n- It is short.\n" in prompt.render().text
    assert not any(isinstance(item, PlanCriteria) for item in prompt.template.completion_checkers)


def test_a_session_with_checks_is_saved_and_read_again():
    it = Run("no")
    it.reflect()
    again = Session.restore(it.session.snapshot())

    assert again[ReflectionAdded].all() == it.session[ReflectionAdded].all()


async def later(_):
    return None


@pytest.mark.parametrize("make", [lambda: ExitCriterion("x", 3), lambda: ExitCriterion("x", later)])
def test_what_is_no_plain_function_is_refused(make):
    with pytest.raises(TypeError, match="check must be a"):
        make()
