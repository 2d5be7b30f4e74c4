"""Cheap questions that are asked before an expression is searched for: they leave nothing out."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given, strategies as st

from trimtab.text import LazyPattern
from trimtab_signals import NO_ORDERS, in_progress, orders_in
from trimtab_signals._answers import _STATE, _STATE_NAMES
from trimtab_signals._failure_lines import _FRAMED, _TELLING
from trimtab_signals._frame import _HINT
from trimtab_signals._normalise import lowered
from trimtab_signals._shell import _REDIRECT, _REDIRECTS, _WAIT, waits

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def found_by(pattern: LazyPattern) -> st.SearchStrategy[str]:
    """Texts that an expression finds."""
    return st.from_regex(re.compile(pattern._text, pattern._flags), fullmatch=True)


def places(pattern: str, text: str, flags: int = 0) -> set[int]:
    return {found.start() for found in re.finditer(pattern, text, flags)}


@pytest.mark.slow
def test_text_in_lower_case_holds_what_is_found_where_case_is_ignored():
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    lower = lowered(every)

    assert len(lower) == len(every)
    for letter in LETTERS:
        assert places(letter, lower) == places(letter, every, re.IGNORECASE)
    for kind in (r"\w", r"\d", r"\s"):
        assert places(kind, lower) == places(kind, every)


@given(found_by(_STATE))
def test_states_hold_one_of_the_names(text):
    assert any(name in text for name in _STATE_NAMES)


@given(found_by(_WAIT))
def test_no_wait_is_left_out(command):
    assert waits(command)


@given(found_by(_REDIRECT))
def test_redirections_hold_one_of_the_signs(command):
    assert any(sign in command for sign in _REDIRECTS)


@pytest.mark.parametrize("message", ["dİx times", "FİFTY runs"])
def test_numbers_may_be_written_in_letters_beyond_ascii(message):
    assert orders_in(message) != NO_ORDERS


@pytest.mark.parametrize("said", ["STILL RUNNING", "STİLL RUNNİNG", "x" * 200 + " Status: PENDİNG"])
def test_case_is_ignored_in_what_goes_on(said):
    assert in_progress(said)


@pytest.mark.parametrize("pattern", [_TELLING, _FRAMED, _HINT], ids=["telling", "framed", "hint"])
@given(data=st.data())
def test_words_are_found_in_any_case(pattern, data):
    in_any_case = re.compile(pattern._text, re.IGNORECASE)
    text = data.draw(st.from_regex(in_any_case))

    assert pattern.search(lowered(text)) is not None
