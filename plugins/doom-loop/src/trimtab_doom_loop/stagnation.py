"""Ever-varying arguments, always the same answer."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.trajectory import CallRecord, digest
from trimtab_doom_loop.answers import acknowledges, finds_nothing, stays, tells_of_nothing
from trimtab_doom_loop.likeness import (
    alike,
    alike_but_for_numbers,
    answer_key,
    numbered_names,
)
from trimtab_doom_loop.steps import Steps, would_change
from trimtab_doom_loop.verdict import Loop, LoopKind

# How many more equal answers than exact repeats are needed: below that, batch work and honest
# search are mistaken for loops, for they meet equal answers too while a list is worked off.
_MORE_FOR_ERROR = 1
_MORE_FOR_NUMBERS = 2
_MORE_FOR_NOTHING = 3
_MORE_FOR_ALIKE = 4
_MORE_FOR_CONTENT = 5
_MORE_FOR_NAMES = 9


def find_same_answer(steps: Steps, streak: int, times: int, similarity: float) -> Loop | None:
    """Find `streak` steps running that brought one answer for varying arguments.

    Args:
        steps: the last steps.
        streak: how many steps running brought the answers of the last one.
        times: repeats of an exact call that are a loop; more are needed here.
        similarity: share (0.0–1.0) from which two arguments are near-equal.
    """
    if streak <= times:
        return None
    tail = list(steps.kept)[-min(streak, 2 * times + 2) :]
    calls = [step.calls[0] for step in tail]
    if len({answer_key(call) for call in tail[-1].calls}) > 1:
        return None
    if len({call.call for call in calls}) < times or any(step.waits for step in tail):
        return None
    needed = _needed(calls, similarity)
    if needed is None or streak < times + needed:
        return None
    last = calls[-1]
    return Loop(
        kind=LoopKind.SAME_ERROR if last.failed else LoopKind.SAME_ANSWER,
        episode=digest(answer_key(last)),
        confidence=0.8,
        times=streak,
        tool=last.tool,
        said=last.said,
        members=frozenset({answer_key(last)}),
    )


def _needed(calls: Sequence[CallRecord], similarity: float) -> int | None:
    """Return how many more than exact repeats are needed, None where it is no loop at all."""
    last = calls[-1]
    if any(call.failed for call in calls):
        return _MORE_FOR_ERROR if all(call.failed for call in calls) else None
    if stays(last.said):
        return _MORE_FOR_NUMBERS
    worded = tells_of_nothing(last.said)
    nothing = worded or (not would_change(last) and finds_nothing(last.said))
    if last.profile.writes or (acknowledges(last.said) and not nothing):
        return None
    if nothing and (worded or last.profile.read_only or alike(calls, similarity)):
        return _MORE_FOR_NOTHING
    return _needed_for_content(calls, similarity)


def _needed_for_content(calls: Sequence[CallRecord], similarity: float) -> int:
    if alike_but_for_numbers(calls):
        return _MORE_FOR_NAMES if numbered_names(calls) else _MORE_FOR_NUMBERS
    return _MORE_FOR_ALIKE if alike(calls, similarity) else _MORE_FOR_CONTENT
