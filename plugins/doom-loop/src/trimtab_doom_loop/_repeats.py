"""The same actions again with the same answers: in a row, in rounds, or in between others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import attrs

from trimtab_doom_loop._actions import Action, is_change, texts_of, waits, writes_text
from trimtab_doom_loop._excuses import backs_off, is_waiting, waited_in_vain, watched
from trimtab_doom_loop._kept import Actions
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import answer_key, stable_answer_key
from trimtab_signals import (
    CallRecord,
    complains,
    confirms,
    failure_episode,
    mentions_failure,
    span_of,
    waited_too_long,
)

LONGEST_ROUND = 16
"""Longest round looked for, in actions."""

_SHORT_ANSWER = 40
"""Characters of what is answered to a note or a message; more says why it was not taken."""
CERTAIN = 0.95
"""Confidence of rounds that are repeated."""


def find_rounds(actions: Actions, longest: int, times: int) -> Loop | None:
    """Find rounds of 1 to `longest` actions that occur `times` times in a row. The last may be
    open, but that of changes that undo each other.
    """
    kept = actions.kept
    last = kept[-1].kind
    for length in range(1, min(max(longest, LONGEST_ROUND), len(kept) // 2) + 1):
        if kept[-1 - length].kind == last:
            echo = _echo(kept, length)
            needed = times + _changes_again(kept, length)
            is_open = length > longest or not _undoes_all(list(kept)[-length:])
            rest = length - 1 if is_open and needed > 2 and not kept[-1].excused else 0
            if echo + rest >= length * (needed - 1) and (
                loop := loop_of_rounds(actions, length, 1 + echo // length)
            ):
                return loop
    return None


def _undoes_all(round_: Sequence[Action]) -> bool:
    return all(is_change(call) for action in round_ for call in action.calls)


def _echo(kept: Sequence[Action], length: int) -> int:
    """Return how many of the last actions equal the one `length` before them."""
    count = 0
    while count + length < len(kept) and kept[-1 - count].kind == kept[-1 - count - length].kind:
        count += 1
    return count


def _changes_again(actions: Sequence[Action], length: int) -> int:
    """Return 1 if a change is repeated of which no answer complains, for one may be intended; but
    not of a text that is known to be written once more each time, as other ids show.
    """
    calls, one = actions[-1].calls, actions[-1].calls[0]
    if length > 1 or any(map(complains, calls)):
        return 0
    more = writes_text(one) and one.output_hash != actions[-2].calls[0].output_hash
    return int(all(call.profile.writes for call in calls) != more)


def loop_of_rounds(
    actions: Actions, length: int, rounds: int, several: LoopKind = LoopKind.CYCLE
) -> Loop | None:
    """Return the loop that the last `rounds` rounds are; None if they are excused."""
    tail = list(actions.kept)[-length * rounds :]
    waited = is_waiting(actions, tail, length)
    if waited and not waited_in_vain(tail, length):
        actions.kept[-1].excused = True
        return None
    calls = [call for action in tail[-length:] for call in action.calls]
    failing = [] if waited or length == 1 else [call for call in calls if call.failed]
    # With other arguments it is the same failure, and a call by itself the same answer.
    answers = map(stable_answer_key, failing if len(calls) > 1 else calls)
    loop = loop_of(
        LoopKind.WAITING if waited else several if length > 1 else LoopKind.REPEAT,
        [*calls, *failing][-1],
        times=rounds,
        members=frozenset({*(call.fingerprint for call in calls), *answers}),
        confidence=1.0 if length == 1 else CERTAIN,
        length=length,
        tools=tuple(dict.fromkeys(call.tool for call in calls)),
    )
    if len({answer_key(call) for call in failing}) == 1:  # the same problem for every provider
        return attrs.evolve(loop, episode=failure_episode(failing[-1]))
    return loop


def find_interleaved(actions: Actions, times: int) -> Loop | None:
    """Find a call of the last action that was made `times` times in thrice as many actions, always
    with the same answer, though nothing in between may have changed it (see `_may_differ`).
    """
    last, within = actions.kept[-1], 3 * times
    for call in last.calls if not last.excused else ():
        found = actions.occurrences(call) if actions.count(call) >= times else []
        if len(found) < times or last.number - found[-times][0] >= within:
            continue
        numbers = [number for number, _ in found[-times:]]
        if any(2 * (later - earlier) > within for earlier, later in pairwise(numbers)):
            continue  # one return to it is no loop yet
        between = list(actions.since(numbers[0] + 1))
        in_vain = len(found) > times and mentions_failure(call) and not call.profile.writes
        if any(action.waits for action in between) or (
            not in_vain and _may_differ(call, between)  # a failure that outlasts the changes
        ):
            continue
        spans = [span_of(record) for _, record in found]
        watches = watched(actions, last, found[0][0], spans)
        if backs_off(last.calls, spans[-times:]) or (watches and not waited_too_long(spans)):
            continue
        in_a_row = sum(last.number - number == n for n, (number, _) in enumerate(found[::-1]))
        row = in_a_row >= times
        return loop_of(
            LoopKind.REPEAT if row else LoopKind.INTERLEAVED,
            call,
            times=in_a_row if row else len(found),
            members=frozenset({call.fingerprint, stable_answer_key(call)}),
            confidence=0.85,
        )
    return None


def _may_differ(call: CallRecord, between: Sequence[Action]) -> bool:
    """Tell whether something done in between may have changed what `call` returns. A change that
    is made again and shows the same has undone all that.
    """
    if not call.reads and not complains(call) and follows_news(call, between):
        return call.size <= _SHORT_ANSWER or confirms(call.output)
    shows = call.profile.writes and not call.failed
    return not shows and any(action.changes for action in between)


def follows_news(call: CallRecord, between: Sequence[Action]) -> bool:
    """Tell whether an answer that was not there before came before each call: then the call, say
    a note or a message, is about something else each time.
    """
    news = False
    texts = texts_of(call)
    for action in between:
        if any(one.fingerprint == call.fingerprint for one in action.calls):
            if not news and action is not between[0]:
                return False
            news = False
        elif (
            action.fresh
            and action.news
            and not any(one.failed or one.tool == call.tool for one in action.calls)
            and not any(text in action.calls[0].output for text in texts)  # its own words
        ):
            news = True
    return news


def find_duplicates(action: Action, times: int) -> Loop | None:
    """Find one call asked for `times` times in one batch."""
    fingerprint, count = Counter(call.fingerprint for call in action.calls).most_common(1)[0]
    call = next(call for call in action.calls if call.fingerprint == fingerprint)
    # The arguments of an empty call may be lost.
    if count < times or waits(call) or call.params_text in ("{}", "null"):
        return None
    members = frozenset({fingerprint})
    return loop_of(LoopKind.BATCH, call, times=count, members=members, confidence=0.95)
