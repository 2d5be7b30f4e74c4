"""Ever-varying arguments, always the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trimtab import LazyPattern
from trimtab.trajectory import (
    CallRecord,
    confirms,
    finds_nothing,
    mentions_failure,
    refuses,
    reports_nothing,
    says_unchanged,
    without_times,
)
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import (
    alike,
    alike_but_for_numbers,
    numbered_names,
    reworded,
    same_subject,
    trouble_key,
)
from trimtab_doom_loop._steps import Steps, moves_unseen

# How many more equal answers than exact repeats are needed: below that, batch work and honest
# search are mistaken for loops, for they meet equal answers too while a list is worked off.
_MORE_FOR_ERROR = 1
_MORE_FOR_NUMBERS = 2
_MORE_FOR_NOTHING = 3
_MORE_FOR_ALIKE = 4
_MORE_FOR_CONTENT = 5
_MORE_FOR_NAMES = 9
_SHORT_ANSWER = 80
_OFTEN = 4
_NUMBER = LazyPattern(r"\d{1,6}")
_NEGATION = LazyPattern(r"(?i)\bnot\b|n't\b")
_SHOWS = LazyPattern(r"\w://\w")


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
    tail = list(steps.kept)[-min(streak, 4 * times) :]
    calls = [step.calls[0] for step in tail]
    if len({call.tool for call in tail[-1].calls}) > 1:
        return None
    if len({call.fingerprint for call in calls}) < times:
        return None
    if any(step.waits for step in tail):
        needed = 2 * times if _hunts(calls) else None
    else:
        needed = _needed(calls, similarity)
    if needed is None or streak < times + needed:
        return None
    last = calls[-1]
    kind = LoopKind.SAME_ERROR if last.failed else LoopKind.SAME_ANSWER
    return loop_of(kind, last, times=streak, members=frozenset({trouble_key(last)}))


def _hunts(calls: Sequence[CallRecord]) -> bool:
    """Tell whether moves on a screen go back and forth over it while the answer shows that it
    stays as it is. Who fills in a form goes down the page.
    """
    if not all(moves_unseen(call) and _SHOWS.search(call.output) for call in calls):
        return False
    places = [[int(number) for number in _NUMBER.findall(call.params_text)] for call in calls]
    back = sum(later < earlier for earlier, later in pairwise(places))
    return _OFTEN * back >= len(calls)


def _needed(calls: Sequence[CallRecord], similarity: float) -> int | None:
    """Return how many more than exact repeats are needed, None where it is no loop at all."""
    last = calls[-1]
    if any(call.failed for call in calls):
        return _MORE_FOR_ERROR if all(call.failed for call in calls) else None
    if says_unchanged(last.output):
        return _MORE_FOR_NUMBERS
    worded = reports_nothing(last.output)
    nothing = worded or (last.reads and finds_nothing(last.output))
    if nothing and not last.profile.writes:
        if worded or last.profile.read_only or alike(calls, similarity):
            return _MORE_FOR_NOTHING
    elif _says_little(last):
        return _needed_for_little(calls)
    return _needed_for_content(calls, similarity)


def _needed_for_little(calls: Sequence[CallRecord]) -> int | None:
    if len({without_times(call.params_text) for call in calls}) == 1:
        return _MORE_FOR_NUMBERS  # nothing but the time differs
    return _MORE_FOR_CONTENT if reworded(calls, closely=True) else None


def _complains(call: CallRecord) -> bool:
    """Tell whether an answer sounds like a failure, and does not confirm something besides."""
    if not mentions_failure(call) or reports_nothing(call.output):
        return False
    return not confirms(_NEGATION.sub("", call.output))


def _says_little(call: CallRecord) -> bool:
    """Tell whether an answer may well only confirm what was done, in whatever language: there
    the calls decide, whether they differ in substance.
    """
    if call.profile.writes or confirms(call.output):
        return True
    if refuses(call.output) or _complains(call):
        return False
    return not call.reads and call.size <= _SHORT_ANSWER and "\n" not in call.output


def _needed_for_content(calls: Sequence[CallRecord], similarity: float) -> int:
    if len({call.command for call in calls}) == 1 and calls[0].command:
        return _MORE_FOR_NUMBERS  # one command; what else was said beside it changes nothing
    if _complains(calls[-1]):
        return _MORE_FOR_ERROR
    if alike_but_for_numbers(calls):
        return _MORE_FOR_NAMES if numbered_names(calls) else _MORE_FOR_NUMBERS
    if same_subject(calls):
        return _MORE_FOR_NUMBERS
    return _MORE_FOR_ALIKE if alike(calls, similarity) else _MORE_FOR_CONTENT
