"""DeadlineFeedback on real runs, under a clock that moves only when told."""

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from trimtab import (
    Budget,
    Deadline,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    Host,
    ManualClock,
    Prompt,
    Session,
    Usage,
    enable,
)
from trimtab.inspection import ProviderOptionsError
from trimtab_deadline_feedback import DeadlineFeedback

ALWAYS = FeedbackTrigger(every_n_calls=1)


class Work:
    """An agent at work: time passes, a tool is called, feedback is asked for."""

    def __init__(self, provider=None, *, total=None, budget=None, trigger=ALWAYS, max_turns=None):
        self.clock = ManualClock()
        self.session = Session(clock=self.clock)
        settings = FeedbackProviderConfig(provider or DeadlineFeedback(), trigger)
        self.prompt = Prompt("a", "b", config=None, feedback_providers=[settings])
        deadline = None if total is None else Deadline(total, self.clock)
        limits = {"deadline": deadline, "budget": budget, "host": Host(max_turns=max_turns)}
        self.run = self.session.open_run(self.prompt, **limits)

    def until(self, seconds):
        self.clock.advance(seconds - self.run.active_seconds)
        self.run.tool_started("work", {}, "c")
        self.run.tool_finished("c", "ok")
        return self.run.feedback()

    def spend(self, **usage):
        self.run.model_responded(usage=Usage(**usage))
        return self.until(self.run.active_seconds)

    def said(self):
        return [feedback.summary for feedback in self.session[Feedback].all()]


def test_each_band_is_reported_once():
    work = Work(total=1000)
    for second in range(0, 1001, 10):
        work.until(second)
    assert work.said() == [
        "You have 8 minutes remaining.",
        "You have 4 minutes remaining.",
        "You have 2 minutes remaining.",
        "You have 50 seconds remaining.",
        "You have reached the time deadline.",
    ]


def test_what_is_used_is_never_said_to_be_all_before_the_end():
    work = Work(total=7200)
    work.until(7150)
    used = work.session[Feedback].latest().observations[0].description
    assert used == "all but 50 seconds of 2 hours used"


def test_only_the_tightest_of_several_bands_is_reported():
    work = Work(total=1000)
    assert "90 seconds" in work.until(910)
    assert work.until(911) is None


def test_plenty_of_time_is_not_reported():
    assert Work(total=1000).until(400) is None


def test_without_a_limit_it_is_silent():
    assert Work(DeadlineFeedback(steady=True)).until(100) is None


def test_below_the_threshold_it_warns_and_asks_to_keep_the_best_state():
    text = Work(total=3600).until(3510)
    assert text == (
        '<feedback source="deadline-feedback" severity="warning">You have 90 seconds remaining.\n\n'
        "• time: 58 minutes of 1 hour used\n\n"
        "→ Prioritize completing critical remaining work.\n"
        "→ Consider summarizing progress and remaining tasks.\n"
        "→ Keep the best verified state: save it now, and return to it if a later change fails."
        "</feedback>"
    )


@pytest.mark.parametrize(
    ("left", "severity"), [(1700, "info"), (300, "caution"), (121, "caution"), (120, "warning")]
)
def test_urgency_grows_as_time_runs_out(left, severity):
    work = Work(total=3600)
    work.until(3600 - left)
    assert work.session[Feedback].latest().severity == severity


def test_past_the_deadline_it_says_so_once():
    work = Work(total=100)
    assert "You have reached the time deadline." in work.until(100)
    assert "→ Wrap up immediately." in work.session[Feedback].latest().render()
    assert work.until(200) is None


def test_thresholds_replace_the_bands():
    work = Work(DeadlineFeedback(thresholds=[300, 600]), total=1200)
    spoke = [second for second in range(0, 1200, 100) if work.until(second)]
    assert spoke == [600, 900]


def test_steady_reports_each_time():
    work = Work(DeadlineFeedback(60, steady=True), total=600)
    assert [work.until(t) is not None for t in (1, 2, 3)] == [True] * 3
    assert work.said()[0] == "You have 9 minutes remaining."
    assert {f.severity for f in work.session[Feedback].all()} == {"info"}


def test_a_stepped_wall_clock_moves_nothing():
    work = Work(total=1000)
    work.clock.set_wall(work.clock.now() + timedelta(days=1))
    assert work.until(10) is None
    work.clock.set_wall(work.clock.now() - timedelta(days=9))
    assert "8 minutes" in work.until(500)


def test_active_seconds_of_a_budget_are_a_deadline_too():
    work = Work(total=5000, budget=Budget(max_active_seconds=1000))
    assert "You have 8 minutes remaining." in work.until(500)


def test_tokens_and_cost_of_a_budget_are_reported():
    work = Work(budget=Budget(max_total_tokens=10_000, max_cost=2.0))
    assert work.spend(input_tokens=4000) is None
    assert "You have 4,500 of 10,000 tokens left." in work.spend(input_tokens=1500)
    assert work.spend(input_tokens=100) is None
    text = work.spend(cost=1.95, input_tokens=100)
    assert "You have 0.05 of 2 units of cost left." in text
    assert "• tokens: 5,700 of 10,000 used" in text
    assert 'severity="warning"' in text


