"""What is said where plan and calls part, and how little elsewhere."""

from __future__ import annotations

import pytest

from trimtab import (
    DecisionPoint,
    GuidanceProviderConfig,
    Host,
    Outcome,
    PlanStep,
    Prompt,
    Session,
    ToolCall,
    enable,
)
from trimtab.inspection import ProviderOptionsError
from trimtab_planning import PlanBook, plan_tools

BEFORE_CHOICE, AT_THE_END = DecisionPoint.PRE_TOOL_SELECTION, DecisionPoint.PRE_RESPONSE
HOST = Host("test", tools={tool.name for tool in plan_tools()})
CONFIG = {"guidance_providers": [GuidanceProviderConfig(enable("plan-drift"))], "config": None}
PARTS = ("alpha", "bravo", "charlie", "delta")


@pytest.fixture
def run(session):
    return session.open_run(Prompt("agent", "main", **CONFIG), host=HOST)


def turn(run, tool, params=None, **ended):
    """Play one turn of one call; return what is said before the next request."""
    call = ToolCall(tool, params or {}, f"c{run.state.calls}")
    run.model_responded(tool_calls=[call])
    run.tool_started(tool, call.params, call.call_id)
    run.tool_finished(call.call_id, "ok", **ended)
    return run.guide(BEFORE_CHOICE).text


def todos(run, *steps):
    return turn(run, "TodoWrite", {"todos": [{"content": t, "status": s} for t, s in steps]})


def test_a_step_marked_done_without_its_tools_is_noticed(run, steps):
    book = PlanBook.of(run)
    book.author(steps)
    assert turn(run, "read") == ""
    book.update_step("a", status="done", outcome="fetched")
    said = run.guide(BEFORE_CHOICE).text

    assert 'You marked step "a" ("Fetch") done, and called none of its tools' in said
    assert "analytics" in said
    assert "with plan_update_step" in said


def test_a_step_marked_done_after_its_tools_is_fine(run, steps):
    book = PlanBook.of(run)
    book.author(steps)
    assert turn(run, "mcp__analytics__query") == ""
    book.update_step("a", status="done")
    assert run.guide(BEFORE_CHOICE).text == ""


def test_a_plan_ticked_off_at_once_is_noticed_at_the_end(run, steps):
    book = PlanBook.of(run)
    book.author(steps)
    run.guide(BEFORE_CHOICE)
    for step in steps:
        book.update_step(step.step_id, status="done")

    assert "called none of its tools" in run.guide(AT_THE_END).text


def test_several_steps_of_a_todo_list_marked_done_with_no_call_between(run):
    todos(run, ("A", "in_progress"), ("B", "pending"), ("C", "pending"))
    said = todos(run, ("A", "completed"), ("B", "completed"), ("C", "in_progress"))

    assert '2 steps done with no call in between: "A"; "B"' in said
    assert "plan_update_step" not in said


def test_steps_marked_done_together_after_the_work_are_fine(run):
    todos(run, ("A", "in_progress"), ("B", "pending"), ("C", "pending"))
    assert turn(run, "edit") == ""
    assert todos(run, ("A", "completed"), ("B", "completed"), ("C", "in_progress")) == ""


def test_a_long_answer_is_work_too(run):
    todos(run, ("Explain A", "in_progress"), ("Explain B", "pending"))
    run.model_responded(text="Because. " * 50)
    assert todos(run, ("Explain A", "completed"), ("Explain B", "completed")) == ""


def test_a_plan_cut_down_to_what_is_done_is_noticed(run, steps):
    book = PlanBook.of(run)
    book.author(steps)
    turn(run, "analytics")
    book.update_step("a", status="done")
    turn(run, "read")
    book.revise(steps=steps[:1], reason="enough")
    said = run.guide(AT_THE_END).text

    assert 'Open steps are gone from your plan, and all that is left is done: "Check"' in said


def test_a_plan_rewritten_again_and_again_is_noticed(run):
    said = [todos(run, *((f"{name} {n}", "pending") for name in "AB")) for n in range(5)]

    assert [bool(text) for text in said] == [False, False, False, True, False]
    assert "You have written 3 new plans without finishing a step" in said[3]


