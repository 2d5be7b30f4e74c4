"""Verdicts and scores, without a replay."""

from __future__ import annotations

from math import isclose

import pytest
from hypothesis import given, strategies as st

from trimtab_replay._backtest import (
    Judged,
    Label,
    Verdict,
    judge_case,
    judge_label,
    mean_of,
    score,
    score_all,
    wilson,
)
from trimtab_replay._results import Decision, Replayed

HIT, LATE, EARLY, MISSED = Verdict.HIT, Verdict.LATE, Verdict.EARLY, Verdict.MISSED
QUIET, FALSE = Verdict.QUIET, Verdict.FALSE_ALARM


def spoken(*calls, provider="doom-loop", **meta):
    decisions = tuple(
        Decision(provider=provider, kind="guidance", turn=call, call=call, text="Text.")
        for call in calls
    )
    return Replayed(
        id="x", path="p", reader="cases", calls=9, turns=9, decisions=decisions, meta=meta
    )


@pytest.mark.parametrize(
    ("verdict", "calls", "case"),
    [
        (QUIET, (), {"expected": "silent"}),
        (FALSE, (3,), {"expected": "silent"}),
        (MISSED, (), {"expected": "fire", "at": 3}),
        (HIT, (3,), {"expected": "fire", "at": 3}),
        (LATE, (4,), {"expected": "fire", "at": 3}),
        (HIT, (8,), {"expected": "fire", "at": None}),
        (HIT, (3, 7), {"expected": "fire", "at": 3, "refire_by": 7}),
        (LATE, (3, 8), {"expected": "fire", "at": 3, "refire_by": 7}),
        (LATE, (3,), {"expected": "fire", "at": 3, "also_fire_by": [7]}),
        (LATE, (2, 6), {"expected": "fire", "at": 3, "also_fire_by": [6, 8]}),
        (HIT, (2, 6, 8), {"expected": "fire", "at": 3, "also_fire_by": [6, 8]}),
        (HIT, (0,), {"expected": "fire", "at": 0, "expect_count": 1}),
        (FALSE, (0, 1), {"expected": "fire", "at": 0, "expect_count": 1}),
        (MISSED, (0,), {"expected": "fire", "at": 0, "expect_count": 2}),
        (FALSE, (0, 1, 2, 3), {"expected": "fire", "at": 0, "max_blocks": 3}),
        (FALSE, (0, 1), {"expected": "fire", "at": 5, "max_fires": 1}),
    ],
)
def test_a_case_is_held_against_its_own_verdict(verdict, calls, case):
    judged = judge_case(spoken(*calls, **case), "doom-loop", {"doom-loop"})

    assert (judged.verdict, bool(judged.reason)) == (verdict, not verdict.right)


@pytest.mark.parametrize(("speakers", "verdict"), [({"doom-loop"}, QUIET), ({"other"}, FALSE)])
def test_only_those_whom_the_case_concerns_count(speakers, verdict):
    case = spoken(2, provider="other", expected="silent")

    assert judge_case(case, "doom-loop", speakers).verdict is verdict


@pytest.mark.parametrize(
    ("call", "verdict"),
    [(7, EARLY), (8, HIT), (10, HIT), (13, HIT), (14, LATE)],
)
def test_a_label_s_first_nudge_falls_around_the_evident_call(call, verdict):
    label = Label(path="p", id="x", loop=True, evident_at=10)
    judged = judge_label(spoken(call, 20), label, "doom-loop")

    assert (judged.verdict, judged.delay) == (verdict, call - 10)


def test_a_label_without_a_loop_wants_silence():
    label = Label(path="p", id="x", loop=False)

    assert judge_label(spoken(), label, "doom-loop").verdict is QUIET
    assert judge_label(spoken(1), label, "doom-loop").verdict is FALSE


def rows(*verdicts, about="doom-loop"):
    return [
        Judged(
            id=str(number),
            path="p",
            about=about,
            expected=verdict in (HIT, LATE, EARLY, MISSED),
            verdict=verdict,
        )
        for number, verdict in enumerate(verdicts)
    ]


def test_rates():
    found = score("x", rows(HIT, HIT, LATE, MISSED, QUIET, QUIET, QUIET, FALSE))

    assert (found.fire, found.silent) == (4, 4)
    assert (found.precision.value, found.recall.value) == (0.5, 0.5)
    assert (found.specificity.value, found.balanced_accuracy.value) == (0.75, 0.625)


def test_no_runs_no_rate():
    found = score("x", rows(QUIET))

    assert (found.precision, found.recall, found.balanced_accuracy.value) == (None, None, 1.0)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson_s_interval_as_published(hits, of, low, high):
    rate = wilson(hits, of)

    assert isclose(rate.low, low, abs_tol=1e-4)
    assert isclose(rate.high, high, abs_tol=1e-4)


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 50), st.integers(1, 50))
def test_a_rate_lies_within_its_interval(a, more_a, b, more_b):
    rate = mean_of((wilson(a, a + more_a), wilson(b, b + more_b)))

    assert 0 <= rate.low <= rate.value <= rate.high <= 1


def test_two_that_share_a_problem_are_also_scored_together():
    judged = [*rows(HIT, FALSE), *rows(MISSED, about="diagnostic-signal"), *rows(QUIET, about="x")]
    found = {one.about: one.runs for one in score_all(judged)}

    assert found == {
        "doom-loop": 2,
        "diagnostic-signal": 1,
        "x": 1,
        "doom-loop + diagnostic-signal": 3,
        "all": 4,
    }
