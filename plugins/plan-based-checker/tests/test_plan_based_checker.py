"""PlanBasedChecker through the gate of real runs."""

from dataclasses import dataclass
from enum import Enum

import attrs
import pytest

from trimtab import (
    CompositeChecker,
    ManualClock,
    Outcome,
    Plan,
    PlanStep,
    Prompt,
    Session,
    TaskCompletionResult,
    enable,
)
from trimtab.events import CompletionStatus
from trimtab.inspection import ProviderOptionsError
from trimtab_plan_based_checker import PlanBasedChecker

INCOMPLETE, OK = CompletionStatus.INCOMPLETE, CompletionStatus.OK


class Phase(Enum):
    OPEN = "open"
    DONE = "done"


@attrs.frozen
class AttrsStep:
    title: str
    status: str


@attrs.frozen
class AttrsPlan:
    steps: list


@dataclass
class Todo:
    content: str
    state: Phase


@dataclass
class TodoPlan:
    todos: tuple


@dataclass
class Sketch:
    steps: tuple


@dataclass
class ParStep:
    identifier: str
    objective: str


def open_run(checker=None):
    prompt = Prompt("a", "b", config=None, completion_checkers=[checker or PlanBasedChecker()])
    return Session().open_run(prompt)


def check(plan, plan_type=None):
    run = open_run(PlanBasedChecker(plan_type=plan_type))
    if plan is not None:
        run.session.dispatch(plan)
    return run.check_completion()


def call(run, tool, params, result="ok", **end):
    run.model_responded()
    run.tool_started(tool, params, "c")
    run.tool_finished("c", result, **end)


def test_without_a_plan_the_agent_may_stop():
    assert check(None).status is OK


def test_an_empty_plan_lets_it_stop():
    assert check(Plan()).status is OK


def test_a_finished_plan_lets_it_stop():
    verdict = check(Plan([PlanStep("a", "done"), PlanStep("b", "Skipped")]))
    assert (verdict.status, verdict.feedback) == (OK, "All 2 steps of the plan are done.")


@pytest.mark.parametrize("status", ["canceled", "Cancelled", "complete"])
def test_a_plan_of_one_step_is_told_as_one(status):
    verdict = check(Plan([PlanStep("a", status)]))
    assert (verdict.status, verdict.feedback) == (OK, "The one step of the plan is done.")


def test_open_steps_are_named():
    verdict = check(Plan([PlanStep("write", "done"), PlanStep("run tests"), PlanStep("docs")]))
    assert verdict.status is INCOMPLETE
    assert verdict.feedback == (
        "Steps 'run tests' and 'docs' are not yet done (2 of 3). Call the tool that does the first"
        " one, not the plan. Or correct the plan, or tell the user what is open and why."
    )
    assert verdict.progress == "1/3"


def test_one_open_step_is_told_in_the_singular():
    assert "Step 'a' is not yet done (1 of 1" in check(Plan([PlanStep("a")])).feedback


def test_three_titles_then_dots():
    verdict = check(Plan([PlanStep(title) for title in "abcde"]))
    assert verdict.feedback.startswith("Steps 'a', 'b', 'c'... are not yet done (5 of 5")


def test_long_and_hostile_titles_are_bounded_and_tamed():
    plan = Plan([PlanStep("x" * 500), PlanStep("a\nb\x1b[31m\u202e"), PlanStep("c" * 90)])
    text = check(plan).feedback
    assert len(text) <= 500
    assert text.isprintable()
    assert "'" + "x" * 45 + "…'" in text


@pytest.mark.parametrize(
    ("plan", "title"),
    [
        (AttrsPlan([AttrsStep("a", "done"), AttrsStep("b", "todo")]), "b"),
        (AttrsPlan([{"title": "a", "status": "COMPLETED"}, {"content": "c", "status": ""}]), "c"),
        (TodoPlan((Todo("a", Phase.DONE), Todo("d", Phase.OPEN))), "d"),
        ({"tasks": {"1": {"name": "a", "done": True}, "2": {"name": "e", "done": False}}}, "e"),
        ({"plan": [{"step": "f", "status": "in_progress"}]}, "f"),
        (
            {"steps": [{"status": "done"}, {"status": "done"}, {"title": 7, "status": "x"}]},
            "Step 3",
        ),
    ],
)
def test_plans_of_any_make_are_read(plan, title):
    verdict = check(plan, type(plan))
    assert verdict.status is INCOMPLETE
    assert f"Step '{title}' is not yet done" in verdict.feedback


