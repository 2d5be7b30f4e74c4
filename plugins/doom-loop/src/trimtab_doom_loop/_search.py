"""Which forms of a loop are looked for, in what order."""

from __future__ import annotations

from typing import NamedTuple

from trimtab_doom_loop._actions import Action, Actions, writes_text
from trimtab_doom_loop._effects import (
    find_without_effect,
)
from trimtab_doom_loop._loop import Loop
from trimtab_doom_loop._repeats import (
    find_duplicates,
    find_interleaved,
    find_like_rounds,
    find_rounds,
)
from trimtab_doom_loop._stagnation import (
    find_asked_in_other_words,
    find_known,
    find_same_answer,
    find_told_again,
)

_KEEP = 64
"""Actions that are kept at least: an interleaved call has others between its repeats."""


class Limits(NamedTuple):
    """The detector's options: with a similarity of 1, no other arguments count as repeats."""

    similarity: float
    longest: int
    times: int

    @property
    def kept(self) -> int:
        """How many of the last actions are kept."""
        return max(_KEEP, 3 * self.longest * self.times)


def find_loop(
    actions: Actions, action: Action, limits: Limits, repeats: int, *, streak: int, stale: int
) -> Loop | None:
    """Find the loop that an action belongs to, if its calls or answers were there before."""
    similarity, longest, times = limits
    if len(action.calls) >= times:
        found = find_duplicates(action, times)
        if found is not None:
            return found
    found = _find_repeats(actions, action, longest, repeats)
    if found is None and action.excused:
        return None  # it looks for what may change, whatever else its answers are like
    if similarity >= 1:
        return found or find_known(actions, stale, repeats)
    return (
        found
        or _find_near_repeats(actions, action, limits, repeats, streak)
        or find_without_effect(actions, action, times)
        or find_known(actions, stale, repeats)
        or find_told_again(actions, times)
        or find_asked_in_other_words(actions, times)
    )


def _find_repeats(actions: Actions, action: Action, longest: int, times: int) -> Loop | None:
    found = None if action.fresh else find_rounds(actions, longest, times)
    needed = times + 1
    return found or find_interleaved(actions, needed, 3 * needed)


def _find_near_repeats(
    actions: Actions, action: Action, limits: Limits, repeats: int, streak: int
) -> Loop | None:
    similarity, longest, _ = limits
    found = None
    if not action.news or (action.earlier >= 0 and writes_text(action.calls[0])):
        found = find_like_rounds(actions, longest, repeats, similarity)
    return found or find_same_answer(actions, streak, repeats, similarity)
