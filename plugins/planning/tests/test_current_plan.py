"""When the plan is shown again, and what of it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from trimtab import (
    DecisionPoint,
    Delivery,
    GuidanceProviderConfig,
    Host,
    PlanStep,
    Prompt,
    Session,
    ToolCall,
    enable,
)
from trimtab.inspection import ProviderOptionsError
from trimtab_planning import PlanBook, ReflectionAdded, event_trace, plan_act_reflect, react

BEFORE_CHOICE = DecisionPoint.PRE_TOOL_SELECTION
LOCAL = Host("test")
PERSISTED = dict.fromkeys(DecisionPoint, Delivery.PERSISTED)


@pytest.fixture
def open_run(session):
    def go(host=LOCAL, **options):
        config = GuidanceProviderConfig(enable("current-plan", **options), max_per_run=200)
        prompt = Prompt("agent", "main", guidance_providers=[config], config=None)
        return session.open_run(prompt, host=host)

    return go


def turns(run, count, tool="sql"):
    """Play some turns of one call; return what was said before each."""
    said = []
    for _ in range(count):
        said.append(run.guide(BEFORE_CHOICE).text)
        call = ToolCall(tool, {}, f"c{run.state.calls}")
        run.model_responded(tool_calls=[call])
        run.tool_started(tool, {}, call.call_id)
        run.tool_finished(call.call_id, "ok")
    return said


def spoken(said):
    return [number for number, text in enumerate(said) if text]


def test_the_plan_is_shown_when_it_changes_and_again_after_some_turns(open_run, steps):
    run = open_run(repeat_after=4)
    assert spoken(turns(run, 3)) == []
    book = PlanBook.of(run)
    book.author(steps, objective="Explain")
    said = turns(run, 6)
    assert spoken(said) == [0, 4]
    assert "Your plan (plan.v1, 0 of 3 steps done): Explain\nNext: a Fetch (tools: ana" in said[0]
    assert "Open: b Check; c Report" in said[0]
    assert "Unchanged for 4 turns." in said[4]
    book.update_step("a", status="done", outcome="3 rows")
    changed = turns(run, 1)[0]
    assert "1 of 3 steps done" in changed
    assert 'Outcome of a: "3 rows"' in changed
    assert "Unchanged" not in changed


def test_a_shortened_history_brings_the_plan_back(open_run, steps):
    run = open_run()
    PlanBook.of(run).author(steps)
    assert spoken(turns(run, 2)) == [0]
    run.compacted()
    assert spoken(turns(run, 2)) == [0]


def test_nothing_is_said_of_a_plan_that_has_ended(open_run, steps):
    run = open_run()
    book = PlanBook.of(run)
    book.author(steps)
    book.abandon("no access")
    assert spoken(turns(run, 20)) == []


def test_texts_that_stay_in_the_history_come_only_after_some_turns(open_run, steps):
    run = open_run(Host("test", PERSISTED), repeat_after=1)
    book = PlanBook.of(run)
    book.author(steps)
    assert spoken(turns(run, 2)) == [0]
    book.update_step("a", status="done")
    assert spoken(turns(run, 5)) == [3]


def test_a_refused_expectation_stands_until_it_is_met_or_the_plan_changes(open_run, steps):
    run = open_run()
    book = PlanBook.of(run)
    book.author(steps)
    book.reflect("one has no owner", step_id="a", met=False, proposal="ask the owner")
    assert 'Not met in a: "one has no owner"; proposed: "ask the owner"' in turns(run, 1)[0]
    book.reflect("the owner is known", step_id="a", met=True)
    assert "Not met" not in turns(run, 1)[0]
    book.reflect("no rights", met=False)
    assert "Not met:" in turns(run, 1)[0]
    book.revise(steps=[*steps, PlanStep("Ask for rights", step_id="d")])
    assert "Not met" not in turns(run, 1)[0]


def test_a_plan_of_the_hosts_own_tools_is_shown(open_run, call):
    def planned(**options):
        run = open_run(**options)
        todos = [{"content": "Fetch", "status": "in_progress"}, {"content": "Check"}]
        call("TodoWrite", {"todos": todos}, run=run)
        return run.guide(BEFORE_CHOICE).text

    assert "Now: T1 Fetch\nOpen: T2 Check" in planned()
    assert planned(mirrors=False) == ""


def test_a_restored_session_does_not_show_the_same_again(open_run, session, steps):
    run = open_run()
    PlanBook.of(run).author(steps)
    assert spoken(turns(run, 1)) == [0]
    again = Session.restore(session.snapshot())
    config = GuidanceProviderConfig(enable("current-plan"), max_per_run=200)
    prompt = Prompt("agent", "main", guidance_providers=[config], config=None)
    resumed = again.open_run(prompt, run_id=run.run_id)
    assert spoken(turns(resumed, 2)) == []


@pytest.mark.parametrize("strategy", [react(), plan_act_reflect()], ids=["react", "par"])
def test_strategies_show_the_plan(session, strategy, steps):
    run = session.open_run(strategy.prompt("a", "b", config=None))
    PlanBook.of(run).author(steps)

    assert 'source="current-plan">Your plan' in run.guide(BEFORE_CHOICE).text


def test_an_event_trace_shows_id_and_last_event_in_every_request(session, steps):
    run = session.open_run(event_trace().prompt("a", "b", config=None))
    plan = PlanBook.of(run).author(steps)
    said = turns(run, 3)

    assert all(f"Plan ID: {plan.plan_id} plan.v1. Last event: " in text for text in said)
    assert "Last event: PlanAuthored@" in said[0]
    assert f"ToolInvoked@{run.state.last_call.at.isoformat(timespec='seconds')}" in said[2]


texts = st.text(max_size=300)


@given(
    titles=st.lists(st.tuples(texts, st.sampled_from(["pending", "in_progress", "done"]))),
    texts=st.tuples(texts, texts, texts),
    longest=st.integers(120, 500),
)
def test_any_plan_fits_into_its_budget(titles, texts, longest):
    from trimtab import Plan
    from trimtab_planning._current import current_text

    plan = Plan(
        [
            PlanStep(title, status, f"s{n}", outcome=title)
            for n, (title, status) in enumerate(titles)
        ],
        objective=texts[0],
        exit_criteria=[texts[1]],
    )
    reflection = ReflectionAdded(observed=texts[2], proposal=texts[0], met=False)
    said = current_text(plan, [reflection], longest=longest, note="Unchanged for 3 turns.")
    assert said.endswith("\nUnchanged for 3 turns.")
    assert len(said) <= longest


@pytest.mark.parametrize("options", [{"repeat_after": 0}, {"longest": 100}, {"trace": "yes"}])
def test_wrong_options_are_refused(open_run, options):
    with pytest.raises(ProviderOptionsError):
        open_run(**options)
