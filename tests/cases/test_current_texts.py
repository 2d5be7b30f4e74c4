"""What several providers say in one run is about the state at which it is said."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from trimtab import enable
from trimtab_testing import Call, Item, Player

NAMES = ("doom-loop", "diagnostic-signal", "consultation-prompt")
EDIT = "The file a.py has been updated."
SAME = "a" * 16
TURN = re.compile(r"^Turn (\d+)\b")


def edit(number: int) -> Call:
    return Call("Edit", {"file_path": "a.py", "old_string": f"v{number}", "new_string": "w"}, EDIT)


def run_tests(name: str) -> Call:
    said = f"FAILED tests/t.py::test_{name} - AssertionError: {name} is wrong\n1 failed"
    return Call("Bash", {"command": "pytest -q"}, said, "error")


def flips(names: str) -> list[Item]:
    return [item for n, name in enumerate(names) for item in (edit(n), run_tests(name))]


@pytest.mark.parametrize("enabled", [NAMES[:1], NAMES[1:2], NAMES[2:], NAMES])
@settings(max_examples=10, deadline=None)
@given(names=st.text("ab", min_size=14, max_size=20) | st.just("ab" * 9) | st.just(SAME))
def test_a_text_names_the_present_turn_and_the_last_failure(enabled, names):
    player, last = Player(guidance=[enable(name) for name in enabled]), ""
    for number, item in enumerate(flips(names)):
        before = len(player.delivered)
        player.play([item])
        last = names[number // 2] if number % 2 else last
        for event in player.delivered[before:]:
            text = event.injection.content
            turn = TURN.match(text)
            assert event.turn == number
            assert turn is None or int(turn[1]) == number + 1
            assert set(re.findall(r"test_([ab])\b", text)) <= {last}, text
    assert player.delivered or names != SAME