def test_a_used_up_budget_is_reported():
    work = Work(budget=Budget(max_output_tokens=10))
    text = work.spend(output_tokens=12)
    assert "You have used up the budget of 10 output tokens." in text
    assert "→ Wrap up immediately." in text


def test_a_restored_session_does_not_repeat_a_band():
    work = Work(total=1000)
    assert work.until(510)
    session = Session.restore(work.session.snapshot(), clock=work.clock)
    work.run = session.open_run(work.prompt, run_id=work.run.run_id, deadline=work.run.deadline)
    assert work.until(520) is None
    assert "4 minutes" in work.until(755)


def test_texts_are_options():
    provider = DeadlineFeedback(remaining="{left} of {total}, hurry!", suggestions=["Run."])
    text = Work(provider, total=1000).until(950)
    assert "50 seconds of 16 minutes, hurry!" in text
    assert "→ Run." in text


@pytest.mark.parametrize(
    "options",
    [
        {"warning_threshold_seconds": -1},
        {"thresholds": [0]},
        {"thresholds": "x"},
        {"thresholds": 5},
        {"thresholds": ["5", 3]},
        {"thresholds": {5: 3}},
        {"thresholds": [float("nan")]},
        {"warning_threshold_seconds": "x"},
        {"warning_threshold_seconds": None},
        {"steady": "no"},
        {"remaining": ""},
        {"remaining": "{left.real}"},
        {"suggestions": ["x" * 301]},
        {"final_suggestions": [1]},
        {"suggestions": ["a\x1b"]},
        {"remaining": "{seconds}"},
        {"remaining": "x" * 300},
        {"suggestions": "Run."},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ProviderOptionsError, match=next(iter(options))):
        Prompt("a", "b", config=None, feedback_providers=[enable("deadline-feedback", **options)])


def test_it_is_enabled_by_name_and_asked_every_thirty_seconds():
    work = Work(enable("deadline-feedback", steady=True), total=1000, trigger=None)
    assert [bool(work.until(t)) for t in (0, 10, 29, 30, 59, 60)] == [
        True,
        False,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (1, "1 second"),
        (60, "60 seconds"),
        (119.9, "119 seconds"),
        (120, "2 minutes"),
        (3599, "59 minutes"),
        (3600, "1 hour"),
        (5400, "1.5 hours"),
        (7200, "2 hours"),
        (36000, "10 hours"),
    ],
)
def test_durations_are_words(left, words):
    work = Work(DeadlineFeedback(steady=True), total=100_000)
    assert f"You have {words} remaining." in work.until(100_000 - left)


@given(st.lists(st.floats(0, 2000), max_size=30), st.floats(1, 1500))
def test_bands_only_narrow_and_none_is_told_twice(seconds, total):
    work = Work(total=total)
    for second in sorted(seconds):
        work.until(max(second, work.run.active_seconds))
    told = [f.observations[0].evidence for f in work.session[Feedback].all()]
    bands = [float(evidence.split()[0]) for evidence in told]
    assert bands == sorted(set(bands), reverse=True)


def turns(work, count):
    """Take turns of one call each; return what is said, by the turns that were taken before."""
    said = {}
    for _ in range(count):
        text = work.spend()
        if text:
            said[work.run.state.turns] = work.session[Feedback].latest().summary
    return said


@pytest.mark.parametrize("limits", [{"max_turns": 10}, {"budget": Budget(max_turns=10)}])
def test_turns_that_are_left_are_told_in_bands(limits):
    work = Work(trigger=None, **limits)

    assert turns(work, 10) == {
        5: "You have 5 of 10 turns left.",
        8: "You have 2 of 10 turns left.",
        9: "You have 1 of 10 turns left.",
        10: "You have used up the budget of 10 turns.",
    }


def test_with_one_turn_left_the_agent_is_asked_to_answer():
    work = Work(max_turns=4)
    turns(work, 3)
    last = work.session[Feedback].latest()

    assert last.suggestions == (
        "Your next response is the last one: give your answer in it, without tool calls.",
    )
    assert last.severity == "warning"


def test_a_host_counts_the_turns_of_each_request_of_the_user():
    work = Work(max_turns=4)
    assert list(turns(work, 3)) == [2, 3]
    work.run.user_message("And now the other one.")
    assert list(turns(work, 3)) == [5, 6]


def test_of_two_limits_of_turns_the_nearer_one_is_told():
    work = Work(max_turns=4, budget=Budget(max_turns=6))
    turns(work, 4)
    work.run.user_message("Go on.")

    assert turns(work, 1) == {5: "You have 1 of 6 turns left."}


def test_calls_count_however_many_a_turn_has():
    work = Work(budget=Budget(max_calls=8))
    said = [work.until(0) for _ in range(8)]

    assert [n for n, text in enumerate(said, 1) if text] == [4, 6, 8]
    assert work.said()[1] == "You have 2 of 8 calls left."


def test_a_restart_repeats_no_band_of_turns():
    work = Work(max_turns=10)
    turns(work, 5)
    session = Session.restore(work.session.snapshot(), clock=work.clock)
    work.session = session
    work.run = session.open_run(work.prompt, run_id=work.run.run_id, host=work.run.host)

    assert list(turns(work, 3)) == [8]
