"""What the agent reads about its lease."""

import pytest

from trimtab import ManualClock, MarkdownSection, Prompt, Session
from trimtab_worker import LeaseCapNear, LeaseEvent, LeaseLost, LeaseRegained, SampleScored


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def run(clock):
    section = MarkdownSection(key="t", title="T", template="x")
    prompt = Prompt("agent", "main", [section], feedback_providers=["lease"])
    return Session(clock=clock).open_run(prompt)


@pytest.fixture
def after_call(run, clock):
    def after_call():
        clock.advance(1)
        call_id = f"call-{len(run.recent_tool_calls(100))}"
        run.tool_started("Bash", {}, call_id)
        run.tool_finished(call_id, "ok")
        return run.feedback()

    return after_call


def dispatch(run, clock, kind, **facts):
    clock.advance(1)
    if issubclass(kind, LeaseEvent):
        facts["message_id"] = "m"
    run.session.dispatch(kind(prompt_name="agent/main", **facts))


def test_nothing_is_said_while_the_lease_holds(after_call):
    assert after_call() is None


def test_a_lost_lease_is_told_once(run, clock, after_call):
    dispatch(run, clock, LeaseLost, reason="expired")
    said = after_call()

    assert '<feedback source="lease" severity="warning">' in said
    assert "another worker may be doing it now" in said
    assert "→ Make no further changes outside this session." in said
    assert after_call() is None


def test_a_limit_that_is_near_is_told_with_its_seconds(run, clock, after_call):
    dispatch(run, clock, LeaseCapNear, remaining=590.2, reason="SQS")

    assert "This task ends in 590 seconds; the time can't be extended." in after_call()


def test_a_lease_that_came_back_is_not_worth_a_word(run, clock, after_call):
    dispatch(run, clock, LeaseLost, reason="expired")
    dispatch(run, clock, LeaseRegained, late=2.0)

    assert after_call() is None


def test_each_new_loss_is_told(run, clock, after_call):
    dispatch(run, clock, LeaseLost, reason="expired")
    assert after_call()
    dispatch(run, clock, LeaseRegained, late=2.0)
    dispatch(run, clock, LeaseLost, reason="expired")

    assert after_call()


def test_a_snapshot_keeps_what_happened_to_the_lease(run, clock):
    dispatch(run, clock, LeaseLost, reason="expired")
    dispatch(run, clock, SampleScored, sample_id="1", evaluator="exact", value=1.0, passed=True)
    restored = Session.restore(run.session.snapshot())

    assert restored[LeaseLost].latest().reason == "expired"
    assert restored[SampleScored].latest().passed
