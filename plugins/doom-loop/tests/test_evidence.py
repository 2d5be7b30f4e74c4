"""What is told in doubt: actions that no rule takes for a loop, but much alike."""

from __future__ import annotations

import re

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from trimtab import ToolProfile
from trimtab_doom_loop import DoomLoopDetector, _evidence as evidence
from trimtab_testing import Call, Player

from .playing import first, play

DRIVERS = ("PCL", "PS", "plain", "universal", "raster", "PCL", "PS")
PRINTS = [
    Call(
        "print_file",
        {"file": "cards", "driver": driver},
        "Job cancelled by the printer (no reason)",
    )
    for driver in DRIVERS
]
OTHER_LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопярстувшъжэ")


def rewritten(call: Call) -> Call:
    """Return a call whose arguments and answer have other letters."""
    params = {name: value.translate(OTHER_LETTERS) for name, value in call.params.items()}
    return attrs.evolve(call, params=params, result=call.result.translate(OTHER_LETTERS))


def test_what_no_rule_takes_for_a_loop_is_told_if_it_is_much_like_loops():
    assert first(PRINTS) is not None
    assert first(PRINTS, in_doubt=False) is None
    assert first(PRINTS, similarity_threshold=1.0) is None


def test_the_first_text_says_what_was_seen_and_takes_nothing_away():
    player = play(PRINTS)
    text = player.delivered[0].injection.content

    assert re.search(r"\d of your last \d turns are much alike, the latest with print_file", text)
    assert "not call" not in text
    assert text.endswith("say what blocks you.")
    assert len(text) <= 300


def test_what_was_told_in_doubt_is_the_same_loop_when_a_rule_finds_it():
    same = Call("print_file", {"file": "cards", "driver": "PCL"}, "Job cancelled (no reason)")
    told = play([*PRINTS, *[same] * 9]).delivered

    assert {one.injection.key for one in told} == {"doom-loop.stalled", "doom-loop.repeat"}
    assert len({one.episode for one in told}) == 1


def test_turns_of_several_calls_count_among_the_last_turns():
    pair = [Call("look", {"at": "tray"}, "four sheets"), Call("look", {"at": "lid"}, "it is shut")]
    (text, *_) = [one.injection.content for one in play([*PRINTS[:2], pair, *PRINTS[2:]]).delivered]
    alike, last = map(int, re.findall(r"(\d+) of your last (\d+) turns", text)[0])

    assert last == alike + 1


def test_other_letters_make_no_difference():
    assert play(map(rewritten, PRINTS)).spoke == play(PRINTS).spoke


@pytest.mark.parametrize("times", [4, 5, 6])
def test_so_many_actions_are_alike_as_the_option_says(times):
    told = play(PRINTS, max_repetitions=times).delivered

    assert all(int(one.injection.content.split(": ")[1][0]) >= times for one in told)


def test_a_change_that_was_not_made_before_is_work():
    edits = [
        Call("edit_file", {"text": f"line {n}"}, "The file has been changed") for n in range(9)
    ]
    writes = ToolProfile(names="edit_file", writes=True)

    assert first(edits, profiles=[writes]) is None


def test_an_option_that_is_no_boolean_is_refused():
    with pytest.raises(TypeError, match="in_doubt"):
        DoomLoopDetector(in_doubt="no")


def test_each_fact_with_points_is_one_and_its_steps_are_in_order():
    assert set(evidence.POINTS) <= set(evidence.Facts._fields)
    for steps in evidence.POINTS.values():
        assert [least for least, _ in steps] == sorted({least for least, _ in steps})


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(PRINTS), min_size=3, max_size=12), st.integers(1, 11))
def test_a_run_that_is_restored_is_told_the_same(run, place):
    whole = Player(guidance=[DoomLoopDetector()]).play(run)
    resumed = Player(guidance=[DoomLoopDetector()]).play(run[:place])
    resumed.restart()

    assert resumed.play(run[place:]).spoke == whole.spoke
