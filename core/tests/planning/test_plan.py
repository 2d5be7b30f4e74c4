"""The plain plan."""

import pytest

from trimtab import Plan, PlannedTool, PlanStep, Session
from trimtab.events import in_namespace


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


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([PlanStep("x", step_id="a"), PlanStep("y", step_id="a")], "two steps have the id 'a'"),
        ([PlanStep("x", depends_on=["z"])], "step 'x' depends on 'z', which is not a step"),
        (
            [
                PlanStep("x", step_id="a", depends_on=["b"]),
                PlanStep("y", step_id="b", depends_on=["c"]),
                PlanStep("z", step_id="c", depends_on=["b"]),
            ],
            "in a cycle: 'b', 'c', 'b'",
        ),
    ],
)
def test_steps_that_are_no_plan_are_refused_by_name(steps, words):
    with pytest.raises(ValueError, match=words):
        Plan(steps)


def test_a_step_is_ready_when_all_that_it_depends_on_is_done():
    plan = Plan(
        [
            PlanStep("x", "done", "a"),
            PlanStep("y", step_id="b", depends_on=["a"]),
            PlanStep("z", step_id="c", depends_on=["b"]),
        ]
    )
    assert [step.step_id for step in plan.ready_steps] == ["b"]
    assert plan.current_step is plan.step("b")
    assert plan.step("q") is None


def test_a_call_serves_the_step_in_progress_that_lists_its_tool_then_a_ready_one():
    plan = Plan(
        [
            PlanStep("x", "in_progress", "a", tools=["read"]),
            PlanStep("y", step_id="b", tools=[PlannedTool("warehouse", "2")]),
            PlanStep("z", step_id="c", tools=["late"], depends_on=["a"]),
        ]
    )
    served = {tool: plan.step_for(tool).step_id for tool in ("read", "warehouse.sql", "late", "q")}
    assert served == {"read": "a", "warehouse.sql": "b", "late": "a", "q": "a"}
    assert Plan().step_for("read") is None


@pytest.mark.parametrize(
    ("tool", "name", "expected"),
    [
        ("warehouse.sql", "warehouse", True),
        ("mcp__Warehouse__sql", "warehouse", True),
        ("mcp__x__sql", "sql", True),
        ("analytics__query", "analytics.query", True),
        ("warehouse_sql", "warehouse_*", True),
        ("anything", "*", True),
        ("sqlite", "sql", False),
        ("warehouse_sql", "warehouse", False),
        ("a", "", False),
    ],
)
def test_a_namespace_holds_the_tools_below_it(tool, name, expected):
    assert in_namespace(tool, name) is expected


def test_the_tools_of_a_step_are_a_list():
    with pytest.raises(TypeError, match="tools must be a list"):
        PlanStep("x", tools="read")
