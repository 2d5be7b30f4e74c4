"""A run: turns, calls, counters, life."""

from __future__ import annotations

import threading
from typing import Any

import attrs
import pytest

from trimtab import (
    Budget,
    ClassificationResult,
    DecisionPoint,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    Host,
    MarkdownSection,
    Outcome,
    RunContext,
    Session,
    SessionError,
    Tool,
    ToolCall,
    ToolInvoked,
    ToolResult,
    Usage,
    hookimpl,
)
from trimtab.events import (
    GuidanceSuppressed,
    ModelResponded,
    ProviderFaulted,
    RunClosed,
    RunOpened,
    ToolStarted,
)


@attrs.frozen
class Note:
    text: str = ""


def test_a_batch_is_one_turn(kit: Any) -> None:
    run = kit.run()
    turn = run.model_responded(tool_calls=[ToolCall("a", {}, "1"), ToolCall("b", {}, "2")])
    run.tool_started("a", {}, "1")
    run.tool_started("b", {}, "2")
    run.tool_finished("2", "B")
    run.tool_finished("1", "A")
    run.guide(DecisionPoint.PRE_TOOL_SELECTION)

    assert turn == 0
    assert [c.turn for c in kit.session[ToolInvoked].all()] == [0, 0]
    assert (run.state.turns, run.state.calls, run.state.open_turn) == (1, 2, None)


@pytest.mark.parametrize("none", [(), [], None])
def test_a_response_without_calls_has_an_empty_tuple_of_them(kit: Any, none: Any) -> None:
    kit.run().model_responded(text="Done.", **({} if none is None else {"tool_calls": none}))

    assert kit.session[ModelResponded].latest().tool_calls == ()


def test_a_turn_ends_with_the_next_selection_response_or_user_message(kit: Any) -> None:
    run = kit.run()
    for end in (
        lambda: run.guide(DecisionPoint.PRE_TOOL_SELECTION),
        lambda: run.user_message("and now"),
        run.check_completion,
    ):
        run.tool_started("a", {}, "x")
        run.tool_finished("x", "ok")
        end()
    run.model_responded(text="bye")

    assert run.state.turns == 4
    assert [c.turn for c in kit.session[ToolInvoked].all()] == [0, 1, 2]


def test_a_call_is_recorded_whole(kit: Any) -> None:
    run = kit.run()
    run.tool_started("bash", {"cmd": "ls"}, "c1")
    kit.clock.advance(2.5)
    call = run.tool_finished("c1", None, outcome=Outcome.ERROR, error="exit 1")

    assert call == kit.session[ToolInvoked].latest()
    assert (call.tool, call.params, call.call_id) == ("bash", {"cmd": "ls"}, "c1")
    assert (call.outcome, call.error, call.failed) == (Outcome.ERROR, "exit 1", True)
    assert (call.duration, call.elapsed) == (2.5, 2.5)
    assert call.started == kit.session[ToolStarted].latest().at
    assert (call.prompt_name, call.run_id) == ("agent/main", run.run_id)


def test_a_call_that_never_started_needs_its_tool(kit: Any) -> None:
    run = kit.run()
    with pytest.raises(SessionError, match="never started"):
        run.tool_finished("nope", "x")
    call = run.tool_finished("d1", outcome=Outcome.DENIED, tool="rm", params={"p": "/"})

    assert (call.tool, call.outcome, call.turn, call.failed) == ("rm", Outcome.DENIED, 0, False)


def test_counters_are_kept_per_run_and_resumed_by_id(kit: Any) -> None:
    first = kit.run(agent_id="sub")
    kit.call(first)
    second = kit.session.open_run(first.prompt)
    resumed = kit.session.open_run(first.prompt, run_id=first.run_id)

    assert (second.state.calls, resumed.state.calls) == (0, 1)
    assert [e.resumed for e in kit.session[RunOpened].all()] == [False, False, True]
    assert kit.session[ToolInvoked].latest().agent_id == "sub"


def test_a_run_of_another_prompt_is_not_resumed(kit: Any) -> None:
    run = kit.run("one")
    with pytest.raises(SessionError, match="agent/one"):
        kit.run("two", run_id=run.run_id)


def test_a_closed_run_keeps_its_record_and_says_no_more(kit: Any) -> None:
    speaker = kit.Speaker()
    run = kit.run(guidance_providers=[speaker])
    kit.call(run)
    run.close("done")
    run.close("twice")

    assert [e.reason for e in kit.session[RunClosed].all()] == ["done"]
    assert not run.guide(DecisionPoint.PRE_TOOL_SELECTION)
    assert run.feedback() is None
    assert (run.state.calls, speaker.asked) == (1, 0)


def test_what_is_said_after_the_end_of_a_run_is_not_delivered(kit: Any) -> None:
    def late(context: Any) -> Any:
        run.close("cancelled")
        return ClassificationResult(relevant=True)

    def too_late(context: Any) -> Feedback:
        run.close("cancelled")
        return Feedback(summary="Too late.")

    run = kit.run("guided", guidance_providers=[kit.Speaker(verdict=late)])
    kit.call(run)
    assert not run.guide(DecisionPoint.PRE_TOOL_SELECTION)
    assert "closed" in kit.session[GuidanceSuppressed].latest().reason

    every = FeedbackProviderConfig(kit.Commentator(say=too_late), FeedbackTrigger(every_n_calls=1))
    run = kit.run("fed", feedback_providers=[every])
    kit.call(run)
    assert run.feedback() is None
    assert kit.session[Feedback].all() == ()


