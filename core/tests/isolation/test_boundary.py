"""The boundary between a run and the code of others: interrupts, re-entry, counts, what is kept."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from trimtab import (
    ClassificationResult,
    CompositeChecker,
    DecisionPoint,
    Event,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceDelivered,
    GuidanceInjection,
    Heartbeat,
    Prompt,
    Resources,
    RootedFilesystem,
    Session,
    SessionError,
    TaskCompletionResult,
    ToolInvoked,
)
from trimtab.events import (
    CompletionStatus,
    GuidanceSuppressed,
    ObserverFaulted,
    ProviderFaulted,
    ProviderQuarantined,
    ToolStarted,
)

SELECT = DecisionPoint.PRE_TOOL_SELECTION
RELEVANT = ClassificationResult(relevant=True)


class TwoSteps:
    """A guidance provider as the tutorial teaches it."""

    category = "test"

    def __init__(
        self,
        name: str = "two-steps",
        classify: Callable[[Any], Any] = lambda _: RELEVANT,
        provide: Callable[[Any], Any] = lambda _: GuidanceInjection("k", "text"),
    ) -> None:
        self.name, self.asked = name, 0
        self._classify, self._provide = classify, provide

    def classify(self, *, context: Any) -> Any:
        self.asked += 1
        return self._classify(context)

    def provide(self, *, context: Any) -> Any:
        return self._provide(context)


class Tape:
    """A recorder that keeps what it hears, and may do something about it."""

    def __init__(self, name: str = "tape", act: Callable[[Any], Any] = lambda _: None) -> None:
        self.name, self.heard, self._act = name, list[Any](), act

    def open(self, context: Any) -> Tape:
        return self

    def record(self, event: Any) -> Any:
        self.heard.append(event)
        return self._act(event)

    def close(self) -> None:
        """Nothing is open."""

    def count(self, kind: type[Any]) -> int:
        return sum(isinstance(event, kind) for event in self.heard)


def fails(_: Any) -> Any:
    raise ValueError("broken")


# Interrupts --------------------------------------------------------------------------------------


def press_ctrl_c(_: Any = None) -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("step", ["classify", "provide"])
def test_an_interrupt_that_meets_a_provider_passes_through(kit: Any, step: str) -> None:
    met = TwoSteps("met", **{step: press_ctrl_c})
    run = kit.run(guidance_providers=[met])
    with pytest.raises(KeyboardInterrupt):
        run.guide(SELECT)

    assert not kit.session[ProviderFaulted].all()
    met._classify, met._provide = TwoSteps()._classify, TwoSteps()._provide
    assert run.guide(SELECT)


def test_an_interrupt_that_meets_a_waiting_provider_passes_through(kit: Any) -> None:
    def waits(_: Any) -> Any:
        threading.Timer(0.05, signal.pthread_kill, (threading.get_ident(), signal.SIGINT)).start()
        time.sleep(10)

    run = kit.run(guidance_providers=[TwoSteps(classify=waits)])
    with pytest.raises(KeyboardInterrupt):
        run.guide(SELECT)


class TimeIsUp(BaseException):
    """What the program's own handler of a signal raises."""


def test_what_a_handler_of_signals_raises_belongs_to_the_program(kit: Any) -> None:
    def handler(*_: Any) -> None:
        raise TimeIsUp

    def meets(_: Any) -> Any:
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        run = kit.run(guidance_providers=[TwoSteps(classify=meets)])
        with pytest.raises(TimeIsUp):
            run.guide(SELECT)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_interrupt_in_one_observer_or_recorder_hides_the_event_from_none(kit: Any) -> None:
    first, heard = Tape("first", act=lambda e: isinstance(e, ToolInvoked) and press_ctrl_c()), []
    second = Tape("second")
    run = kit.run(recorders=[first, second])
    kit.session.observe(ToolInvoked, press_ctrl_c)
    kit.session.observe(ToolInvoked, heard.append)
    with pytest.raises(KeyboardInterrupt):
        kit.call(run)

    assert len(heard) == second.count(ToolInvoked) == len(kit.session[ToolInvoked]) == 1
    assert not kit.session[ObserverFaulted].all()


def test_a_callback_of_a_heartbeat_that_exits_stops_neither_beat_nor_others() -> None:
    def leaves() -> None:
        raise SystemExit(1)

    beats: list[int] = []
    heartbeat = Heartbeat()
    heartbeat.add_callback(leaves)
    heartbeat.add_callback(lambda: beats.append(1))
    heartbeat.beat()

    assert beats == [1]
    assert [type(error) for error in heartbeat.faults] == [SystemExit]


