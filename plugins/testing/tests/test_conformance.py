"""Conformance tests find a bad provider, each for its own reason, and pass a good one."""

from __future__ import annotations

import itertools
import sys
import traceback
from typing import Any

import attrs
import pytest

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    Feedback,
    GuidanceInjection,
    TaskCompletionResult,
)
from trimtab_testing import (
    CompletionConformance,
    FeedbackConformance,
    GuidanceConformance,
    RecorderConformance,
    good_runs,
    odd_run,
)

pytestmark = pytest.mark.slow
DUE = ClassificationResult(True)


@attrs.frozen
class Good:
    """Speaks after three failures in a row."""

    errors: int = attrs.field(default=3, validator=attrs.validators.instance_of(int))
    name = "good"
    category = "pace"

    def classify(self, *, context):
        calls = context.recent_tool_calls(self.errors)
        due = len(calls) == self.errors and all(call.outcome != "ok" for call in calls)
        return DUE if due else NOT_RELEVANT

    def provide(self, *, context):
        return GuidanceInjection("good", f"{self.errors} failures: read the error first.")


class Raises(Good):
    def classify(self, *, context):
        last = context.recent_tool_calls(1)
        return ClassificationResult(bool(last) and last[0].params["command"] == "x")


class NeedsAnOption(Good):
    def __init__(self, limit):
        pass


class TakesAnything:
    name = "anything"
    category = "pace"

    def __init__(self, limit: Any = 3) -> None:
        self.limit = limit

    def classify(self, *, context):
        return NOT_RELEVANT

    def provide(self, *, context):
        raise NotImplementedError


class Chatty(Good):
    def classify(self, *, context):
        return ClassificationResult(True)


class Forgets:
    """Counts in itself, so that a restart begins anew."""

    name = "forgets"
    category = "pace"

    def __init__(self) -> None:
        self.asked = 0

    def classify(self, *, context):
        self.asked += 1
        return ClassificationResult(self.asked % 7 == 0)

    def provide(self, *, context):
        return GuidanceInjection("forgets", f"Asked {self.asked} times.")


class Random(Good):
    _numbers = itertools.count()

    def classify(self, *, context):
        return ClassificationResult(True)

    def provide(self, *, context):
        return GuidanceInjection("random", f"Number {next(self._numbers)}.")


class Slow(Good):
    def classify(self, *, context):
        sum(range(50_000))
        return NOT_RELEVANT


class TooLong(Good):
    def provide(self, *, context):
        return GuidanceInjection("long", "x" * 501)


class WrongFeedback:
    name = "wrong"

    def should_run(self, *, context):
        return True

    def provide(self, *, context):
        return "not a Feedback"


class FailingChecker:
    def check(self, context):
        return context.tentative_output.strip()


class FailingRecorder:
    name = "failing"

    def open(self, context):
        return self

    def record(self, event):
        raise OSError("the disk is full")


def conformance(of, kind=GuidanceConformance):
    return type("Suite", (kind,), {"provider": of})()


BAD = [
    (Raises, "test_odd_runs_bring_no_fault", "makes it fail in"),
    (
        NeedsAnOption,
        "test_it_is_made_with_its_defaults",
        "can't be built: .* `options` of the test",
    ),
    (NeedsAnOption, "test_an_option_of_a_wrong_type_is_refused", "no annotation"),
    (TakesAnything, "test_an_option_of_a_wrong_type_is_refused", "takes any object"),
    (Chatty, "test_it_is_silent_while_work_moves_on", "in the honest run"),
    (Forgets, "test_a_restart_at_any_step_changes_no_word", "restart before each item"),
    (Forgets, "test_asking_twice_changes_nothing", "classify may look, not change"),
    (Random, "test_the_same_run_brings_the_same_words", "other words the second time"),
    (Slow, "test_it_takes_little_time", "times json.dumps and a hash"),
    (TooLong, "test_odd_runs_bring_no_fault", "makes it fail in"),
]


@pytest.mark.parametrize(("of", "test", "why"), BAD)
def test_a_bad_guidance_provider_fails_for_its_own_reason(of, test, why):
    if of is Slow and sys.gettrace() is not None:
        pytest.skip("time is not measured under a tracer")
    with pytest.raises(AssertionError, match=why):
        getattr(conformance(of), test)()


@pytest.mark.parametrize(
    ("suite", "test"),
    [
        (conformance(Raises), "test_odd_runs_bring_no_fault"),
        (
            conformance(FailingChecker, CompletionConformance),
            "test_the_same_run_brings_the_same_words",
        ),
        (conformance(FailingRecorder, RecorderConformance), "test_it_ends_with_the_run"),
    ],
)
def test_a_fault_is_shown_with_the_line_that_raised_it(suite, test):
    with pytest.raises(AssertionError) as failed:
        getattr(suite, test)()

    cause = failed.value.__cause__
    assert cause is not None
    assert traceback.extract_tb(cause.__traceback__)[-1].filename == __file__


def test_feedback_of_a_wrong_type_is_found():
    with pytest.raises(AssertionError, match="makes it fail in"):
        conformance(WrongFeedback, FeedbackConformance).test_odd_runs_bring_no_fault()


def test_a_failing_checker_is_found():
    with pytest.raises(AssertionError, match="fail"):
        conformance(FailingChecker, CompletionConformance).test_the_same_run_brings_the_same_words()


class TestGood(GuidanceConformance):
    provider = Good


class Remark:
    name = "remark"

    def should_run(self, *, context):
        return True

    def provide(self, *, context):
        return Feedback(summary="Five calls.")


class TestRemark(FeedbackConformance):
    provider = Remark


class Lenient:
    def check(self, context):
        return TaskCompletionResult.ok()


class TestLenient(CompletionConformance):
    provider = Lenient


def test_runs_are_the_same_in_every_process():
    assert odd_run(7) == odd_run(7)
    assert all(items for items in good_runs().values())