def test_active_time_goes_on_where_it_stopped(kit: Any) -> None:
    run = kit.run()
    kit.clock.advance(10)
    kit.call(run)
    kit.clock.advance(3)
    later = Session.restore(kit.session.snapshot(), clock=kit.clock)
    kit.clock.advance(1000)
    resumed = later.open_run(run.prompt, run_id=run.run_id)
    kit.clock.advance(5)

    assert resumed.active_seconds == 18
    assert later.open_run(run.prompt, run_id=run.run_id).active_seconds == 18


def test_usage_adds_up_and_the_budget_ends_at_its_limit(kit: Any) -> None:
    run = kit.run(budget=Budget(max_total_tokens=30))
    run.model_responded(usage=Usage(10, 5, 0.1))
    before = run.exhausted_budget()
    run.model_responded(usage=Usage(10, 5, 0.1))

    assert (before, run.exhausted_budget()) == (None, "max_total_tokens")
    assert run.usage == Usage(20, 10, 0.2)
    assert kit.session[ModelResponded].all()[-1].turn == 1


def test_turns_and_calls_are_limits_of_a_budget(kit: Any) -> None:
    run = kit.run(budget=Budget(max_turns=3, max_calls=2))
    found = []
    for _ in range(3):
        run.model_responded()
        run.tool_finished("c", "seen", tool="look")
        found.append(run.exhausted_budget())

    assert found == [None, "max_calls", "max_turns"]
    assert RunContext(run).turns_left == 0


def test_a_host_limits_the_turns_of_a_request_and_a_budget_those_of_the_run(kit: Any) -> None:
    host, budget = Host(max_turns=4), Budget(max_turns=6)
    run = kit.run(host=host, budget=budget)
    left = []
    for said in ("Do it.", "Do more."):
        run.user_message(said)
        run.user_message("A task has ended.", notification=True)
        for _ in range(3):
            left.append(RunContext(run).turns_left)
            run.model_responded()
            later = Session.restore(kit.session.snapshot(), clock=kit.clock)
            resumed = later.open_run(run.prompt, run_id=run.run_id, host=host, budget=budget)
            assert RunContext(resumed).turns_left == RunContext(run).turns_left

    assert left == [4, 3, 2, 3, 2, 1]
    assert RunContext(kit.run()).turns_left is None


def test_run_hooks_are_called_once_each(kit: Any) -> None:
    calls: list[str] = []

    class Hooked:
        name = "hooked"

        @hookimpl
        def run_opened(self, context: Any) -> None:
            calls.append(f"opened {context.prompt.name}")

        @hookimpl
        def run_closed(self, context: Any) -> None:
            calls.append("closed")

        @hookimpl
        def guide_pre_response(self, context: Any) -> None:
            return None

    run = kit.run(guidance_providers=[Hooked()])
    run.close()
    run.close()

    assert calls == ["opened agent/main", "closed"]


@pytest.mark.waits
def test_a_run_hook_that_hangs_is_left_behind(kit: Any) -> None:
    release = threading.Event()

    class Hanging:
        name = "hanging"

        @hookimpl
        def run_opened(self, context: Any) -> None:
            release.wait(10)

        run_closed = run_opened

        @hookimpl
        def guide_pre_response(self, context: Any) -> None:
            return None

    try:
        run = kit.run(guidance_providers=[Hanging()], timeout=0.05)
        run.close()
    finally:
        release.set()

    hooks = [fault.hook for fault in kit.session[ProviderFaulted].all()]
    assert hooks == ["run_opened", "run_closed"]
    assert run.state.closed


def test_recent_calls_are_those_of_the_run(kit: Any) -> None:
    first, second = kit.run("a"), kit.run("b")
    for n in range(100):
        kit.call(first if n % 2 else second, params={"n": n})

    assert [c.params["n"] for c in first.recent_tool_calls(2)] == [97, 99]
    assert len(first.recent_tool_calls(1000)) == 50
    assert first.recent_tool_calls(0) == ()


def test_the_agents_tools_are_the_hosts_and_those_of_prompt_and_sections(kit: Any) -> None:
    def tool(name: str) -> Tool[Any, Any]:
        return Tool(name, "does it", Note, lambda params, *, context: ToolResult.ok(None))

    section = MarkdownSection(key="s", title="S", template="text", tools=(tool("inner"),))
    unknown = kit.run("unknown")
    known = kit.run("known", sections=(section,), tools=(tool("outer"),))
    hosted = kit.session.open_run(known.prompt, host=Host("h", tools=frozenset({"host"})))

    assert unknown.tools is None
    assert known.tools is None
    assert hosted.tools == {"inner", "outer", "host"}


def test_a_duration_does_not_depend_on_when_the_clock_began(kit: Any) -> None:
    kit.clock.advance(100)
    run = kit.run()
    kit.clock.advance(5)
    run.tool_started("read", {}, "c1")
    kit.clock.advance(2)

    assert run.tool_finished("c1", "text").duration == 2
