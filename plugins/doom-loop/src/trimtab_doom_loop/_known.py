"""Steps that bring nothing that the run has not brought before, in whatever order they come."""

from __future__ import annotations

from itertools import islice

from trimtab import LazyPattern
from trimtab.trajectory import CallRecord
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import alike_but_for_numbers
from trimtab_doom_loop._steps import Steps

_EVERY = 4
_SMALLEST = 60
_WORD = LazyPattern(r"[^\W_]{3,}")
_STEM = 4
_FEWEST_WORDS = 6
_NEW = 3
_SHARE = 8


def find_known(steps: Steps, stale: int, times: int) -> Loop | None:
    """Find what goes on without a new answer: see the functions below.

    Args:
        steps: the last steps.
        stale: how many steps running made a call again and learnt the same.
        times: repeats of a call that are a loop.
    """
    needed = 3 * times - 1
    step = steps.kept[-1]
    if stale >= needed and (found := _all_again(steps, stale, times)):
        return found
    if len(step.calls) != 1 or steps.tool_count(step.calls[0].tool) < needed:
        return None
    call = step.calls[0]
    again = steps.count(call) >= needed
    if not again and (step.number % _EVERY or steps.kept[-2].calls[0].tool != call.tool):
        return None
    if call.failed or call.profile.writes or step.waits:
        return None
    if again:
        return _told_anew(steps, call, needed)
    return _paged_again(steps, call, needed) if call.reads else None


def _all_again(steps: Steps, stale: int, times: int) -> Loop | None:
    """Find nothing but calls that were made `times` times, each with the answer that it had."""
    calls = [call for step in islice(reversed(steps.kept), stale) for call in step.calls]
    if any(steps.count(call) < times for call in calls):
        return None
    return loop_of(
        LoopKind.KNOWN,
        calls[0],
        times=stale,
        members=frozenset(call.fingerprint for call in calls),
        tools=tuple(dict.fromkeys(call.tool for call in calls)),
    )


def _paged_again(steps: Steps, call: CallRecord, needed: int) -> Loop | None:
    """Find pages of one thing that hold nothing but what pages of it held before."""
    tail = list(islice(reversed(steps.kept), needed))
    calls = [step.calls[0] for step in tail]
    if any(c.tool != call.tool or c.size < _SMALLEST or c.failed for c in calls):
        return None
    if not alike_but_for_numbers(calls):
        return None
    before: frozenset[int] = frozenset()
    for step in islice(reversed(steps.kept), needed, None):
        if step.calls[0].tool == call.tool:
            before |= step.calls[0].pieces
    if any(_SHARE * len(c.pieces - before) >= len(c.pieces) for c in calls):
        return None
    return _loop(call, needed)


def _told_anew(steps: Steps, call: CallRecord, needed: int) -> Loop | None:
    """Find one question whose answers are worded anew each time and name nothing new."""
    seen = [s for s in steps.kept if s.calls[0].fingerprint == call.fingerprint][-needed:]
    others = (step for step in steps.since(seen[0].number) if step.asked != seen[0].asked)
    if any(step.changes or step.waits for step in others):
        return None
    known: frozenset[str] = frozenset()
    for number, step in enumerate(seen):
        words = _stems(step.calls[0].output)
        if len(words) < _FEWEST_WORDS or (2 * number >= needed and _adds(words, known)):
            return None
        known |= words
    return _loop(call, len(seen))


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM].lower() for word in _WORD.findall(text))


def _adds(words: frozenset[str], known: frozenset[str]) -> bool:
    new = words - known
    return _NEW * len(new) > len(words) or any(w.isdecimal() for w in new)


def _loop(call: CallRecord, times: int) -> Loop:
    members = frozenset({call.fingerprint, f"known {call.tool}"})
    return loop_of(LoopKind.SAME_CONTENT, call, times=times, members=members)
