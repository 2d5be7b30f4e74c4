"""The tool that leaves one word of the rules out."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest
from leave_one_word_out import Place, places, put, without

from trimtab.text import LazyPattern

CLOSING = import_module("trimtab_signals._closing")
WAITING = import_module("trimtab_plan_based_checker._waiting")


@pytest.mark.parametrize(
    ("module", "name", "word"),
    [(CLOSING, "_DECISION", "answer"), (WAITING, "_PEOPLE", "user")],
)
def test_a_word_is_left_out_of_a_set_or_an_expression_and_put_back(module, name, word):
    place = Place(module, name, word)
    assert place in list(places(module))
    old, new = getattr(module, name), without(place)

    put(old, new)
    left_out = getattr(module, name)
    put(new, old)

    if isinstance(left_out, LazyPattern):
        assert (left_out.search(word), bool(old.search(word))) == (None, True)
    else:
        assert left_out == old - {word}
    assert getattr(module, name) is old


def test_words_that_a_module_imports_are_not_its_own():
    names = {place.name for place in places(sys.modules["trimtab_plan_based_checker._waiting"])}

    assert {"_PEOPLE", "_BEHIND"} <= names
    assert not names & {"Any", "asks_user"}
