"""Work that has no effect: one answer to other words, one result after other changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from posixpath import basename

from trimtab import LazyPattern
from trimtab.trajectory import (
    CallRecord,
    confirms,
    mentions_failure,
    reports_nothing,
)
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import reworded
from trimtab_doom_loop._steps import Step, Steps

_FILE = LazyPattern(r"(?<![\w./-])[\w./-]*\w\.[A-Za-z]\w{0,5}\b")
# A thing of its own: a file, an address, a number of several digits.
_NAMED = LazyPattern(r"(?<![\w-])(?=[\w-]*\d)[\w-]{8,}")
_MOVES = LazyPattern(r"(?i)\b(?:scroll|next|forward|back|advanc|turn)\w*\b")
_MORE_FOR_CONTENT = 3
_MORE_FOR_SUBJECT = 1
_MORE_FOR_CHANGES = 2
_MORE_FOR_DEEDS = 3
_SMALLEST = 60
_SHORT = 600
_NEAR = 0.1


def find_without_effect(steps: Steps, times: int) -> Loop | None:
    """Find what goes on without effect: see the functions below."""
    step = steps.kept[-1]
    if len(step.calls) != 1 or len(steps.kept) < times:
        return None
    call = step.calls[0]
    if call.profile.writes:
        found = _elsewhere(steps, call, times)
    elif step.kind != step.number:
        found = _unmoved(steps, call, times)
    else:
        found = _reworded(steps, call, times) or _same_content(steps, call, times)
    return None if found is not None and step.waits else found


def _unmoved(steps: Steps, call: CallRecord, times: int) -> Loop | None:
    """Find a call that shows one and the same trouble after each of several changes."""
    needed = times + _MORE_FOR_CHANGES
    if steps.count(call) < needed:
        return None
    seen = steps.occurrences(call)[-needed:]
    if len(seen) < needed or not mentions_failure(call):
        return None
    changed = [step.number for step in steps.since(seen[0][0]) if step.changes]
    after_each = all(
        any(earlier < number < later for number in changed)
        for (earlier, _), (later, _) in pairwise(seen)
    )
    return _loop(LoopKind.UNMOVED, call, len(seen)) if after_each else None


def _elsewhere(steps: Steps, call: CallRecord, times: int) -> Loop | None:
    """Find changes that name one file while the answers show another."""
    needed = times + _MORE_FOR_CHANGES
    tail = list(islice(reversed(steps.kept), needed))
    if len(tail) < needed or any(len(step.calls) > 1 for step in tail):
        return None
    calls = [step.calls[0] for step in tail]
    if any(c.tool != call.tool or c.failed for c in calls):
        return None
    return _loop(LoopKind.ELSEWHERE, call, needed) if all(map(_strays, calls)) else None


def _strays(call: CallRecord) -> bool:
    asked = {basename(name) for name in _FILE.findall(call.params_text)}
    shown = {basename(name) for name in _FILE.findall(call.output[:_SMALLEST])}
    return bool(asked) and bool(shown) and not asked & shown


def _reworded(steps: Steps, call: CallRecord, times: int) -> Loop | None:
    """Find one request worded anew each time with one effect: the answers begin alike."""
    needed = times + _MORE_FOR_DEEDS
    if call.failed or steps.kept[-2].calls[0].tool != call.tool:
        return None
    tail = list(islice(reversed(steps.kept), needed))
    calls = [step.calls[0] for step in tail]
    if len(calls) < needed or any(c.tool != call.tool for c in calls):
        return None
    heads = {c.output.partition("\n")[0] for c in calls}
    if (
        len(heads) > 1
        or _MOVES.search(call.output.partition("\n")[0])
        or len(call.output) < _SMALLEST
        or not reworded(calls, closely=False)
    ):
        return None
    return _loop(LoopKind.REWORDED, call, needed)


def _same_content(steps: Steps, call: CallRecord, times: int) -> Loop | None:
    """Find an answer that came again and again to other words, with other calls in between."""
    fewest = times + _MORE_FOR_SUBJECT
    if call.size < _SMALLEST or steps.tool_count(call.tool) < fewest:
        return None
    near = _candidates(steps, call, fewest, times + _MORE_FOR_CONTENT)
    if not near or not call.pieces:
        return None
    alike = [step for step in near if _mostly_says(step.calls[0], call)]
    if len(alike) >= fewest and _name_one_thing(alike[:fewest]):
        return _said_again(steps, alike, fewest, closely=True)
    again = [step for step in alike if step.calls[0].pieces == call.pieces]
    closely = mentions_failure(call) and not reports_nothing(call.output)
    needed = fewest if closely else times + _MORE_FOR_CONTENT
    return _said_again(steps, again, needed, closely=closely)


def _mostly_says(one: CallRecord, other: CallRecord) -> bool:
    """Tell whether three quarters of two answers are the same."""
    most = max(len(one.pieces), len(other.pieces))
    return 4 * len(one.pieces & other.pieces) >= 3 * most


def _said_again(steps: Steps, again: Sequence[Step], needed: int, *, closely: bool) -> Loop | None:
    if len(again) < needed:
        return None
    between = [s for s in steps.since(again[needed - 1].number) if s not in again]
    if any(step.waits or (_works(step) if closely else step.changes) for step in between):
        return None
    return _loop(LoopKind.SAME_CONTENT, again[0].calls[0], len(again))


def _name_one_thing(again: Sequence[Step]) -> bool:
    """Tell whether calls, neither reads nor commands, all name one and the same thing."""
    calls = [step.calls[0] for step in again]
    if any(call.command is not None or call.reads for call in calls):
        return False
    named = [set(_NAMED.findall(call.params_text)) for call in calls]
    return bool(set.intersection(*named))


def _works(step: Step) -> bool:
    """Tell whether a step has changed something for all that is known, beyond talk with others."""
    return step.changes and any(c.profile.writes or c.command is not None for c in step.calls)


def _candidates(steps: Steps, call: CallRecord, fewest: int, most: int) -> list[Step]:
    """Return the latest steps that may have brought the answer of `call`; none if too few may.

    Whichever costs less is looked at first: the words of a short answer, the sizes of others.
    """
    is_short = call.size <= _SHORT
    if is_short and not _says_what_came_before(steps, call):
        return []
    near = _alike_in_size(steps, call, most)
    if len(near) < fewest or confirms(call.output):
        return []
    return near if is_short or _says_what_came_before(steps, call) else []


def _says_what_came_before(steps: Steps, call: CallRecord) -> bool:
    """Tell at little cost whether an answer may be that of the last call of the same tool."""
    before = next(islice(steps.alike_in_tool(call), 1, None), None)
    return before is not None and call.may_repeat(before.calls[0])


def _alike_in_size(steps: Steps, call: CallRecord, needed: int) -> list[Step]:
    """Return the latest steps whose answers are as long as that of `call`, latest first."""
    most = max(_SMALLEST, _NEAR * call.size)
    least, largest = call.size - most, call.size + most
    found = []
    since = steps.kept[-1].number - 3 * needed
    for step in steps.alike_in_tool(call):
        if step.number <= since:
            break
        if least <= step.calls[0].size <= largest:
            found.append(step)
    return found


def _loop(kind: LoopKind, call: CallRecord, times: int) -> Loop:
    return loop_of(
        kind, call, times=times, members=frozenset({call.fingerprint, f"{kind} {call.tool}"})
    )
