"""A driver places text where its host declares it, once, and knows the calls of a response."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from trimtab import (
    DecisionPoint,
    Delivery,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceDelivered,
    GuidanceProviderConfig,
    Host,
    Outcome,
    SessionError,
    TaskCompletionResult,
    ToolCall,
    ToolInvoked,
)
from trimtab.events import (
    CallOrigin,
    CompletionStatus,
    FeedbackSuppressed,
    GuidanceSuppressed,
    ModelResponded,
    RunClosed,
    UserMessage,
)
from trimtab.hosting import Driver, append_text

CALLS = [ToolCall("read", {"path": "a"}, "c1"), ToolCall("read", {"path": "b"}, "c2")]


def host(**delivery: str) -> Host:
    """Return a host with some deliveries; all others are ephemeral."""
    declared = dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL)
    declared.update({DecisionPoint(name): Delivery(way) for name, way in delivery.items()})
    return Host("test", declared)


EVERYWHERE = host()


@pytest.fixture
def drive(kit: Any) -> Callable[..., Driver]:
    """Return a driver whose providers speak at every point, each time with another text."""

    def make(
        *,
        points: tuple[str, ...] = (),
        on: Host = EVERYWHERE,
        strict: bool = False,
        of: type[Driver] = Driver,
        **prompt: Any,
    ) -> Driver:
        providers = [
            GuidanceProviderConfig(
                kit.Speaker(
                    name=point,
                    category=point,
                    text=lambda c: f"{c.decision_point.value} {c.tool_call_count}",
                    verdict=lambda c, at=point: at_point(c, at),
                ),
                cooldown_turns=0,
                max_per_run=100,
            )
            for point in points
        ]
        run = kit.run(guidance_providers=providers, host=on, **prompt)
        return of(run, timeout=None, strict=strict)

    return make


def at_point(context: Any, point: str) -> Any:
    from trimtab import NOT_RELEVANT, ClassificationResult

    spoken = context.decision_point.value == point
    return ClassificationResult(relevant=True) if spoken else NOT_RELEVANT


def texts(text: str) -> list[str]:
    return re.findall(r">([^<]+)</guidance>", text)


def test_a_request_carries_guidance_and_a_retry_carries_the_same(drive: Any) -> None:
    driver = drive(points=("pre_tool_selection",))
    first = driver.next_request()
    assert texts(first) == ["pre_tool_selection 0"]
    assert driver.next_request() == first
    assert len(driver.run.session[GuidanceDelivered]) == 1


def test_ephemeral_text_of_earlier_points_goes_with_the_next_request_alone(drive: Any) -> None:
    driver = drive(points=("pre_render", "pre_tool_execution", "post_tool_result"))
    driver.render()
    assert texts(driver.next_request()) == ["pre_render 0"]
    assert texts(driver.responded("", CALLS)) == ["pre_tool_execution 0"]
    assert driver.answered("c1", "done") == ""
    assert driver.answered("c2", "done") == ""
    spoken = texts(driver.next_request())
    assert spoken == ["pre_tool_execution 0", "post_tool_result 1", "post_tool_result 2"]
    driver.responded("")
    assert driver.next_request() == ""


def test_persisted_text_stands_behind_the_results(drive: Any) -> None:
    persisted = host(
        **dict.fromkeys((point.value for point in DecisionPoint), Delivery.PERSISTED.value)
    )
    driver = drive(
        points=("pre_render", "pre_tool_selection", "pre_tool_execution", "post_tool_result"),
        on=persisted,
    )
    assert texts(driver.render().text) == ["pre_render 0"]
    assert texts(driver.next_request()) == ["pre_tool_selection 0"]
    assert driver.next_request() == "", "it stands in the history already"
    driver.responded("", CALLS)
    assert texts(driver.answered("c1", "done")) == ["pre_tool_execution 0", "post_tool_result 1"]
    assert texts(driver.answered("c2", "done")) == ["post_tool_result 2"]
    assert {event.delivery for event in driver.run.session[GuidanceDelivered].all()} == {
        Delivery.PERSISTED
    }


def test_a_refusal_is_of_the_whole_batch_until_the_next_response(drive: Any, kit: Any) -> None:
    speaker = GuidanceProviderConfig(kit.Speaker(text="Not like this."), refuse=True)
    on = Host("gate", {DecisionPoint.PRE_TOOL_EXECUTION: Delivery.REFUSAL})
    driver = Driver(kit.run(guidance_providers=[speaker], host=on), timeout=None, strict=True)
    assert driver.responded("", CALLS) == ""
    for call in (CALLS[1], CALLS[0], "c1"):  # the runtime may start a call a second time
        with driver.running(call) as running:
            assert texts(running.refusal) == ["Not like this."]
    for call in CALLS:
        driver.answered(call, "refused", Outcome.DENIED)
    driver.responded("", [ToolCall("read", {"path": "c"}, "c3")])
    with driver.running("c3") as running:
        assert running.refusal == ""
        driver.answered("c3", "done")
    ended = driver.run.session[ToolInvoked].all()
    assert [call.outcome for call in ended] == [Outcome.DENIED, Outcome.DENIED, Outcome.OK]


def test_feedback_stands_behind_the_result_or_goes_with_the_request(kit: Any) -> None:
    every = FeedbackProviderConfig(kit.Commentator(), FeedbackTrigger(every_n_calls=1))
    driver = Driver(kit.run(feedback_providers=[every]), timeout=None)
    driver.responded("", CALLS[:1])
    assert "1 calls" in driver.answered("c1", "done")
    fixed = host(post_tool_result="none")
    driver = Driver(kit.run("other", feedback_providers=[every], host=fixed), timeout=None)
    driver.responded("", CALLS)
    assert driver.answered("c1", "done") == ""
    assert "1 calls" in driver.next_request()
    assert driver.answered("c2", "done", delivery=Delivery.NONE) == "", "nobody is asked"
    assert "2 calls" not in driver.next_request()


def test_an_answer_knows_the_call_of_the_response(drive: Any) -> None:
    driver = drive()
    driver.responded("", CALLS)
    driver.answered("c2", "no such file", Outcome.INVALID)
    [call] = driver.run.session[ToolInvoked].all()
    assert (call.tool, call.params, call.error) == ("read", {"path": "b"}, "no such file")


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("error", [None, "said apart"])
def test_the_result_of_a_call_that_failed_is_its_error_unless_one_is_given(
    drive: Any, outcome: Outcome, error: str | None
) -> None:
    driver = drive()
    driver.responded("", CALLS)
    driver.answered("c1", "no such file", outcome, error=error)
    [call] = driver.run.session[ToolInvoked].all()
    result = None if outcome is Outcome.OK else "no such file"
    assert call.error == (result if error is None else error)


def test_a_strict_driver_lets_a_call_be_answered_once(drive: Any) -> None:
    driver = drive(strict=True)
    driver.responded("", CALLS[:1])
    driver.answered("c1", "done")
    with pytest.raises(SessionError, match="has its answer already"):
        driver.answered("c1", "done")
    with pytest.raises(SessionError, match="give tool= and params="):
        driver.answered("c9", "done")
    driver.answered("c9", "done", tool="hook", params={})
    assert len(driver.run.session[ToolInvoked]) == 2


def test_calls_that_share_an_id_keep_their_own_arguments(drive: Any) -> None:
    driver = drive()
    driver.responded("", [ToolCall("read", {"n": n}, "same") for n in range(3)])
    for n in range(3):
        driver.answered("same", n)
    calls = driver.run.session[ToolInvoked].all()
    assert [(call.params["n"], call.result) for call in calls] == [(0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ValueError("bad"), Outcome.ERROR),
        (SystemExit(1), Outcome.ERROR),
        (KeyboardInterrupt(), Outcome.INTERRUPTED),
    ],
)
def test_a_tool_that_raises_is_recorded_once(
    drive: Any, error: BaseException, outcome: Outcome
) -> None:
    driver = drive(points=("post_tool_result",))
    driver.responded("", CALLS[:1])
    with pytest.raises(type(error)), driver.running("c1"):
        raise error
    driver.answered("c1", "told to the model", Outcome.ERROR)
    [ended] = driver.run.session[ToolInvoked].all()
    assert (ended.outcome, ended.result) != (outcome, "told to the model")
    assert ended.outcome is outcome
    assert not driver.run.state.running
    assert texts(driver.next_request()) == ["post_tool_result 1"]


def test_a_cancelled_call_is_interrupted(drive: Any) -> None:
    driver = drive()
    driver.responded("", CALLS[:1])

    async def call() -> None:
        async with driver.running("c1"):
            await asyncio.sleep(10)

    async def main() -> None:
        task = asyncio.create_task(call())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert driver.run.session[ToolInvoked].latest().outcome is Outcome.INTERRUPTED


def test_guidance_before_the_end_asks_for_another_answer(drive: Any) -> None:
    driver = drive(points=("pre_response",))
    driver.responded("done")
    verdict = driver.may_stop()
    assert (bool(verdict), verdict.text) == (False, "")
    assert texts(driver.next_request()) == ["pre_response 0"]
    driver = drive(points=("pre_response",), on=host(pre_response="persisted"))
    driver.responded("done")
    assert texts(driver.may_stop().text) == ["pre_response 0"]
    assert driver.may_stop(awaiting_user=True), "nobody answers for the user"
    assert driver.may_stop(delivery=Delivery.NONE)


def test_the_gate_sends_the_agent_back_with_feedback(kit: Any) -> None:
    checker = kit.Checker(answer=lambda c: TaskCompletionResult.incomplete(c.tentative_output))
    driver = Driver(kit.run(completion_checkers=[checker]), timeout=None)
    driver.responded("<all> done")
    verdict = driver.may_stop()
    assert not verdict
    assert verdict.text == '<feedback source="completion">&lt;all&gt; done</feedback>'
    failed = driver.may_stop(api_error="overloaded")
    assert failed.checked is not None
    assert failed.checked.status is CompletionStatus.SKIPPED


def test_one_request_of_the_user_is_recorded_once(drive: Any) -> None:
    driver = drive()
    driver.user_said("go on")
    driver.user_said("go on")
    driver.responded("done")
    driver.user_said("go on")
    assert len(driver.run.session[UserMessage]) == 2


def test_replayed_decisions_count_and_say_nothing(kit: Any) -> None:
    speaker = GuidanceProviderConfig(kit.Speaker(), max_per_run=2, cooldown_turns=0)
    every = FeedbackProviderConfig(kit.Commentator(), FeedbackTrigger(every_n_calls=1))
    run = kit.run(guidance_providers=[speaker], feedback_providers=[every])
    assert not run.guide(DecisionPoint.PRE_TOOL_SELECTION, replayed=True)
    run.model_responded(tool_calls=CALLS[:1])
    run.tool_finished("c1", "done")
    assert run.feedback(replayed=True) is None
    assert len(run.session[GuidanceDelivered]) == 0
    assert {event.reason for event in run.session[GuidanceSuppressed].all()} >= {"replayed"}
    assert [event.feedback.summary for event in run.session[FeedbackSuppressed].all()] == [
        "1 calls"
    ]
    assert "commentator" in run.state.feedback.by_provider
    restored = type(run.session).restore(run.session.snapshot(), clock=kit.clock)
    assert restored.snapshot() == run.session.snapshot()
    assert len(restored[FeedbackSuppressed]) == 1


def test_a_delivery_for_one_request_is_what_the_event_records(drive: Any) -> None:
    driver = drive(points=("pre_tool_selection",))
    assert driver.next_request(delivery=Delivery.NONE) == ""
    driver.responded("", CALLS[:1])
    driver.answered("c1", "done")
    assert texts(driver.next_request(delivery=Delivery.PERSISTED)) == ["pre_tool_selection 1"]
    assert driver.next_request() == ""
    [event] = driver.run.session[GuidanceDelivered].all()
    assert event.delivery is Delivery.PERSISTED


def test_a_declaration_that_no_host_can_keep_is_refused(kit: Any) -> None:
    with pytest.raises(SessionError, match="persisted and PRE_RENDER, "):
        Driver(kit.run(host=host(pre_tool_selection="persisted")))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (None, "completed"),
        (ValueError("bad"), "failed: ValueError: bad"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
def test_the_run_is_closed_on_every_way_out(drive: Any, error: Any, reason: str) -> None:
    driver = drive()
    expected = nullcontext() if error is None else pytest.raises(type(error))
    with expected, driver:
        if error is not None:
            raise error
    assert driver.run.session[RunClosed].latest().reason == reason


def test_the_twins_for_event_loops_say_the_same(drive: Any) -> None:
    points = tuple(point.value for point in DecisionPoint)

    def plain() -> list[Any]:
        with drive(points=points) as driver:
            said: list[Any] = [driver.render().text, driver.next_request()]
            said += [driver.responded("", CALLS[:1]), driver.answered("c1", "done")]
            return [*said, driver.comment(), driver.next_request(), driver.may_stop("end")]

    async def on_a_loop() -> list[Any]:
        async with drive(points=points) as driver:
            said: list[Any] = [(await driver.arender()).text, await driver.anext_request()]
            driver.heard("", CALLS[:1])
            said.append(await driver.abefore_tools())
            said.append(await driver.aanswered("c1", "done"))
            said += [await driver.acomment(), await driver.anext_request()]
            return [*said, await driver.amay_stop("end")]

    assert asyncio.run(on_a_loop()) == plain()


def test_text_is_appended_as_a_paragraph() -> None:
    assert append_text("done", "") == "done"
    assert append_text("done", "<x>") == "done\n\n<x>"


def test_a_call_of_the_harness_goes_on_when_the_model_responds(drive: Any) -> None:
    driver = drive()
    driver.run.tool_started("hook", {}, "h1", caller=CallOrigin.HARNESS)
    driver.responded("", CALLS)

    assert driver.run.recent_tool_calls(9) == ()
    assert driver.run.tool_finished("h1", "ok").result == "ok"


def test_of_a_response_with_its_own_time_it_is_not_known_when_it_was_asked_for(drive: Any) -> None:
    driver = drive()
    driver.next_request()
    driver.responded("live")
    driver.next_request()
    driver.responded("read later", at=driver.run.session.clock.now())
    live, later = driver.run.session[ModelResponded].all()

    assert (live.started, later.started) == (live.at, None)


def test_a_request_during_which_the_user_spoke_is_no_retry(kit: Any) -> None:
    def verdict(_: Any) -> bool:
        if speaker.asked == 1:
            driver.user_said("and something else")
        return True

    speaker = kit.Speaker(verdict=verdict)
    driver = Driver(kit.run(guidance_providers=[speaker]), timeout=None)
    driver.next_request()
    driver.next_request()
    driver.next_request()

    assert speaker.asked == 2
