"""What lies just within a bound of the detector, and what lies just beyond it."""

from __future__ import annotations

import pytest

from trimtab import DecisionPoint, ToolCall
from trimtab_testing import Call

from .playing import first, play

SELECT = DecisionPoint.PRE_TOOL_SELECTION


def read(name):
    return Call("read", {"path": f"{name}.py"}, f"text of {name}")


@pytest.mark.parametrize(("apart", "told"), [(3, 9), (4, None)])
def test_a_call_that_returns_is_told_if_four_of_it_are_within_twelve_actions(apart, told):
    steps = [read("again" if n % apart == 0 else f"other_{n}") for n in range(20)]
    assert first(steps, in_doubt=False) == told


@pytest.mark.parametrize(("between", "same"), [(4, True), (5, False)])
def test_a_loop_that_is_found_again_after_eight_turns_is_the_same(between, same):
    a, b = read("a"), read("b")
    steps = [a, a, *(read(f"other_{n}") for n in range(between)), a, b, a, b]
    player = play(steps, max_repetitions=2, in_doubt=False)
    episodes = {event.episode for event in player.delivered}
    assert len(player.delivered) == 2
    assert (len(episodes) == 1) is same


def test_a_loop_of_calls_is_told_before_a_text_that_repeats_itself():
    player = play([read("a"), read("a")])
    run, call = player.run, ToolCall("read", {"path": "a.py"}, "c3")
    run.model_responded(text="Let me think about the word. " * 12, tool_calls=[call])
    run.tool_finished("c3", "text of a")
    (said,) = run.guide(SELECT).injections
    assert said.key == "doom-loop.repeat"