def test_a_plan_without_statuses_can_not_be_verified():
    verdict = check(Sketch((ParStep("S1", "Fetch"), ParStep("S2", "Check"))), Sketch)
    assert verdict.status is CompletionStatus.UNVERIFIED
    assert "doesn't say which steps are done" in verdict.reason
    assert verdict.may_stop


def test_a_plan_without_steps_can_not_be_verified():
    assert check(ParStep("a", "b"), ParStep).status is CompletionStatus.UNVERIFIED


def test_the_latest_plan_counts():
    run = open_run()
    run.session.dispatch(Plan([PlanStep("a")]))
    run.session.dispatch(Plan([PlanStep("a", "done")]))
    assert run.check_completion().status is OK


def test_the_plan_type_may_be_named():
    assert PlanBasedChecker(plan_type="trimtab:Plan").plan_type is Plan


@pytest.mark.parametrize(
    "options",
    [
        {"plan_type": "trimtab:NoSuchPlan"},
        {"plan_type": "no_such_module:Plan"},
        {"plan_type": ""},
        {"plan_type": 5},
        {"message": "{count}"},
        {"message": ""},
        {"message": "{steps[0]}"},
        {"from_tools": "no"},
        {"message": "x" * 301},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ProviderOptionsError, match=next(iter(options))):
        Prompt("a", "b", config=None, completion_checkers=[enable("plan-based-checker", **options)])


def test_the_message_is_an_option():
    run = open_run(enable("plan-based-checker", message="{open}/{total}: {steps} open"))
    run.session.dispatch(Plan([PlanStep("a"), PlanStep("b", "done")]))
    assert run.check_completion().feedback == "1/2: Step 'a' is open"


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("TodoWrite", {"todos": [{"content": "a", "status": "pending", "activeForm": "Doing a"}]}),
        ("todowrite", {"todos": [{"content": "a", "status": "pending", "priority": "high"}]}),
        ("write_todos", {"todos": [{"description": "a", "status": "in_progress"}]}),
        ("update_plan", {"explanation": "x", "plan": [{"step": "a", "status": "pending"}]}),
        ("update_plan", '{"plan": [{"step": "a", "status": "pending"}]}'),
        ("task_tracker", {"command": "plan", "task_list": [{"title": "a", "status": "todo"}]}),
        ("manage_todo_list", {"todoList": [{"id": 1, "title": "a", "status": "not-started"}]}),
        ("mcp__planner__update_plan", {"plan": [{"step": "a", "status": "pending"}]}),
    ],
)
def test_plans_kept_with_the_hosts_tools_are_seen(tool, params):
    run = open_run()
    call(run, tool, params)
    assert "Step 'a' is not yet done" in run.check_completion().feedback


def test_a_plan_written_anew_takes_the_place_of_the_old():
    run = open_run()
    call(run, "TodoWrite", {"todos": [{"content": "a", "status": "pending"}]})
    call(run, "TodoWrite", {"todos": [{"content": "a", "status": "completed"}]})
    assert run.check_completion().status is OK
    call(run, "TodoWrite", {"todos": []})
    assert run.check_completion().feedback == "No plan has been created."


@pytest.mark.parametrize(
    "params", ["[" * 100_000, {"todos": "[" * 100_000}, "{", 7, None, {"todos": 7}]
)
def test_a_plan_that_is_none_leaves_the_old_one(params):
    run = open_run()
    call(run, "TodoWrite", {"todos": [{"content": "tests", "status": "pending"}]})
    call(run, "TodoWrite", params)

    assert "'tests'" in run.check_completion().feedback


def test_a_plan_that_was_refused_does_not_count():
    run = open_run()
    call(
        run, "TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}, outcome=Outcome.ERROR
    )
    call(run, "TodoWrite", {"todos": [{"content": "b", "status": "x"}]}, outcome=Outcome.DENIED)
    assert run.check_completion().status is OK


