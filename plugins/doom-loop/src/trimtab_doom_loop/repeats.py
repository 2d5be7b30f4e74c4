"""The same actions again with the same answers: in a row, in rounds, or in between others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trimtab.trajectory import CallRecord
from trimtab_doom_loop.steps import Step, Steps, is_wait
from trimtab_doom_loop.verdict import Loop, LoopKind
from trimtab_doom_loop.waiting import paused, too_long


def find_rounds(steps: Steps, longest: int, times: int) -> Loop | None:
    """Find the last steps taken `times` times running, in rounds of 1 to `longest` steps."""
    kept = steps.kept
    last = kept[-1].kind
    for length in range(1, min(longest, len(kept) // 2) + 1):
        if kept[-1 - length].kind == last:
            rounds = 1 + _echo(kept, length) // length
            if rounds >= times and (loop := _rounds(steps, length, rounds)):
                return loop
    return None


def _echo(kept: Sequence[Step], length: int) -> int:
    """Return how many of the last steps equal the one `length` before them."""
    count = 0
    while count + length < len(kept) and kept[-1 - count].kind == kept[-1 - count - length].kind:
        count += 1
    return count


def _rounds(steps: Steps, length: int, rounds: int) -> Loop | None:
    tail = list(steps.kept)[-length * rounds :]
    call = tail[-1].calls[-1]
    again = [step.calls[-1] for step in tail[length - 1 :: length]]
    waited = any(step.waits for step in tail[-length:]) or (length == 1 and paused(again))
    if waited and not too_long(_waits(tail) or again):
        return None
    members = frozenset(c.call for step in tail[-length:] for c in step.calls)
    kind = LoopKind.CYCLE if length > 1 else LoopKind.REPEAT
    return Loop(
        kind=LoopKind.WAITING if waited else kind,
        episode=min(members),
        confidence=1.0 if length == 1 else 0.95,
        times=rounds,
        length=length,
        tool=call.tool,
        said=call.said,
        members=members,
    )


def _waits(tail: Sequence[Step]) -> list[CallRecord]:
    return [call for step in tail for call in step.calls if is_wait(call)]


def find_interleaved(steps: Steps, times: int, within: int) -> Loop | None:
    """Find a call of the last step made `times` times in `within` steps, always with the same
    answer, though nothing that might change it was done in between.
    """
    for call in steps.kept[-1].calls:
        seen = steps.occurrences(call)[-times:]
        if len(seen) < times or steps.kept[-1].number - seen[0][0] >= within:
            continue
        calls = [record for _, record in seen]
        between = [step for step in steps.since(seen[0][0] + 1)]
        if any(step.changes or step.waits for step in between) or paused(calls):
            continue
        return Loop(
            kind=LoopKind.INTERLEAVED,
            episode=call.call,
            confidence=0.85,
            times=len(seen),
            length=len(between),
            tool=call.tool,
            said=call.said,
            members=frozenset({call.call}),
        )
    return None


def find_long_round(steps: Steps, longest: int, times: int) -> Loop | None:
    """Find a round of more than `longest` steps: the last step has come `times` times, and since
    the time before every step was one that had been taken already.
    """
    step = steps.kept[-1]
    seen = [earlier.number for earlier in steps.kept if earlier.kind == step.kind]
    if len(seen) < times or seen[-1] - seen[-2] <= longest:
        return None
    between = list(steps.since(seen[-2]))
    if any(s.fresh or s.waits for s in between):
        return None
    if any(s.changes for s in steps.since(seen[-times] + 1)):
        return None
    call = step.calls[-1]
    members = frozenset(c.call for s in between for c in s.calls)
    return Loop(
        kind=LoopKind.CYCLE,
        episode=min(members),
        confidence=0.85,
        times=len(seen),
        length=seen[-1] - seen[-2],
        tool=call.tool,
        said=call.said,
        members=members,
    )


def find_duplicates(step: Step, times: int) -> Loop | None:
    """Find one call asked for `times` times in one batch."""
    if len(step.calls) < times:
        return None
    fingerprint, count = Counter(call.call for call in step.calls).most_common(1)[0]
    calls = [call for call in step.calls if call.call == fingerprint]
    if count < times or is_wait(calls[0]) or not _alike(calls):
        return None
    return Loop(
        kind=LoopKind.BATCH,
        episode=fingerprint,
        confidence=0.95,
        times=count,
        tool=calls[0].tool,
        said=calls[0].said,
        members=frozenset({fingerprint}),
    )


def _alike(calls: Sequence[CallRecord]) -> bool:
    """Tell whether equal calls are duplicates: a call without arguments may have lost them."""
    return calls[0].params_text not in ("{}", "null") or all(
        call.answers_like(calls[0]) for call in calls
    )
