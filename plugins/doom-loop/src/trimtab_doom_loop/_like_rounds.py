"""Rounds that get the same answers, though their calls differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import attrs

from trimtab_doom_loop._actions import HANDLE, Action, hands_on, moves_unseen, writes_text
from trimtab_doom_loop._kept import Actions
from trimtab_doom_loop._loop import Loop, LoopKind
from trimtab_doom_loop._repeats import CERTAIN, loop_of_rounds
from trimtab_doom_loop._similarity import alike, alike_but_for_numbers, attempts
from trimtab_signals import confirms

_CONTENT = 60
"""Characters of an answer that says more than that something was done."""
_DOUBT = 0.8
"""Confidence of changes that may each be for something else: not enough for a ban."""


def find_like_rounds(actions: Actions, longest: int, times: int, similarity: float) -> Loop | None:
    """Find rounds that get the same answers, though their calls differ."""
    kept = actions.kept
    for length in range(2, min(longest, len(kept) // times) + 1):
        if not _same_step(kept[-1], kept[-1 - length], kept[-length]):
            continue
        tail = _in_step(kept, length)
        if len(tail) < length * times or len({one.brought for one in tail[-length:]}) == 1:
            continue  # one answer is no round
        confidence = _certainty(tail, length, times, similarity)
        if confidence:
            loop = loop_of_rounds(actions, length, len(tail) // length, LoopKind.LIKE_CYCLE)
            return loop and attrs.evolve(loop, confidence=confidence)
    return None


def _in_step(kept: Sequence[Action], length: int) -> list[Action]:
    """Return the last actions whose rounds got the same answers throughout."""
    latest_first = list(kept)[::-1]
    steps = zip(latest_first, latest_first[length:], latest_first[length - 1 :], strict=False)
    count = sum(1 for _ in takewhile(lambda step: _same_step(*step), steps))
    return latest_first[: length * (1 + count // length)][::-1]


def _certainty(tail: Sequence[Action], length: int, times: int, similarity: float) -> float:
    """Return how certain it is that several rounds are a loop; 0 if nothing tells them from work.

    A text is written again in each, whatever is done with the names that it gets. What says more
    than that something was done takes one round more, if it came to attempts at one thing, or if
    all calls are near-equal; these take twice as many with a short answer. A change that is tried,
    and then looked at, takes two more.
    """
    rounds = len(tail) // length
    shows = found = told = tried = again = False
    near = all(a.brought == b.brought for a, b in zip(tail, tail[length:], strict=False))
    handed = True
    for place in range(length):
        there = tail[place::length]
        calls = [action.calls[0] for action in there]
        last, varied = calls[-1], len({action.asked for action in there}) > 1
        tells = not (last.profile.writes or confirms(last.output))
        content = tells and last.size >= _CONTENT
        told, shows = told or tells, shows or content
        again = again or (not varied and writes_text(last))
        if varied:
            tries = attempts(calls)
            found, tried = found or (tries and content), tried or (tries and not last.reads)
            passed = alike_but_for_numbers(calls) and _handed(tail, place, length)
            handed = handed and passed
            near = near and (tells or moves_unseen(last)) and (passed or alike(calls, similarity))
    if again and handed:
        return _DOUBT
    if found and rounds > times:
        return CERTAIN
    if near and told and rounds >= (times + 1 if shows else 2 * times):
        return CERTAIN
    return _DOUBT if told and tried and rounds > times + 1 else 0


def _handed(tail: Sequence[Action], place: int, length: int) -> bool:
    """Tell whether the calls at one place of several rounds take names from answers of theirs."""
    return all(
        any(hands_on(one.calls[0], tail[number].calls[0]) for one in tail[number - length : number])
        for number in range(place + length, len(tail), length)
    )


def _same_step(later: Action, earlier: Action, after: Action) -> bool:
    """Tell whether two actions got the same, or did one deed again with other names.

    Args:
        later, earlier: the actions.
        after: the one that follows the earlier one, and may take up what that made.
    """
    if later.brought == earlier.brought:
        return True
    one, other = later.calls[0], earlier.calls[0]
    if one.tool != other.tool or one.reads or one.failed or one.command is not None:
        return False
    if HANDLE.sub("#", one.output) != HANDLE.sub("#", other.output):
        return False
    done = one.profile.writes or confirms(one.output)
    return bool(done) or hands_on(other, after.calls[0])
