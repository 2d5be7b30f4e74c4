"""Plans are read from the calls of the tools that agents keep them with."""

from __future__ import annotations

import json
from enum import Enum

import pytest
from hypothesis import given, strategies as st

from trimtab import Plan, PlanStep
from trimtab_planning import is_plan_tool, plan_after

TODO = [{"content": "Fetch", "status": "completed"}, {"content": "Check", "status": "pending"}]


class Status(Enum):
    ACTIVE = "in_progress"


def shown(steps):
    return [(step.step_id, step.title, step.status) for step in steps]


def after(tool, params, result=None, known=(), unknown="pending"):
    return plan_after(known, tool, params, result, unknown=unknown)


@pytest.mark.parametrize("tool", ["TodoWrite", "todo_write", "mcp__x__update_plan", "TaskUpdate"])
def test_a_tool_is_known_by_its_name_whatever_server_it_is_on(tool):
    assert is_plan_tool(tool)


@pytest.mark.parametrize("tool", ["Read", "todo", "", "TodoWrite__other"])
def test_other_tools_change_no_plan(tool):
    assert not is_plan_tool(tool)
    assert after(tool, {"todos": TODO}) is None


def test_a_list_as_json_text_is_read():
    text = json.dumps({"todos": json.dumps(TODO)})
    assert shown(after("TodoWrite", text)) == [
        ("T1", "Fetch", "completed"),
        ("T2", "Check", "pending"),
    ]


@pytest.mark.parametrize(
    ("item", "status"),
    [
        ({"content": "a", "status": Status.ACTIVE}, "in_progress"),
        ({"content": "a", "done": True}, "done"),
        ({"content": "a", "completed": False}, "pending"),
        ({"content": "a", "state": "blocked"}, "blocked"),
        ({"content": "a", "status": 7}, "?"),
        ({"content": "a"}, "?"),
        ("a", "?"),
    ],
)
def test_a_status_is_read_from_any_of_its_forms_or_unknown(item, status):
    (step,) = after("update_plan", {"plan": [item]}, unknown="?")
    assert (step.title, step.status) == ("a", status)


def test_a_step_keeps_its_id_when_the_list_is_written_again():
    known = after("TodoWrite", {"todos": TODO})
    steps = after("TodoWrite", {"todos": [{"content": "Check"}, {"content": "More"}]}, known=known)
    assert [(step.step_id, step.title) for step in steps] == [("T2", "Check"), ("T2-2", "More")]


def test_tasks_are_followed_by_the_ids_that_results_name():
    steps = after("TaskCreate", {"subject": "a"}, "Task #7 created successfully: a")
    steps = after("TaskCreate", {"subject": "b"}, {"task": {"id": 8}}, known=steps)
    steps = after("TaskCreate", {}, "created", known=steps)
    assert shown(steps) == [
        ("7", "a", "pending"),
        ("8", "b", "pending"),
        ("9", "Step 3", "pending"),
    ]
    steps = after("TaskUpdate", {"taskId": 8, "status": "completed"}, known=steps)
    steps = after("TaskUpdate", {"taskId": "9", "subject": "c"}, known=steps)
    steps = after("TaskUpdate", {"taskId": "7", "status": "deleted"}, known=steps)
    assert shown(steps) == [("8", "b", "completed"), ("9", "c", "pending")]


def test_an_update_of_a_task_that_is_not_known_changes_nothing():
    assert after("TaskUpdate", {"taskId": "1", "status": "completed"}) is None


@pytest.mark.parametrize(
    "params", ["[" * 100_000, {"todos": "[" * 100_000}, "{", 7, None, {"todos": 7}, {"other": []}]
)
def test_arguments_that_hold_no_list_change_no_plan(params):
    assert after("TodoWrite", params, known=(PlanStep("a"),)) is None


def test_long_plans_and_texts_are_bounded():
    todos = [{"content": "x" * 1_000, "status": "y" * 1_000}] * 600
    steps = after("TodoWrite", {"todos": todos})
    assert len(steps) == 500
    assert (len(steps[0].title), len(steps[0].status)) == (200, 40)
    assert after("TaskCreate", {"subject": "more"}, known=steps) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["todos", "plan", "content", "status", "taskId", "subject", "done"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["TodoWrite", "update_plan", "TaskCreate", "TaskUpdate"]),
            values,
            values,
        ),
        max_size=6,
    )
)
def test_whatever_the_calls_hold_the_steps_are_a_plan(calls):
    steps = ()
    for tool, params, result in calls:
        steps = plan_after(steps, tool, params, result, unknown="pending") or steps
        assert Plan(steps).steps == steps
        assert all(step.step_id for step in steps)
