"""A provider that misbehaves is one event, and nothing else happens."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trimtab import (
    ClassificationResult,
    DecisionPoint,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceDelivered,
    TaskCompletionResult,
    hookimpl,
)
from trimtab._boundary import Ask, Inside, workers
from trimtab.events import (
    CompletionStatus,
    Provenance,
    ProviderFaulted,
    ProviderKind,
    ProviderQuarantined,
    ProviderSlow,
)

SELECT = DecisionPoint.PRE_TOOL_SELECTION


def raises(error: BaseException) -> Any:
    def verdict(context: Any) -> Any:
        raise error

    return verdict


async def stray(context: Any) -> ClassificationResult:
    return ClassificationResult(relevant=True)


MISBEHAVIOUR = {
    "raises": (raises(KeyError("boom")), "KeyError: 'boom'"),
    "exits": (raises(SystemExit(3)), "SystemExit: 3"),
    "returns text": (
        lambda context: "yes",
        "WrongReturn: classify returned str, not ClassificationResult",
    ),
    "returns nothing": (
        lambda context: None,
        "WrongReturn: classify returned NoneType, not ClassificationResult",
    ),
    "stray coroutine": (
        stray,
        "WrongReturn: classify returned coroutine, not ClassificationResult",
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", MISBEHAVIOUR)
@pytest.mark.parametrize("limit", [None, 5.0])
def test_the_others_speak_and_the_fault_is_named(kit: Any, kind: str, limit: float | None) -> None:
    verdict, error = MISBEHAVIOUR[kind]
    run = kit.run(guidance_providers=[kit.Speaker("bad", verdict=verdict), kit.Speaker("good")])

    assert [i.source for i in run.guide(SELECT, timeout=limit).injections] == ["good"]
    fault = kit.session[ProviderFaulted].latest()
    assert (fault.source.name, fault.hook, fault.error) == (
        "bad",
        "guide_pre_tool_selection",
        error,
    )


def words(*_: Any, **__: Any) -> Any:
    return "words"


@hookimpl
def hooked(self: Any, context: Any) -> Any:
    return "words"


def given(**methods: Any) -> Any:
    return type("Given", (), {"name": "g", "category": "c", **methods})()


def commenting(**methods: Any) -> FeedbackProviderConfig:
    return FeedbackProviderConfig(given(**methods), FeedbackTrigger(every_n_calls=1))


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        (given(classify=words, provide=words), "classify returned str, not ClassificationResult"),
        (
            given(classify=lambda *_, **__: ClassificationResult(relevant=True), provide=words),
            "provide returned str, not GuidanceInjection",
        ),
        (
            given(guide_pre_tool_selection=hooked),
            "guide_pre_tool_selection returned str, not Proposal",
        ),
        (commenting(should_run=words, provide=words), "should_run returned str, not bool"),
        (
            commenting(should_run=lambda *_, **__: True, provide=words),
            "provide returned str, not Feedback",
        ),
        (commenting(give_feedback=hooked), "give_feedback returned str, not Feedback"),
        (given(check=words), "check returned str, not TaskCompletionResult"),
        (given(check_completion=hooked), "check_completion returned str, not TaskCompletionResult"),
    ],
)
def test_a_wrong_answer_is_named_with_what_it_should_be(kit: Any, provider: Any, said: str) -> None:
    kind = "feedback" if isinstance(provider, FeedbackProviderConfig) else "guidance"
    checks = any(hasattr(provider, name) for name in ("check", "check_completion"))
    run = kit.run(**{"completion_checkers" if checks else f"{kind}_providers": [provider]})
    run.model_responded()
    run.tool_finished("c", "", tool="look", params={})
    run.guide(SELECT)
    run.feedback()
    run.check_completion()

    assert kit.session[ProviderFaulted].latest().error == f"WrongReturn: {said}"


def test_text_that_is_no_guidance_is_a_fault(kit: Any) -> None:
    run = kit.run(guidance_providers=[kit.Speaker("long", text="x" * 501), kit.Speaker("good")])

    assert [i.source for i in run.guide(SELECT).injections] == ["good"]
    assert "1 to 500" in kit.session[ProviderFaulted].latest().error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_on_a_thread_of_its_own_it_interrupts_nobody(kit: Any, error: BaseException) -> None:
    bad = kit.Speaker("bad", verdict=raises(error))
    run = kit.run(guidance_providers=[bad, kit.Speaker("good")])

    assert [i.source for i in run.guide(SELECT, timeout=5.0).injections] == ["good"]
    assert type(error).__name__ in kit.session[ProviderFaulted].latest().error


def test_three_faults_in_a_row_and_it_leaves_the_table(kit: Any) -> None:
    bad = kit.Speaker("bad", verdict=raises(ValueError("no")))
    run = kit.run(guidance_providers=[bad])
    for _ in range(5):
        run.guide(SELECT)

    assert bad.asked == 3
    assert len(kit.session[ProviderFaulted].all()) == 3
    assert [e.faults for e in kit.session[ProviderQuarantined].all()] == [3]


def test_a_good_answer_in_between_starts_the_count_anew(kit: Any) -> None:
    answers = iter([ValueError(), ValueError(), None, ValueError(), ValueError(), None])

    def verdict(context: Any) -> Any:
        error = next(answers)
        if error:
            raise error
        return ClassificationResult(relevant=False)

    run = kit.run(guidance_providers=[kit.Speaker(verdict=verdict)])
    for _ in range(6):
        run.guide(SELECT)

    assert kit.session[ProviderQuarantined].all() == ()


def test_quarantine_is_per_run_and_another_prompt_is_not_touched(kit: Any) -> None:
    bad = kit.Speaker("bad", verdict=raises(ValueError("no")))
    first, second = kit.run("a", guidance_providers=[bad]), kit.run("b", guidance_providers=[bad])
    for _ in range(4):
        first.guide(SELECT)
    second.guide(SELECT)

    assert bad.asked == 4


@pytest.mark.waits
def test_an_overdue_provider_is_left_behind_and_the_others_are_asked(kit: Any) -> None:
    free = threading.Event()
    sleeper = kit.Speaker("sleeper", verdict=lambda context: free.wait(20))
    run = kit.run(guidance_providers=[sleeper, kit.Speaker("good")])
    began = time.monotonic()
    batch = run.guide(SELECT, timeout=0.2)
    took = time.monotonic() - began
    free.set()

    assert [i.source for i in batch.injections] == ["good"]
    assert 0.2 <= took < 5
    assert "no answer within 0.2 s" in kit.session[ProviderFaulted].latest().error


def test_slowness_is_on_record(kit: Any) -> None:
    def slow(context: Any) -> ClassificationResult:
        kit.clock.advance(0.06)
        return ClassificationResult(relevant=True)

    run = kit.run(guidance_providers=[kit.Speaker(verdict=slow)])

    assert run.guide(SELECT)
    assert kit.session[ProviderSlow].latest().seconds == pytest.approx(0.06)


def test_ran_and_had_nothing_to_say_is_not_broken(kit: Any) -> None:
    quiet = kit.Speaker("quiet", verdict=ClassificationResult(relevant=False))
    run = kit.run(guidance_providers=[quiet])
    run.guide(SELECT)

    assert quiet.asked == 1
    assert kit.session[ProviderFaulted].all() == kit.session[GuidanceDelivered].all() == ()


@pytest.mark.parametrize("limit", [None, 5.0])
def test_providers_that_ask_their_own_run_end_at_once(kit: Any, limit: float | None) -> None:
    def asks(context: Any) -> ClassificationResult:
        run.guide(context.decision_point, timeout=limit)
        return ClassificationResult(relevant=True)

    def stops(context: Any) -> TaskCompletionResult:
        run.check_completion()
        return TaskCompletionResult.ok()

    def comments(context: Any) -> Feedback:
        run.guide(SELECT, timeout=limit)
        return Feedback(summary="asked")

    trigger = FeedbackTrigger(every_n_calls=1)
    run = kit.run(
        guidance_providers=[kit.Speaker(name, verdict=asks) for name in ("one", "two", "three")],
        feedback_providers=[FeedbackProviderConfig(kit.Commentator(say=comments), trigger)],
        completion_checkers=[kit.Checker(answer=stops)],
    )
    kit.call(run)

    assert not run.guide(SELECT, timeout=limit)
    assert run.feedback(timeout=limit) is None
    assert run.check_completion().status is CompletionStatus.UNVERIFIED
    faults = kit.session[ProviderFaulted].all()
    assert [fault.source.name for fault in faults] == [
        "one", "two", "three", "commentator", "checker",
    ]  # fmt: skip
    assert all("must not ask the run" in fault.error for fault in faults)


def test_an_error_whose_text_can_not_be_had_is_a_fault_like_any_other(kit: Any) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    run = kit.run(guidance_providers=[kit.Speaker("mute", verdict=raises(Mute()))])

    assert not run.guide(SELECT)
    assert kit.session[ProviderFaulted].latest().error == "Mute"


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "trimtab-provider"]


def test_open_runs_share_their_threads(kit: Any) -> None:
    before = threads()
    for number in range(50):
        run = kit.run(str(number), guidance_providers=[kit.Speaker()])
        assert run.guide(SELECT, timeout=5.0)

    assert len(set(threads()) - set(before)) <= 1


def test_threads_that_many_needed_at_once_end(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_idle", [])
    before, together = threads(), threading.Barrier(20, timeout=20)

    def wait(context: Any) -> ClassificationResult:
        together.wait()
        return ClassificationResult(relevant=True)

    runs = [kit.run(str(n), guidance_providers=[kit.Speaker(verdict=wait)]) for n in range(20)]
    with ThreadPoolExecutor(20) as pool:
        assert all(pool.map(lambda run: run.guide(SELECT, timeout=30.0), runs))

    deadline = time.monotonic() + 20
    while len(left := set(threads()) - set(before)) > workers.MOST_IDLE:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert left


def test_a_waiting_thread_holds_nothing_of_what_it_did() -> None:
    class Job:
        def __call__(self, _: object) -> int:
            return 1

    job = Job()
    ask = Ask(Provenance("job", ProviderKind.GUIDANCE), "call", job)
    replies = workers.call_on_worker([ask], None, Inside(), time.monotonic, 5.0)
    assert [reply.value for reply in replies] == [1]
    left = weakref.ref(job)
    del job, ask

    deadline = time.monotonic() + 20
    while left() is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_system_without_threads_to_give_is_a_fault_and_stops_nobody(
    kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = kit.run(guidance_providers=[kit.Speaker("one"), kit.Speaker("two")])
    with monkeypatch.context() as scarce:
        scarce.setattr(workers, "_idle", [])
        scarce.setattr(threading.Thread, "start", raises(RuntimeError("can't start new thread")))
        batch = run.guide(SELECT, timeout=5.0)

    assert not batch
    assert [fault.source.name for fault in kit.session[ProviderFaulted].all()] == ["one", "two"]
    assert len(run.guide(SELECT, timeout=5.0).injections) == 1


class Rude(BaseException):
    """A provider's own exception, beside `Exception`."""


@pytest.mark.parametrize(
    "error",
    [
        Rude("no"),
        GeneratorExit(),
        SystemExit(3),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        BaseExceptionGroup("several", [KeyboardInterrupt()]),
    ],
)
def test_whatever_a_provider_raises_is_its_own_failure(kit: Any, error: BaseException) -> None:
    rude = kit.Speaker("rude", verdict=raises(error))
    run = kit.run(guidance_providers=[rude, kit.Speaker("good")])
    kit.call(run)

    assert [i.source for i in run.guide(SELECT).injections] == ["good"]
    assert kit.session[ProviderFaulted].latest().source.name == "rude"
