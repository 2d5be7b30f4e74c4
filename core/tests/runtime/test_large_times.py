"""A number of seconds that is finite and large means a long time, wherever a user gives one."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from trimtab import (
    CompletionCheckerConfig,
    Deadline,
    DecisionPoint,
    FeedbackProviderConfig,
    FeedbackTrigger,
    ManualClock,
    Prompt,
    PromptTemplate,
    Session,
    TaskCompletionResult,
    load_configuration,
)
from trimtab.hosting import Driver, call_within, read_seconds
from trimtab_testing import Checker, Commentator, Speaker

LARGE = [4e9, 9.3e9, 4e10, 1e12, 1e14, 1e308, 2**63, 10**300]
large = st.sampled_from(LARGE) | st.floats(1e9, 1.7e308)


def slowly(value: Any) -> Any:
    def answer(_: object) -> Any:
        time.sleep(0.01)  # the wait has begun when the answer comes
        return value

    return answer


def prompt_with(seconds: float) -> Prompt[Any]:
    trigger = FeedbackTrigger(every_n_calls=1, every_n_seconds=seconds)
    checker = Checker(answer=slowly(TaskCompletionResult.incomplete("Go on.")))
    template: PromptTemplate[Any] = PromptTemplate(
        "a",
        "b",
        guidance_providers=[Speaker(text="Turn left.")],
        feedback_providers=[FeedbackProviderConfig(Commentator(), trigger)],
        completion_checkers=[CompletionCheckerConfig(checker, timeout=seconds)],
    )
    return Prompt(template, config=None)


@settings(max_examples=20)
@given(large)
def test_a_run_with_a_large_timeout_is_guided_and_checked(seconds: float) -> None:
    run = Session().open_run(prompt_with(seconds), timeout=seconds, deadline=Deadline(seconds))
    assert run.guide(DecisionPoint.PRE_RENDER, timeout=seconds).text
    run.model_responded()
    run.tool_started("Bash", {}, "1")
    run.tool_finished("1", "ok", duration=seconds)
    assert run.feedback(timeout=seconds)
    checked = run.check_completion()
    assert not checked.may_stop, checked


@given(large)
def test_a_large_deadline_leaves_much_time_and_a_long_past_one_none(seconds: float) -> None:
    deadline = Deadline(seconds)
    assert deadline.remaining().days > 10_000
    assert not deadline.expired
    assert Deadline(-seconds).expired
    assert Deadline(60, started=-seconds).expired
    assert Deadline(60, started=seconds).elapsed().days < -10_000


@pytest.mark.parametrize("seconds", LARGE)
def test_a_host_may_wait_long(seconds: float) -> None:
    assert call_within(seconds, lambda: slowly("done")(None)) == "done"
    driver = Driver(Session().open_run(prompt_with(1)), timeout=seconds)
    driver.user_said("Go.")
    assert "Turn left." in driver.next_request()


@pytest.mark.parametrize("number", ["4e10", "1e12", "1e308", "9223372036854775808"])
def test_a_file_may_name_a_large_time(tmp_path: Path, number: str) -> None:
    file = tmp_path / "trimtab.toml"
    file.write_text(f'[prompts."a/b"]\ncompletion = [{{ use = "x", timeout = {number} }}]')
    configured = load_configuration(file).prompts["a/b"].completion
    assert configured[0].timeout == 1e9


@given(st.floats() | st.integers() | st.sampled_from(LARGE) | st.text() | st.none())
def test_what_a_user_writes_is_a_time_that_can_be_waited_or_is_refused(value: Any) -> None:
    try:
        seconds = read_seconds(value, "timeout")
    except ValueError as error:
        told = str(error)
        assert told.startswith("timeout must be a number of seconds above 0")
        return
    assert 0 < seconds <= 1e9
    assert math.isfinite(seconds)


def test_a_manual_clock_refuses_to_pass_the_end_of_the_calendar() -> None:
    with pytest.raises(ValueError, match="advances by 0 to 1e"):
        ManualClock().advance(1e12)