def test_a_plan_that_grows_is_not_rewritten(run):
    names = ["A", "B"]
    for number in range(6):
        names.append(f"C{number}")
        assert todos(run, *((name, "pending") for name in names)) == ""


def test_all_steps_in_progress_at_once(run):
    said = todos(run, *((name, "in_progress") for name in PARTS))

    assert "All 4 open steps are marked in progress" in said
    assert todos(run, *((name, "pending") for name in PARTS)) == ""


def test_calls_of_no_step_are_noticed_where_steps_list_tools(run):
    PlanBook.of(run).author([PlanStep("Fetch", step_id="a", tools=["analytics"])])
    run.guide(BEFORE_CHOICE)
    said = [turn(run, "shell", {"n": n}) for n in range(5)]

    assert said[:4] == [""] * 4
    assert "Your last 5 calls (shell) serve no open step of your plan" in said[4]


MODULES = [(f"Write module {part}", "pending") for part in PARTS]
MODULES[0] = (MODULES[0][0], "in_progress")


def modules(run, *, of, tool="write_file", count=12):
    return [turn(run, tool, {"path": f"src/{of}.py", "text": f"{n}"}) for n in range(count)]


def test_calls_for_a_later_step_are_noticed(run):
    todos(run, *MODULES)
    assert not any(modules(run, of=PARTS[0]))
    said = [text for text in modules(run, of=PARTS[2]) if text]

    assert len(said) == 2
    assert 'look like step "T3" ("Write module charlie")' in said[0]
    assert 'your plan has been at step "T1"' in said[0]
    assert "You were told before." in said[1]


@pytest.mark.parametrize("play", [{"of": PARTS[0]}, {"of": PARTS[2], "tool": "read_file"}])
def test_a_long_step_and_reading_ahead_are_no_drift(run, play):
    todos(run, *MODULES)

    assert not any(modules(run, count=40, **play))


def test_what_the_user_asks_for_next_is_another_thing(run):
    todos(run, *((name, "in_progress") for name in ("A", "B")))
    run.user_message("Forget that. Do X.")
    assert todos(run, ("X", "completed")) == ""


def test_failed_changes_of_a_list_change_nothing(run):
    todos(run, ("A", "in_progress"), ("B", "pending"))
    params = {"todos": [{"content": name, "status": "completed"} for name in "AB"]}
    assert turn(run, "TodoWrite", params, outcome=Outcome.ERROR) == ""


def test_a_restored_session_notices_the_same(run, session):
    todos(run, ("A", "in_progress"), ("B", "pending"), ("C", "pending"))
    again = Session.restore(session.snapshot())
    resumed = again.open_run(Prompt("agent", "main", **CONFIG), host=HOST, run_id=run.run_id)
    said = [
        todos(known, ("A", "completed"), ("B", "completed"), ("C", "pending"))
        for known in (run, resumed)
    ]
    assert "with no call in between" in said[0]
    assert said[0] == said[1]


@pytest.mark.parametrize("options", [{"stale_turns": 4}, {"off_plan_calls": 1}, {"x": 1}])
def test_wrong_options_are_refused(options):
    with pytest.raises(ProviderOptionsError):
        Prompt("a", "b", guidance_providers=[enable("plan-drift", **options)], config=None)


def exported(run, times, *, marks):
    """Play a plan of four exports, with fewer calls than marks, or not."""
    book = PlanBook.of(run)
    steps = [PlanStep(f"Export {part}", tools=["export"]) for part in PARTS]
    book.author(steps)
    run.guide(BEFORE_CHOICE)
    for _ in range(times):
        assert turn(run, "export") == ""
    said = []
    for number in range(1, marks + 1):
        book.update_step(f"S{number}", status="done")
        said.append(run.guide(BEFORE_CHOICE).text)
    return said


def test_more_steps_marked_done_than_their_tool_had_calls_is_noticed(run):
    first, second, third = exported(run, 2, marks=3)
    assert (first, second) == ("", "")
    assert 'You marked step "S3" ("Export charlie") done with no call since' in third
    assert "export had 2 calls for 3 such steps" in third


def test_steps_marked_late_have_a_call_each(run):
    assert exported(run, 4, marks=4) == ["", "", "", ""]