def test_the_cancellation_of_a_hosts_task_is_no_fault_of_a_checker(kit: Any) -> None:
    class Waits:
        async def check(self, context: Any) -> TaskCompletionResult:
            await asyncio.sleep(10)
            return TaskCompletionResult.ok()

    async def host() -> None:
        composite = CompositeChecker([Waits(), Waits()])
        async with asyncio.timeout(0.05):
            await composite.check(None)  # type: ignore[arg-type]

    with pytest.raises(TimeoutError):
        asyncio.run(host())


def test_a_cancellation_that_a_checker_leaks_is_its_fault(kit: Any) -> None:
    class Leaks:
        async def check(self, context: Any) -> TaskCompletionResult:
            task = asyncio.ensure_future(asyncio.sleep(10))
            task.cancel()
            await task
            return TaskCompletionResult.ok()

    class Incomplete:
        def check(self, context: Any) -> TaskCompletionResult:
            return TaskCompletionResult.incomplete("work is left")

    run = kit.run(completion_checkers=[CompositeChecker([Leaks(), Incomplete()])])

    assert run.check_completion().status is CompletionStatus.INCOMPLETE


# Counts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize("provide", [fails, lambda _: "text", lambda _: None])
def test_a_provider_whose_second_step_always_fails_is_left_out(
    kit: Any, provide: Any, timeout: float | None
) -> None:
    run = kit.run(guidance_providers=[TwoSteps(provide=provide)])
    for _ in range(40):
        kit.call(run)
        run.guide(SELECT, timeout=timeout)

    assert len(kit.session[ProviderFaulted]) == 3
    assert len(kit.session[ProviderQuarantined]) == 1


def test_a_second_step_that_fails_now_and_then_counts_where_the_first_has_nothing(kit: Any) -> None:
    def every_second(context: Any) -> ClassificationResult:
        return ClassificationResult(relevant=context.tool_call_count % 2 == 0)

    provider = TwoSteps(classify=every_second, provide=fails)
    run = kit.run(guidance_providers=[provider])
    for _ in range(20):
        kit.call(run)
        run.guide(SELECT)

    assert len(kit.session[ProviderFaulted]) == 3
    assert provider.asked == 6


def test_feedback_that_always_fails_is_left_out_whatever_its_trigger_finds(
    kit: Any, tmp_path: Any
) -> None:
    class Comment:
        name = "comment"

        def should_run(self, *, context: Any) -> bool:
            raise ValueError("broken")

        def provide(self, *, context: Any) -> Feedback:
            return Feedback(summary="never")

    trigger = FeedbackTrigger(every_n_calls=1, on_file_created="STOP")
    prompt: Prompt[Any] = Prompt(
        "a", "b", feedback_providers=[FeedbackProviderConfig(Comment(), trigger)], config=None
    )
    resources = Resources.of(RootedFilesystem(tmp_path))
    run = kit.session.open_run(prompt.bind(resources=resources))
    (tmp_path / "STOP").touch()
    for _ in range(10):
        kit.call(run)
        run.feedback()

    assert len(kit.session[ProviderFaulted]) == 3
    assert len(kit.session[ProviderQuarantined]) == 1


def test_the_count_of_faults_outlives_a_snapshot(kit: Any) -> None:
    provider = TwoSteps(provide=fails)
    prompt: Prompt[Any] = Prompt("a", "b", guidance_providers=[provider], config=None)
    session, run_id = Session(), "run"
    for _ in range(5):
        run = session.open_run(prompt, run_id=run_id)
        kit.call(run)
        run.guide(SELECT)
        session = Session.restore(session.snapshot())

    assert provider.asked == 3


@pytest.mark.waits
def test_both_steps_share_one_limit() -> None:
    session, free = Session(), threading.Event()
    slow = TwoSteps(classify=lambda _: time.sleep(0.4) or RELEVANT, provide=lambda _: free.wait(20))
    run = session.open_run(Prompt("a", "b", guidance_providers=[slow], config=None))
    began = time.monotonic()
    run.guide(SELECT, timeout=0.6)
    took = time.monotonic() - began
    free.set()

    assert took < 1.1  # the first step took 0.4 s of 0.6 s: 0.2 s are left, and a quarter more
    assert session[ProviderFaulted].latest().hook == "provide"  # type: ignore[union-attr]


