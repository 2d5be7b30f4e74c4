"""Completion: the verdict, the gate's own caps, and when it isn't asked."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from trimtab import (
    Budget,
    CompletionCheckerConfig,
    CompositeChecker,
    Deadline,
    TaskCompletionResult,
    Usage,
    check_completion,
    hookimpl,
)
from trimtab.events import CompletionChecked, CompletionStatus, ProviderFaulted

OK, INCOMPLETE, UNVERIFIED, SKIPPED = CompletionStatus
ok = TaskCompletionResult.ok
incomplete = TaskCompletionResult.incomplete
unverified = TaskCompletionResult.unverified


def raising(context: Any) -> Any:
    raise ModuleNotFoundError("yaml")


def crash(_: Any) -> TaskCompletionResult:
    raise ZeroDivisionError


def checkers(kit: Any, *answers: Any) -> list[Any]:
    return [
        kit.Checker(f"c{n}", a if callable(a) else lambda c, a=a: a) for n, a in enumerate(answers)
    ]


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ([ok()], OK),
        ([ok(), ok("fine")], OK),
        ([ok(), incomplete("do x")], INCOMPLETE),
        ([unverified("no look"), ok()], UNVERIFIED),
        ([unverified("no look"), incomplete("do x")], INCOMPLETE),
        ([raising, incomplete("do x")], INCOMPLETE),
        ([raising, ok()], UNVERIFIED),
        ([lambda c: "yes"], UNVERIFIED),
    ],
)
def test_incomplete_beats_unverified_beats_ok(kit: Any, answers: Any, status: Any) -> None:
    checked = kit.run(completion_checkers=checkers(kit, *answers)).check_completion()

    assert checked.status is status
    assert checked.may_stop is (status is not INCOMPLETE)
    assert kit.session[CompletionChecked].latest() == checked
    assert [s.name for s in checked.sources] == [f"c{n}" for n in range(len(answers))]


def test_without_a_checker_nothing_is_held(kit: Any) -> None:
    checked = kit.run().check_completion()

    assert (checked.status, checked.may_stop) == (SKIPPED, True)


def test_the_clients_own_checkers_come_after_the_prompts(kit: Any) -> None:
    run = kit.run(completion_checkers=checkers(kit, ok()))
    checked = run.check_completion(extra=[kit.Checker("own", lambda c: incomplete("not signed"))])

    assert (checked.status, checked.feedback) == (INCOMPLETE, "not signed")
    assert [s.name for s in checked.sources] == ["c0", "own"]


def test_a_checker_without_a_name_goes_by_its_class(kit: Any) -> None:
    class Nameless:
        def check(self, context: Any) -> Any:
            return ok()

    checked = kit.run(completion_checkers=[Nameless()]).check_completion()

    assert [s.name for s in checked.sources] == ["Nameless"]


def test_three_blocks_without_progress(kit: Any) -> None:
    run = kit.run(completion_checkers=checkers(kit, incomplete("do x")))
    statuses = [run.check_completion().status for _ in range(6)]

    assert statuses == [INCOMPLETE] * 3 + [SKIPPED] * 3
    assert "without progress" in kit.session[CompletionChecked].latest().reason


def test_progress_starts_the_count_anew_up_to_eight(kit: Any) -> None:
    done = iter(range(1000))
    run = kit.run(
        completion_checkers=checkers(
            kit, lambda c: incomplete("work left", progress=f"{next(done)}")
        )
    )
    statuses = [run.check_completion().status for _ in range(12)]

    assert statuses == [INCOMPLETE] * 8 + [SKIPPED] * 4


def test_a_new_request_of_the_user_starts_the_count_anew(kit: Any) -> None:
    run = kit.run(completion_checkers=checkers(kit, incomplete("do x")))
    for _ in range(5):
        run.check_completion()
    run.user_message("a background task has ended", notification=True)
    noticed = run.check_completion().status
    run.user_message("please go on")

    assert (noticed, run.check_completion().status) == (SKIPPED, INCOMPLETE)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ({"background_work": True}, "background"),
        ({"awaiting_user": True}, "user"),
        ({"api_error": "overloaded"}, "overloaded"),
    ],
)
def test_it_is_not_asked_where_stopping_is_no_decision(kit: Any, stop: Any, reason: str) -> None:
    checker = kit.Checker(answer=lambda c: incomplete("do x"))
    checked = kit.run(completion_checkers=[checker]).check_completion(**stop)

    assert checked.status is SKIPPED and reason in checked.reason
    assert checker.asked == 0
    assert kit.session[CompletionChecked].latest() == checked


def test_it_is_skipped_when_time_or_money_is_up(kit: Any) -> None:
    late = kit.run(
        "late",
        completion_checkers=checkers(kit, incomplete("x")),
        deadline=Deadline(60, kit.clock),
    )
    poor = kit.run(
        "poor",
        completion_checkers=checkers(kit, incomplete("x")),
        budget=Budget(max_output_tokens=5),
    )
    before = (late.check_completion().status, poor.check_completion().status)
    kit.clock.advance(60)
    poor.model_responded(usage=Usage(output_tokens=5))
    after = (late.check_completion(), poor.check_completion())

    assert before == (INCOMPLETE, INCOMPLETE)
    assert [c.status for c in after] == [SKIPPED, SKIPPED]
    assert "max_output_tokens" in after[1].reason


def test_the_final_verification_reports_even_after_the_cap(kit: Any) -> None:
    run = kit.run(completion_checkers=checkers(kit, incomplete("do x")))
    for _ in range(4):
        run.check_completion()
    final = run.check_completion(final=True)

    assert (final.status, final.final, final.feedback) == (INCOMPLETE, True, "do x")


def test_an_async_checker_runs_off_the_loop(kit: Any) -> None:
    threads: list[int] = []

    class Slow:
        name = "slow"

        async def check(self, context: Any) -> Any:
            await asyncio.sleep(0.01)
            threads.append(threading.get_ident())
            return incomplete("async says no")

    run = kit.run(completion_checkers=[Slow()])

    async def host() -> Any:
        return (
            await run.acheck_completion(output="x"),
            run.check_completion(),
            threading.get_ident(),
        )

    checked, direct, loop_thread = asyncio.run(host())
    assert checked.feedback == direct.feedback == "async says no"
    assert loop_thread not in threads


@pytest.mark.waits
def test_an_overdue_checker_is_unverified_on_record(kit: Any) -> None:
    free = threading.Event()
    stuck = CompletionCheckerConfig(kit.Checker(answer=lambda c: free.wait(20)), timeout=0.1)
    run = kit.run(completion_checkers=[stuck])
    began = time.monotonic()
    checked = run.check_completion()
    took = time.monotonic() - began
    free.set()

    assert (checked.status, checked.may_stop) == (UNVERIFIED, True)
    assert took < 5
    assert "no answer within" in kit.session[ProviderFaulted].latest().error


def test_a_crashing_checker_is_never_taken_out(kit: Any) -> None:
    crashing = kit.Checker(answer=raising)
    run = kit.run(completion_checkers=[crashing])

    assert {run.check_completion().status for _ in range(6)} == {UNVERIFIED}
    assert crashing.asked == 6


def test_what_the_context_tells(kit: Any) -> None:
    seen: list[Any] = []
    run = kit.run(completion_checkers=checkers(kit, lambda c: seen.append(c) or ok()))
    run.check_completion(output={"a": 1}, stop_reason="end_turn")
    run.check_completion(final=True)

    assert (seen[0].tentative_output, seen[0].stop_reason, seen[0].attempt) == (
        {"a": 1},
        "end_turn",
        0,
    )
    assert (seen[1].attempt, seen[1].final) == (1, True)
    assert seen[0].filesystem is None and seen[0].run_id == run.run_id


def test_the_hook_method_is_the_second_way(kit: Any) -> None:
    class Hooked:
        name = "hooked"

        @hookimpl
        def check_completion(self, context: Any) -> Any:
            return incomplete("hook says no")

    assert kit.run(completion_checkers=[Hooked()]).check_completion().feedback == "hook says no"


def test_check_completion_as_a_function(kit: Any) -> None:
    run = kit.run(completion_checkers=checkers(kit, incomplete("x")))

    assert check_completion(prompt=run.prompt, session=kit.session).status is INCOMPLETE
    assert run.state.gate.attempts == 1


@pytest.mark.parametrize(
    ("all_must_pass", "answers", "status", "asked"),
    [
        (True, [ok(), ok()], OK, 2),
        (True, [incomplete("a"), ok()], INCOMPLETE, 1),
        (True, [unverified("u"), incomplete("a")], INCOMPLETE, 2),
        (True, [unverified("u"), ok()], UNVERIFIED, 2),
        (False, [incomplete("a"), ok(), ok()], OK, 2),
        (False, [unverified("u"), ok()], OK, 2),
        (False, [incomplete("a"), incomplete("b")], INCOMPLETE, 2),
        (False, [incomplete("a"), unverified("u")], INCOMPLETE, 2),
        (True, [crash, incomplete("a")], INCOMPLETE, 2),
        (True, [crash, ok()], UNVERIFIED, 2),
        (True, [lambda _: True, ok()], UNVERIFIED, 2),
        (False, [crash, ok()], OK, 2),
        (False, [incomplete("a"), crash], INCOMPLETE, 2),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_composite(
    kit: Any, all_must_pass: bool, answers: Any, status: Any, *, asked: int, mode: str
) -> None:
    parts = checkers(kit, *answers)
    if mode == "async":

        class Async:
            async def check(self, context: Any) -> Any:
                return parts[0].check(context)

        composite = CompositeChecker((Async(), *parts[1:]), all_must_pass=all_must_pass)
    else:
        composite = CompositeChecker(parts, all_must_pass=all_must_pass)
    run = kit.run(completion_checkers=[composite])

    assert run.check_completion().status is status
    assert sum(part.asked for part in parts) == asked


def test_what_failed_in_a_composite_is_named(kit: Any) -> None:
    run = kit.run(completion_checkers=[CompositeChecker(checkers(kit, crash))])

    assert "ZeroDivisionError" in (run.check_completion().reason or "")


def test_an_empty_composite_is_an_error() -> None:
    for all_must_pass in (True, False):
        with pytest.raises(ValueError, match="checkers"):
            CompositeChecker((), all_must_pass=all_must_pass)