def test_tasks_are_followed_by_their_ids():
    run = open_run()
    call(run, "TaskCreate", {"subject": "a"}, "Task #7 created successfully: a")
    call(run, "TaskCreate", {"subject": "b"}, {"task": {"id": "8", "subject": "b"}})
    call(run, "TaskCreate", {"subject": "c"}, "created")
    call(run, "TaskUpdate", {"taskId": "7", "status": "completed"})
    call(run, "TaskUpdate", {"taskId": "9", "status": "in_progress", "subject": "c, better"})
    call(run, "TaskUpdate", {"taskId": "99", "status": "completed"})
    assert "Steps 'b' and 'c, better' are" in run.check_completion().feedback
    call(run, "TaskUpdate", {"taskId": "8", "status": "deleted"})
    call(run, "TaskUpdate", {"taskId": "9", "status": "completed"})
    assert run.check_completion().feedback == "All 2 steps of the plan are done."


def test_a_plan_of_an_earlier_request_is_not_held_against_a_new_one():
    run = open_run()
    call(run, "TodoWrite", {"todos": [{"content": "a", "status": "pending"}]})
    run.user_message("a background task has ended", notification=True)
    assert run.check_completion().status is INCOMPLETE
    run.user_message("never mind; what time is it?")
    assert run.check_completion().status is OK
    call(run, "TodoWrite", {"todos": [{"content": "a", "status": "in_progress"}]})
    assert run.check_completion().status is INCOMPLETE


def test_plans_of_other_runs_do_not_count():
    run = open_run()
    other = run.session.open_run(run.prompt, agent_id="sub")
    call(other, "TodoWrite", {"todos": [{"content": "a", "status": "pending"}]})
    assert run.check_completion().status is OK


def test_plans_in_the_run_can_be_left_alone():
    run = open_run(PlanBasedChecker(from_tools=False))
    call(run, "TodoWrite", {"todos": [{"content": "a", "status": "pending"}]})
    assert run.check_completion().status is OK


def test_a_clients_own_checker_reads_the_record():
    run = Session(clock=ManualClock()).open_run(Prompt("a", "b", config=None))
    call(run, "TodoWrite", {"todos": [{"content": "a", "status": "pending"}]})
    assert run.check_completion(extra=[PlanBasedChecker()]).status is INCOMPLETE
    run.session.clock.advance(1)
    run.user_message("thanks; what time is it?")
    assert run.check_completion(extra=[PlanBasedChecker()]).status is OK


def test_a_restored_session_knows_the_plan():
    run = open_run()
    call(run, "TaskCreate", {"subject": "a"}, "Task #1 created successfully: a")
    session = Session.restore(run.session.snapshot())
    again = session.open_run(run.prompt, run_id=run.run_id)
    assert "Step 'a' is not yet done" in again.check_completion().feedback
    call(again, "TaskUpdate", {"taskId": "1", "status": "completed"})
    assert again.check_completion().status is OK


def test_progress_of_the_plan_lets_the_gate_send_back_again():
    run = open_run()
    steps = [PlanStep(title) for title in "abcdefghij"]
    blocks = 0
    for done in range(10):
        steps[done] = PlanStep(steps[done].title, "done")
        run.session.dispatch(Plan(steps))
        blocks += not run.check_completion().may_stop
    assert blocks == 8


def test_it_works_within_a_composite():
    class Green:
        def check(self, context):
            return TaskCompletionResult.ok("Tests pass.")

    run = open_run(CompositeChecker((Green(), PlanBasedChecker())))
    run.session.dispatch(Plan([PlanStep("a")]))
    assert run.check_completion().status is INCOMPLETE
    either = open_run(CompositeChecker((PlanBasedChecker(), Green()), all_must_pass=False))
    either.session.dispatch(Plan([PlanStep("a")]))
    assert either.check_completion().feedback == "Tests pass."


def test_the_plan_of_another_run_is_not_held_against_this_one():
    session = Session()
    prompts = [
        Prompt("agent", key, completion_checkers=[PlanBasedChecker()], config=None)
        for key in ("main", "sub")
    ]
    main, sub = (session.open_run(prompt) for prompt in prompts)
    session.dispatch(Plan([PlanStep("a", "done")], run_id=main.run_id))
    session.dispatch(Plan([PlanStep("b")], run_id=sub.run_id))

    assert main.check_completion().status is OK
    assert sub.check_completion().status is INCOMPLETE
    session.dispatch(Plan([PlanStep("c")]))
    assert "'c'" in main.check_completion().feedback