def test_the_first_fault_of_a_provider_is_logged(
    kit: Any, caplog: pytest.LogCaptureFixture
) -> None:
    providers = [TwoSteps(provide=fails), TwoSteps("other", classify=fails)]
    run = kit.run(guidance_providers=providers)
    with caplog.at_level(logging.WARNING, "trimtab"):
        for _ in range(5):
            kit.call(run)
            run.guide(SELECT)

    logged = [(record.name, record.levelname) for record in caplog.records]
    assert logged == [("trimtab", "WARNING")] * 2
    assert "guidance provider 'two-steps' failed in provide" in caplog.text
    assert "ValueError: broken" in caplog.text


# Re-entry ----------------------------------------------------------------------------------------


def on_a_copy(work: Callable[[], Any]) -> threading.Thread:
    return threading.Thread(target=contextvars.copy_context().run, args=(work,))


def on_a_bare_thread(work: Callable[[], Any]) -> threading.Thread:
    return threading.Thread(target=work)


@pytest.mark.slow
@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize("thread_of", [on_a_copy, on_a_bare_thread])
def test_a_provider_that_asks_its_run_from_another_thread_is_not_multiplied(
    kit: Any, thread_of: Any, timeout: float | None
) -> None:
    outcomes: list[Any] = []

    def asks(_: Any) -> ClassificationResult:
        def work() -> None:
            try:
                outcomes.append(run.guide(SELECT, timeout=timeout).text)
            except SessionError as error:
                outcomes.append(str(error))

        thread = thread_of(work)
        thread.start()
        thread.join()
        return ClassificationResult(relevant=False)

    bad = TwoSteps("asks", classify=asks)
    run = kit.run(guidance_providers=[bad, TwoSteps("good")])

    assert [i.source for i in run.guide(SELECT, timeout=timeout).injections] == ["good"]
    assert bad.asked == 1
    assert outcomes in (["a provider must not ask the run that is asking it"], [""])
    if thread_of is on_a_bare_thread:
        fault = kit.session[ProviderFaulted].latest()
        assert fault.source.name == "asks"
        assert "must not ask its own run" in fault.error


def test_a_checker_that_asks_its_run_from_bare_threads_ends(kit: Any) -> None:
    asked: list[int] = []

    class Asks:
        name = "asks"

        def check(self, context: Any) -> TaskCompletionResult:
            asked.append(1)
            thread = threading.Thread(target=run.check_completion)
            thread.start()
            thread.join()
            return TaskCompletionResult.ok()

    run = kit.run(completion_checkers=[Asks()])

    assert run.check_completion().status is CompletionStatus.OK
    assert len(asked) < 20
    assert "does a checker ask its run?" in kit.session[ProviderFaulted].latest().error


def test_what_a_provider_has_started_may_ask_once_the_provider_has_answered(kit: Any) -> None:
    answered, said = threading.Event(), list[str]()

    def starts(_: Any) -> ClassificationResult:
        def later() -> None:
            answered.wait(20)
            said.append(run.guide(SELECT).text)

        thread = on_a_copy(later)
        thread.start()
        threads.append(thread)
        return ClassificationResult(relevant=False)

    threads: list[threading.Thread] = []
    provider = TwoSteps("starts", classify=starts)
    run = kit.run(guidance_providers=[provider, TwoSteps("good")])
    run.guide(SELECT)
    provider._classify = lambda _: ClassificationResult(relevant=False)
    kit.call(run)
    kit.clock.advance(60)
    answered.set()
    threads[0].join(20)

    assert len(said) == 1


# Recorders ---------------------------------------------------------------------------------------


def test_the_failures_of_a_recorder_do_not_feed_it(kit: Any) -> None:
    def picky(event: Any) -> None:
        if isinstance(event, ToolInvoked | ProviderFaulted):
            raise ValueError("broken")

    tape, other = Tape("picky", picky), Tape("other")
    run = kit.run(recorders=[tape, other])
    kit.call(run)

    assert tape.count(ProviderFaulted) == 0
    assert other.count(ProviderFaulted) == len(kit.session[ProviderFaulted]) == 1


@pytest.mark.slow
def test_two_recorders_that_fail_over_each_other_s_failures_come_to_an_end(kit: Any) -> None:
    def picky(event: Any) -> None:
        if isinstance(event, ToolInvoked | ProviderFaulted):
            raise ValueError("broken")

    run = kit.run(recorders=[Tape("one", picky), Tape("two", picky)])
    kit.call(run)

    assert len(kit.session[ProviderFaulted]) == 4  # one for the call each, one for the other's


