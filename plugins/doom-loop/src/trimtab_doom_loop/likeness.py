"""How like two calls are, in what they asked and in what they learnt."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trimtab import LazyPattern
from trimtab.trajectory import CallRecord
from trimtab_doom_loop.answers import finds_nothing

_NUMBER = LazyPattern(r"\d+")
_NAME = LazyPattern(r"[A-Za-z_]\w*\d\w*")
_SHORT = 300


def answer_key(call: CallRecord) -> str:
    """Return what stands for an answer whatever the arguments were.

    Of a failure that is its signature, unless it said much more than that (a rejected change is
    often shown at length). One way of finding nothing is like another.
    """
    if call.signature and (call.size <= _SHORT or call.profile.writes):
        return f"{call.tool}\n{call.signature}"
    if call.profile.read_only and call.size <= _SHORT and finds_nothing(call.said):
        return f"{call.tool}\n"
    return f"{call.tool}\n{call.exact}"


def alike(calls: Sequence[CallRecord], similarity: float) -> bool:
    """Tell whether each call's arguments are near-equal to the next one's."""
    from rapidfuzz.fuzz import ratio  # needed by the few runs that come here

    return all(
        ratio(a.params_text, b.params_text, score_cutoff=100 * similarity) > 0
        for a, b in pairwise(calls)
    )


def alike_but_for_numbers(calls: Sequence[CallRecord]) -> bool:
    """Tell whether nothing but numbers differs in the arguments."""
    return len({_NUMBER.sub("0", call.params_text) for call in calls}) == 1


def numbered_names(calls: Sequence[CallRecord]) -> bool:
    """Tell whether calls differ in names alone that end in a number, as ``web1`` and ``web2`` do:
    each is another subject, and no other try with the same one.
    """
    return len({_NAME.sub("0", call.params_text) for call in calls}) == 1
