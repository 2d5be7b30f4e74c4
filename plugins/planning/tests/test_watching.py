"""Plans of the host's own tools, and calls tied to their steps."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

from trimtab import Outcome, PlanStep, Prompt, Session, ToolInvoked, enable
from trimtab.events import ProviderFaulted, ToolStarted
from trimtab_planning import PlanBook, PlanUpdated, PlanWatch, StepCalled, planning_tool


@pytest.fixture(params=[None, 5.0], ids=["here", "on a worker"])
def run(request, session):
    prompt = Prompt("agent", "main", recorders=[enable("plan-watch")], config=None)
    return session.open_run(prompt, timeout=request.param)


def todos(*items):
    return [{"content": title, "status": status} for title, status in items]


def shown(book):
    return [(step.title, step.status) for step in book.current.steps]


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("TodoWrite", {"todos": todos(("Fetch", "completed"), ("Check", "pending"))}),
        ("todowrite", {"todos": todos(("Fetch", "completed"), ("Check", "pending"))}),
        ("write_todos", {"todos": todos(("Fetch", "completed"), ("Check", "pending"))}),
        (
            "update_plan",
            {
                "plan": [
                    {"step": "Fetch", "status": "completed"},
                    {"step": "Check", "status": "pending"},
                ]
            },
        ),
        (
            "mcp__planner__TodoWrite",
            {"todos": json.dumps(todos(("Fetch", "completed"), ("Check", "pending")))},
        ),
        ("manage_todo_list", {"todoList": todos(("Fetch", "completed"), ("Check", "pending"))}),
        ("task_tracker", {"task_list": todos(("Fetch", "completed"), ("Check", "pending"))}),
    ],
)
def test_a_whole_list_is_taken_over(book, call, tool, params):
    call(tool, params)

    assert shown(book) == [("Fetch", "completed"), ("Check", "pending")]
    assert book.last_change.origin == tool


def test_tasks_that_are_created_and_updated_one_by_one_make_one_plan(book, call):
    call("TaskCreate", {"subject": "Fetch"}, "Task #1 created")
    call("TaskCreate", {"subject": "Check"}, {"task": {"id": "2"}})
    call("TaskUpdate", {"taskId": "1", "status": "completed"})
    call("TaskUpdate", {"taskId": "9", "status": "completed"})

    assert shown(book) == [("Fetch", "completed"), ("Check", "pending")]
    call("TaskUpdate", {"taskId": "2", "status": "deleted"})
    assert shown(book) == [("Fetch", "completed")]
    assert book.current.status == "completed"


def test_progress_in_the_list_keeps_the_version_and_other_work_makes_a_new_one(book, call):
    call("TodoWrite", {"todos": todos(("Fetch", "pending"), ("Check", "pending"))})
    call("TodoWrite", {"todos": todos(("Fetch", "completed"), ("Check", "pending"))})
    versions = [book.current.version]
    call("TodoWrite", {"todos": todos(("Check", "pending"), ("More", "pending"))})

    assert [*versions, book.current.version] == ["plan.v1", "plan.v2"]
    assert [step.step_id for step in book.current.steps] == ["T2", "T2-2"]


def test_a_list_that_is_sent_again_changes_nothing(session, book, call):
    for _ in range(3):
        call("TodoWrite", {"todos": todos(("Fetch", "pending"))})

    assert session[PlanUpdated].all() == ()


def test_a_list_that_is_done_completes_the_plan_and_a_cleared_one_abandons_it(book, call):
    call("TodoWrite", {"todos": todos(("Fetch", "completed"))})
    assert book.current.status == "completed"
    call("TodoWrite", {"todos": todos(("Check", "pending"))})
    assert book.current.status == "active"
    call("TodoWrite", {"todos": []})
    assert book.current.status == "abandoned"


def test_a_call_that_failed_changes_no_plan(book, call):
    call("TodoWrite", {"todos": todos(("Fetch", "pending"))}, outcome=Outcome.DENIED)

    assert book.current is None


def test_a_plan_made_with_plan_tools_is_left_alone(book, call, steps):
    plan = book.author(steps, origin="plan_set")
    call("TodoWrite", {"todos": todos(("Fetch", "pending"))})

    assert book.current == plan


def test_a_new_request_gives_the_list_up_until_it_is_touched_again(run, book, call):
    call("TaskCreate", {"subject": "Fetch"}, "#1")
    call("TaskCreate", {"subject": "Check"}, "#2")
    run.user_message("A task has ended.", notification=True)
    assert book.current.status == "active"
    run.user_message("Do something else.")
    assert book.current.status == "abandoned"

    call("TaskUpdate", {"taskId": "1", "status": "completed"})
    assert shown(book) == [("Fetch", "completed"), ("Check", "pending")]
    assert book.current.status == "active"


def test_the_plan_that_was_taken_over_is_what_the_completion_checker_reads(session):
    pytest.importorskip("trimtab_plan_based_checker")
    prompt = Prompt(
        "agent",
        "checked",
        recorders=["plan-watch"],
        completion_checkers=["plan-based-checker"],
        config=None,
    )
    run = session.open_run(prompt)
    run.tool_started("TodoWrite", {"todos": todos(("Fetch", "pending"))}, "c1")
    run.tool_finished("c1", "ok")

    assert "'Fetch' is not yet done" in run.check_completion().feedback


def test_a_call_is_tied_to_the_step_in_progress_or_to_one_that_lists_its_tool(
    session, book, call, steps
):
    book.author(steps)
    for tool in ("analytics.query", "other", "warehouse.sql", "plan_reflect"):
        call(tool)
    book.update_step("a", status="done")
    call("warehouse.sql")
    ties = [(tie.tool, tie.step_id, tie.declared) for tie in session[StepCalled].all()]

    assert ties == [
        ("analytics.query", "a", True),
        ("other", "a", False),
        ("warehouse.sql", "a", False),
        ("warehouse.sql", "b", True),
    ]
    assert session[StepCalled].all()[0].expected == "3 rows"


def test_a_call_whose_start_was_never_told_is_tied_too(session, run, book, steps):
    book.author(steps)
    run.tool_finished("c9", "ok", tool="analytics")

    assert session[StepCalled].latest().call_id == "c9"


def test_calls_of_other_runs_are_left_alone(session, book, call, steps):
    book.author(steps)
    other = session.open_run(Prompt("agent", "other", config=None))
    call("analytics", run=other)

    assert session[StepCalled].all() == ()


def test_after_its_end_nothing_is_watched(session, run, book, steps):
    book.author(steps)
    run.close()
    session.dispatch(ToolStarted(tool="analytics", call_id="c1", run_id=run.run_id))

    assert session[StepCalled].all() == ()


def test_without_mirrors_calls_are_tied_and_lists_left_alone(session, steps):
    prompt = Prompt("agent", "plain", recorders=[enable("plan-watch", mirrors=False)], config=None)
    run = session.open_run(prompt)
    PlanBook.of(run).author(steps)
    for tool in ("TodoWrite", "analytics"):
        run.tool_started(tool, {"todos": ["Fetch"]}, tool)
        run.tool_finished(tool, "ok")

    assert len(PlanBook.of(run).history) == 1
    assert [tie.tool for tie in session[StepCalled].all()] == ["analytics"]


def test_tasks_that_are_created_at_the_same_time_all_join_the_plan(session, run, book):
    def create(number):
        run.tool_started("TaskCreate", {"subject": f"Task {number}"}, f"c{number}")
        run.tool_finished(f"c{number}", f"#{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(40)))

    assert len(book.current.steps) == 40
    versions = [event.plan.version for event in session[PlanUpdated].all()]
    assert versions == [f"plan.v{number}" for number in range(2, 41)]


def test_a_restored_run_goes_on_with_its_plan(session, run, book, call):
    call("TaskCreate", {"subject": "Fetch"}, "#1")
    restored = Session.restore(session.snapshot())
    again = restored.open_run(run.prompt, run_id=run.run_id)
    again.tool_started("TaskCreate", {"subject": "Check"}, "later")
    again.tool_finished("later", "#2")

    assert shown(PlanBook.of(again)) == [("Fetch", "pending"), ("Check", "pending")]


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ({"bash", "TodoWrite"}, "TodoWrite"),
        ({"TodoWrite", "mcp__x__plan_set"}, "mcp__x__plan_set"),
        ({"TaskCreate", "TaskUpdate"}, "TaskCreate"),
        ({"bash"}, None),
        (None, None),
    ],
)
def test_the_planning_tool_is_whichever_is_there(tools, expected):
    assert planning_tool(tools) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
tools = st.sampled_from(["TodoWrite", "update_plan", "TaskCreate", "TaskUpdate", "write_todos"])
keys = st.sampled_from(["todos", "plan", "subject", "taskId", "status"])


@pytest.mark.slow
@given(st.lists(st.tuples(tools, st.dictionaries(keys, json_values), json_values), max_size=8))
def test_whatever_a_host_tells_the_plan_stays_a_plan(calls):
    session = Session()
    prompt = Prompt("agent", "main", recorders=[PlanWatch()], config=None)
    run = session.open_run(prompt)
    for number, (tool, params, result) in enumerate(calls):
        run.tool_started(tool, params, f"c{number}")
        run.tool_finished(f"c{number}", result)
    book = PlanBook.of(run)

    assert len(session[ToolInvoked]) == len(calls)
    assert book.current is None or all(
        isinstance(step, PlanStep) and step.title for step in book.current.steps
    )
    assert session[ProviderFaulted].all() == ()