@pytest.mark.slow
def test_a_recorder_that_reports_to_its_run_comes_to_an_end_and_is_told_how_to(kit: Any) -> None:
    def reports(event: Any) -> None:
        if isinstance(event, ToolInvoked):
            kit.call(run, params={"n": run.state.calls})

    tapes = [Tape("one", reports), Tape("two", reports)]
    run = kit.run(recorders=tapes)
    kit.call(run)

    # The call, one of each recorder about it, and one about what the other reported.
    assert len(kit.session[ToolInvoked]) == 5
    errors = {fault.error for fault in kit.session[ProviderFaulted].all()}
    assert len(errors) == 1
    assert "return a list of records instead" in errors.pop()


@attrs.frozen
class Remark(Event):
    text: str = ""


class Odd(Remark):
    """An event whose constructor takes something else."""

    def __init__(self, number: int) -> None:
        super().__init__(text=str(number))


def test_two_recorders_that_answer_each_other_come_to_an_end(kit: Any) -> None:
    def answers(event: Any) -> list[Any] | None:
        return [Remark(text="x")] if isinstance(event, ToolStarted | Remark) else None

    run = kit.run(recorders=[Tape("one", answers), Tape("two", answers)])
    run.tool_started("read", {}, "c1")

    assert len(kit.session[Remark]) == 4


def test_an_event_with_a_constructor_of_its_own_is_recorded(kit: Any) -> None:
    run = kit.run(
        recorders=[Tape(act=lambda event: [Odd(7)] if isinstance(event, ToolStarted) else None)]
    )
    run.tool_started("read", {}, "c1")
    kit.session.dispatch(Odd(8))

    assert [(event.text, event.run_id) for event in kit.session[Odd].all()] == [
        ("7", run.run_id),
        ("8", run.run_id),
    ]


@pytest.mark.slow
def test_a_recorder_that_waits_for_a_thread_that_records_does_not_stop_the_run(kit: Any) -> None:
    def waits(event: Any) -> None:
        if isinstance(event, ToolInvoked) and event.tool == "read":
            thread = threading.Thread(target=kit.call, args=(run, "other"))
            thread.start()
            thread.join()

    tape = Tape("waits", waits)
    run = kit.run(recorders=[tape])
    began = time.monotonic()
    for _ in range(3):
        kit.call(run)

    assert time.monotonic() - began < 10
    run.close()
    assert tape.count(ToolInvoked) == len(kit.session[ToolInvoked]) == 6


def test_an_observer_that_records_what_it_observes_comes_to_an_end(kit: Any) -> None:
    run = kit.run()
    heard: list[Any] = []
    kit.session.observe(ToolInvoked, lambda _: kit.call(run))
    kit.session.observe(ToolInvoked, heard.append)
    kit.call(run)

    assert 1 < len(heard) < 100
    assert "without end" in kit.session[ObserverFaulted].latest().error


# What is handed over, and what is kept -----------------------------------------------------------


def test_what_classify_found_reaches_provide_and_is_not_recorded(kit: Any) -> None:
    found, seen = object(), list[Any]()

    def provide(context: Any) -> GuidanceInjection:
        seen.extend([context.found, context.classification.found])
        return GuidanceInjection("k", "text")

    verdict = ClassificationResult(relevant=True, episode="e", found=found)
    run = kit.run(guidance_providers=[TwoSteps(classify=lambda _: verdict, provide=provide)])
    assert run.guidance_context(SELECT).found is None
    run.guide(SELECT)
    kit.call(run)
    run.guide(SELECT)

    assert seen == [found, found]
    events = [
        kit.session[GuidanceDelivered].latest(),
        kit.session[GuidanceSuppressed].latest(),
    ]
    assert [event.classification.found for event in events] == [None, None]
    assert "found" not in kit.session.snapshot()


def test_what_a_provider_says_is_bounded_on_record(kit: Any) -> None:
    verdict = ClassificationResult(True, reason="r" * 5_000_000, episode="e" * 5_000_000)
    other = ClassificationResult(True, episode="e" * 4_999_999)
    comment = kit.Commentator(say=lambda _: Feedback(summary="s" * 5_000_000))
    run = kit.run(
        guidance_providers=[TwoSteps(classify=lambda _: verdict)],
        feedback_providers=[FeedbackProviderConfig(comment, FeedbackTrigger(every_n_calls=1))],
    )
    kit.call(run)
    run.guide(SELECT)
    run.feedback()

    assert len(kit.session.snapshot()) < 50_000
    told_apart = kit.run("b", guidance_providers=[TwoSteps(classify=lambda _: other)])
    told_apart.guide(SELECT)
    first, second = kit.session[GuidanceDelivered].all()
    assert first.episode != second.episode
