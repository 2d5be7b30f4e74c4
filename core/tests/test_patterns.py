"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from trimtab.text import LazyPattern

TEXT, FLAGS, SUBJECT = r"(b)\d", re.IGNORECASE, "a b1 B2"
CALLS = {
    "search": ("a b1",),
    "match": ("b1 a",),
    "fullmatch": ("B2",),
    "findall": (SUBJECT,),
    "split": (SUBJECT,),
    "sub": ("-", SUBJECT),
}


def plain(found):
    return found.span() if isinstance(found, re.Match) else found


@pytest.mark.parametrize(("method", "arguments"), CALLS.items(), ids=str)
def test_each_method_is_that_of_re(method, arguments):
    ours, theirs = LazyPattern(TEXT, FLAGS), re.compile(TEXT, FLAGS)

    assert plain(getattr(ours, method)(*arguments)) == plain(getattr(theirs, method)(*arguments))


def test_matches_come_one_by_one():
    assert [found[0] for found in LazyPattern(TEXT, FLAGS).finditer(SUBJECT)] == ["b1", "B2"]


def test_an_expression_is_compiled_at_its_first_use():
    broken = LazyPattern("(")

    with pytest.raises(re.error):
        broken.search("a")
