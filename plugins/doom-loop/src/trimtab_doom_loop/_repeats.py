"""The same actions again with the same answers: in a row, in rounds, or in between others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from trimtab.trajectory import (
    CEILING_CALLS,
    CallRecord,
    Span,
    asks_for_input,
    confirms,
    has_ended,
    is_wait,
    leaves_running,
    name_words,
    paused,
    span_of,
    waited_too_long,
)
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import alike, trouble_key
from trimtab_doom_loop._steps import Step, Steps, moves_unseen, waits

LONGEST_ROUND = 16
"""Longest round that is looked for, in steps; beyond the option's length the proof is the same."""

_SAME_CLICKS = 8
_CLICKS = frozenset({"check", "click", "select", "tap", "toggle"})


def find_rounds(steps: Steps, longest: int, times: int) -> Loop | None:
    """Find the last steps taken `times` times running, in rounds of 1 to `longest` steps."""
    kept = steps.kept
    last = kept[-1].kind
    for length in range(1, min(longest, len(kept) // 2) + 1):
        if kept[-1 - length].kind == last:
            rounds = 1 + _echo(kept, length) // length
            needed = times + _changes_again(kept[-1], length)
            if rounds >= needed and (loop := _rounds(steps, length, rounds)):
                return loop
    return None


def _echo(kept: Sequence[Step], length: int) -> int:
    """Return how many of the last steps equal the one `length` before them."""
    count = 0
    while count + length < len(kept) and kept[-1 - count].kind == kept[-1 - count - length].kind:
        count += 1
    return count


def _changes_again(step: Step, length: int) -> int:
    """Return 1 more where a successful change is repeated: once may well be meant."""
    return int(length == 1 and all(c.profile.writes and not c.failed for c in step.calls))


def _rounds(steps: Steps, length: int, rounds: int) -> Loop | None:
    tail = list(steps.kept)[-length * rounds :]
    call = tail[-1].calls[-1]
    again = [span_of(step.calls[-1]) for step in tail[length - 1 :: length]]
    waited = (
        _waits_for_news(tail[-length:], rounds)
        or paused(again)
        or _is_live(steps, length)
        or (length == 1 and _moves_by_itself(steps, tail[0]))
    )
    if waited and not waited_too_long(_waits(tail) or again):
        return None
    calls = [c for step in tail[-length:] for c in step.calls]
    members = {c.fingerprint for c in calls}
    kind = LoopKind.CYCLE if length > 1 else LoopKind.REPEAT
    return loop_of(
        LoopKind.WAITING if waited else kind,
        call,
        times=rounds,
        members=frozenset(members if len(calls) > 1 else {*members, trouble_key(call)}),
        confidence=1.0 if length == 1 else 0.95,
        length=length,
        tools=tuple(dict.fromkeys(c.tool for c in calls)),
    )


def _waits(tail: Sequence[Step]) -> list[Span]:
    return [span_of(step.calls[-1]) for step in tail if step.waits]


def _waits_for_news(steps: Sequence[Step], rounds: int) -> bool:
    """Tell whether a round waits. A screen that is moved may have moved, unless the round also
    shows what is there: that was the same. One thing clicked may be a button to the next page;
    several clicked in rounds undo one another.
    """
    if not any(step.waits for step in steps):
        return False
    calls = [call for step in steps for call in step.calls]
    if any(map(is_wait, calls)):
        return True
    if all(_CLICKS.intersection(name_words(call.tool)) for call in calls):
        return len({call.fingerprint for call in calls}) == 1 and rounds * len(calls) < _SAME_CLICKS
    return all(map(moves_unseen, calls))


def _is_live(steps: Steps, length: int) -> bool:
    """Tell whether the last round only looks at what a process started before may change."""
    looks = list(steps.kept)[-length:]
    if not all(call.reads for step in looks for call in step.calls):
        return False
    since = steps.kept[-1].number - CEILING_CALLS
    return any(leaves_running(call) for step in steps.since(since) for call in step.calls)


def _moves_by_itself(steps: Steps, first: Step) -> bool:
    """Tell whether what the repeated call `first` asks for has changed before, though the agent
    did nothing that may have changed it, and has not come to an end.
    """
    call = first.calls[0]
    if call.failed or call.profile.writes or has_ended(call.output) or asks_for_input(call.output):
        return False
    for step in steps.since(first.number - CEILING_CALLS):
        if step.number >= first.number:
            continue
        if step.asked != first.asked:
            if step.changes:
                return False
        elif step.kind != first.kind:
            return not step.calls[0].failed
    return False


def find_interleaved(steps: Steps, times: int, within: int) -> Loop | None:
    """Find a call of the last step made `times` times in `within` steps, always with the same
    answer, though nothing in between might have changed it (see `_may_differ`).
    """
    for call in steps.kept[-1].calls:
        if steps.count(call) < times:
            continue
        seen = steps.occurrences(call)[-times:]
        if len(seen) < times or steps.kept[-1].number - seen[0][0] >= within:
            continue
        if _stays_away([number for number, _ in seen], within // 2):
            continue
        between = list(steps.since(seen[0][0] + 1))
        if _may_differ(call, between) or _is_live(steps, 1):
            continue
        first = next((step for step in between[::-1] if step.asked == steps.kept[-1].asked), None)
        if first is not None and _moves_by_itself(steps, first):
            continue
        if not paused([span_of(record) for _, record in seen]):
            return _interleaved(call, len(seen))
    return None


def _may_differ(call: CallRecord, between: Sequence[Step]) -> bool:
    """Tell whether something done in between might have changed what `call` brings. A change that
    shows what it made has undone all that, where it shows the same once more.
    """
    if any(step.waits for step in between):
        return True
    shows = call.profile.writes and not call.failed and not confirms(call.output)
    return not shows and any(step.changes for step in between)


def _stays_away(numbers: Sequence[int], longest: int) -> bool:
    """Tell whether the agent left it alone for a while: coming back once is no loop yet."""
    return any(later - earlier > longest for earlier, later in pairwise(numbers))


def _interleaved(call: CallRecord, times: int) -> Loop:
    members = frozenset({call.fingerprint, trouble_key(call)})
    return loop_of(LoopKind.INTERLEAVED, call, times=times, members=members, confidence=0.85)


def find_long_round(steps: Steps, longest: int, times: int) -> Loop | None:
    """Find rounds of more than `longest` steps, of which the last of `times` has begun."""
    kept = steps.kept
    last = kept[-1].kind
    for length in range(longest + 1, min(LONGEST_ROUND, len(kept) // 2) + 1):
        if kept[-1 - length].kind == last and _echo(kept, length) > length * (times - 2):
            return _rounds(steps, length, 1 + _echo(kept, length) // length)
    return None


def find_like_rounds(steps: Steps, longest: int, times: int, similarity: float) -> Loop | None:
    """Find rounds that got the same answers every time, their arguments near-equal."""
    kept = steps.kept
    last = kept[-1].brought
    for length in range(2, min(longest, len(kept) // times) + 1):
        if kept[-1 - length].brought == last and _is_like(kept, length, times, similarity):
            return _rounds(steps, length, times)
    return None


def _is_like(kept: Sequence[Step], length: int, times: int, similarity: float) -> bool:
    tail = list(kept)[-length * times :]
    pairs = list(zip(tail, tail[length:], strict=False))
    if any(a.brought != b.brought for a, b in pairs) or len({s.brought for s in tail}) < 2:
        return False
    return all(a.kind == b.kind or _brings_nothing(a, b, similarity) for a, b in pairs)


def _brings_nothing(earlier: Step, later: Step, similarity: float) -> bool:
    """Tell whether near-equal steps taught nothing new; a mere confirmation doesn't tell."""
    if len(earlier.calls) != 1 or len(later.calls) != 1:
        return False
    a, b = earlier.calls[0], later.calls[0]
    if not b.failed and confirms(b.output):
        return False
    return alike((a, b), similarity)


def find_rejected(steps: Steps, times: int, similarity: float) -> Loop | None:
    """Find a change rejected over and over with the same error: the very same one `times` times
    whatever was done in between, near-equal ones once more and with nothing new in between.
    """
    for call in steps.kept[-1].calls:
        if call.failed and call.profile.writes:
            count = _count_rejections(steps, call, times, similarity)
            if count >= times:
                return _rejected(call, count)
    return None


def _count_rejections(steps: Steps, call: CallRecord, times: int, similarity: float) -> int:
    latest_first = list(steps.since(steps.kept[-1].number - 3 * times + 1))
    count = sum(_rejected_again(step, call) for step in latest_first)
    if count >= times:
        return count
    tried = _rejected_alike(latest_first, call)[: times + 1]
    return len(tried) if len(tried) > times and alike(tried, similarity) else 0


def _rejected(call: CallRecord, count: int) -> Loop:
    members = frozenset({call.fingerprint, trouble_key(call)})
    return loop_of(LoopKind.REJECTED, call, times=count, members=members, confidence=0.85)


def _rejected_again(step: Step, call: CallRecord) -> bool:
    return any(
        c.fingerprint == call.fingerprint and c.signature == call.signature for c in step.calls
    )


def _rejected_alike(latest_first: Sequence[Step], call: CallRecord) -> list[CallRecord]:
    """Return the rejections like `call`, back to where something new was learnt."""
    tried: list[CallRecord] = []
    for step in latest_first:
        same = [c for c in step.calls if c.tool == call.tool and c.signature == call.signature]
        if not same and step.fresh and any(c.size for c in step.calls):
            break
        tried += same[:1]  # a batch is one attempt
    return tried


def find_duplicates(step: Step, times: int) -> Loop | None:
    """Find one call asked for `times` times in one batch."""
    if len(step.calls) < times:
        return None
    fingerprint, count = Counter(call.fingerprint for call in step.calls).most_common(1)[0]
    calls = [call for call in step.calls if call.fingerprint == fingerprint]
    if count < times or waits(calls[0]) or not _alike(calls):
        return None
    members = frozenset({fingerprint})
    return loop_of(LoopKind.BATCH, calls[0], times=count, members=members, confidence=0.95)


def _alike(calls: Sequence[CallRecord]) -> bool:
    """Tell whether equal calls are duplicates: a call without arguments may have lost them."""
    return calls[0].params_text not in ("{}", "null") or all(
        call.same_output(calls[0]) for call in calls
    )
