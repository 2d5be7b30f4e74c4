"""The same actions again with the same answers: in a row, in rounds, or in between others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import attrs

from trimtab.text import LazyPattern
from trimtab_doom_loop._actions import Action, Actions, moves_unseen, waits
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import (
    alike,
    alike_but_for_numbers,
    answer_key,
    stable_answer_key,
)
from trimtab_signals import (
    APART,
    CEILING_CALLS,
    STATES,
    CallRecord,
    Span,
    asks_for_input,
    blames_call,
    complains,
    confirms,
    failure_episode,
    has_ended,
    in_progress,
    is_aside,
    is_wait,
    name_words,
    names_in,
    not_yet,
    paused,
    says_unchanged,
    spaced,
    span_of,
    waited_too_long,
)

LONGEST_ROUND = 16
"""Longest round looked for, in actions; one beyond `window_size` must repeat as often."""

_SAME_CLICKS = 8
_SAME_DEEDS = 6
"""Rounds of a wait and of one and the same deed, after which the deed is seen to change nothing:
twice as many as without a wait."""
_STATE = 120
"""Characters of an answer that is a state and nothing else."""

_WORDS = 40
"""Characters of an answer of a word or two."""
_WORD = LazyPattern(r"\w{3,}")
_FLAG = LazyPattern(r"[=:]\s?(?:true|false)\b", re.IGNORECASE)
_STATE_FIELD = LazyPattern(r"(?i)\b(?:phase|stage|state|status)[\"']?\s?[=:]")
_DENIED = LazyPattern(r"[=:]\s?false\b", re.IGNORECASE)
_HANDLE = LazyPattern(r"(?<![\w-])[\w-]*\d[\w-]*")
_SHORT_COMMAND = 80
"""Characters of a command in which its program and its verb stand."""
_ASKING = STATES | {"check"}
_CLICKS = frozenset({"check", "click", "select", "tap", "toggle"})


def find_rounds(actions: Actions, longest: int, times: int) -> Loop | None:
    """Find rounds of 1 to `longest` actions that occur `times` times in a row."""
    kept = actions.kept
    last = kept[-1].kind
    for length in range(1, min(longest, len(kept) // 2) + 1):
        if kept[-1 - length].kind == last:
            rounds = 1 + _echo(kept, length) // length
            needed = times + _changes_again(kept[-1], length)
            if rounds >= needed and (loop := _rounds(actions, length, rounds)):
                return loop
    return None


def _echo(kept: Sequence[Action], length: int) -> int:
    """Return how many of the last actions equal the one `length` before them."""
    count = 0
    while count + length < len(kept) and kept[-1 - count].kind == kept[-1 - count - length].kind:
        count += 1
    return count


def _changes_again(action: Action, length: int) -> int:
    """Return 1 if a successful change is repeated, since one repeat may be intended."""
    return int(length == 1 and all(c.profile.writes and not c.failed for c in action.calls))


def _rounds(
    actions: Actions, length: int, rounds: int, several: LoopKind = LoopKind.CYCLE
) -> Loop | None:
    tail = list(actions.kept)[-length * rounds :]
    waited = _excused(actions, tail, length)
    again = [span_of(action.calls[-1]) for action in tail[length - 1 :: length]]
    if waited and not waited_too_long(_waits(tail) or again) and not _waits_in_vain(tail):
        actions.kept[-1].excused = True
        return None
    calls = [c for action in tail[-length:] for c in action.calls]
    members = {c.fingerprint for c in calls}
    kind = several if length > 1 else LoopKind.REPEAT
    failing = [] if waited or length == 1 else [c for c in calls if c.failed]
    members.update(map(stable_answer_key, failing))  # with other arguments it is the same failure
    loop = loop_of(
        LoopKind.WAITING if waited else kind,
        [*calls, *failing][-1],
        times=rounds,
        members=frozenset(members if len(calls) > 1 else {*members, stable_answer_key(calls[0])}),
        confidence=1.0 if length == 1 else 0.95,
        length=length,
        tools=tuple(dict.fromkeys(c.tool for c in calls)),
    )
    if len({answer_key(call) for call in failing}) == 1:  # the same problem for every provider
        return attrs.evolve(loop, episode=failure_episode(failing[-1]))
    return loop


def _excused(actions: Actions, tail: Sequence[Action], length: int) -> bool:
    """Tell whether rounds of so many actions are excused, since what they show may change."""
    again = [span_of(action.calls[-1]) for action in tail[length - 1 :: length]]
    return (
        _waits_for_news(tail, length)
        or paused(again)
        or (length == 1 and _moves_by_itself(actions, tail[0]))
        or _watches(actions, tail, length)
    )


def _waits(tail: Sequence[Action]) -> list[Span]:
    return [span_of(action.calls[-1]) for action in tail if action.waits]


def _waits_in_vain(tail: Sequence[Action]) -> bool:
    """Tell whether half as many waits as are excused all failed, and none said that it is early."""
    waits = [action.calls[-1] for action in tail if action.waits]
    return 2 * len(waits) >= CEILING_CALLS and all(
        call.failed and not in_progress(call.output) for call in waits
    )


def _waits_for_news(tail: Sequence[Action], length: int) -> bool:
    """Tell whether a round waits. Moves on a screen count as a wait, unless the round also shows
    the screen, and that it stays the same. A click on one thing may lead to the next page; clicks
    on several things in turn undo one another.
    """
    rounds, actions = len(tail) // length, tail[-length:]
    if not any(action.waits for action in actions):
        return False
    calls = [call for action in actions for call in action.calls]
    if any(map(is_wait, calls)):
        return rounds < _SAME_DEEDS or not any(map(_acts, calls))
    if all(_CLICKS.intersection(name_words(call.tool)) for call in calls):
        return len({call.fingerprint for call in calls}) == 1 and rounds * len(calls) < _SAME_CLICKS
    return all(map(moves_unseen, calls)) and not _shows_it_stays(tail, length)


def _shows_it_stays(tail: Sequence[Action], length: int) -> bool:
    """Tell whether one of a round's answers names what it shows, and names the same each time: a
    picture of the screen, say.
    """
    for place in range(length):
        told = [call.output for action in tail[place::length] for call in action.calls]
        if len(set(told)) == 1 and names_in(told[0]):
            return True
    return False


def _acts(call: CallRecord) -> bool:
    """Tell whether a call does something, rather than to look or to wait."""
    return call.profile.writes is True and not call.failed and not is_wait(call)


def _moves_by_itself(actions: Actions, first: Action) -> bool:
    """Tell whether what the repeated call `first` shows moves by itself: the answer of an equal
    call of its tool has changed lately, though the agent did nothing that may have changed it.
    """
    call = first.calls[0]
    if call.failed or call.profile.writes or call.profile.opaque:  # moved by what the agent did
        return False
    if has_ended(call.output) or asks_for_input(call.output):
        return False
    later: dict[str, Action] = {}
    for action in actions.since(first.number - CEILING_CALLS):
        if action.calls[0].tool == call.tool:
            moved = later.get(action.asked)
            if moved is not None and moved.kind != action.kind:
                told = (moved.calls[0], action.calls[0])
                if any(one.failed or says_unchanged(one.output) for one in told):
                    return False
                return _of_one_form(*told)
            later[action.asked] = action
        if action.changes and action.earlier < 0 and action.asked != first.asked:
            later.clear()
    return False


def _of_one_form(one: CallRecord, other: CallRecord) -> bool:
    """Tell whether two answers may show one thing at two times: they have a word in common, or
    are no more than a word or two. A note in the place of what the first call brought is neither.
    """
    if max(one.size, other.size) <= _WORDS:
        return True
    return not set(_WORD.findall(one.output)).isdisjoint(_WORD.findall(other.output))


def _watches(actions: Actions, tail: Sequence[Action], length: int) -> bool:
    """Tell whether an agent asks every few seconds for one state, or for several in turn."""
    spans = [span_of(action.calls[-1]) for action in tail]
    first = tail[0].number
    return spaced(spans, APART) and all(
        _asks_for_state(actions, action, first) for action in tail[-length:]
    )


def watches_in_turn(actions: Actions, tail: Sequence[Action]) -> bool:
    """Tell whether an agent asks for the states of several things in turn, with pauses."""
    asked = {action.asked for action in tail}
    spans = [span_of(action.calls[-1]) for action in tail]
    if 2 * len(asked) > len(tail) or not _watches(actions, tail, len(asked)):
        return False
    return not waited_too_long(spans)


def _asks_for_state(actions: Actions, action: Action, first: int) -> bool:
    """Tell whether an action asks for a state: its answer is short, and is made of flags, or is
    about what the agent has begun before action `first`; or its tool is for states.
    """
    calls = [call for call in action.calls if not is_aside(call.tool)]
    if len(calls) != 1:
        return False
    call = calls[0]
    acts = call.profile.writes or call.profile.opaque
    words = name_words(call.command[:_SHORT_COMMAND] if call.command else call.tool)
    named = not _ASKING.isdisjoint(words)
    does = acts or (call.command is not None and not call.reads and not named)
    if does and not call.failed:
        return False
    if call.failed:
        return not call.profile.writes and not_yet(call.output)
    is_short = 0 < call.size <= _STATE and "\n" not in call.output
    if not is_short or complains(call) or blames_call(call.output):
        return False
    if has_ended(call.output) or asks_for_input(call.output):
        return False
    return (
        named
        or _STATE_FIELD.search(call.output) is not None
        or (_FLAG.search(call.output) is not None and not _makes_anew(actions, call))
        or _was_begun(actions, call, first)
    )


def _makes_anew(actions: Actions, call: CallRecord) -> bool:
    """Tell whether each answer of a repeated call names something else and denies nothing, as what
    sends a message does: then its flags confirm a deed.
    """
    if _DENIED.search(call.output) is not None:
        return False
    named = [names_in(record.output) for _, record in actions.occurrences(call)]
    return all(named) and len(set(named)) == len(named) > 1


def _was_begun(actions: Actions, call: CallRecord, first: int) -> bool:
    """Tell whether a call names what an answer before action `first` gave, to no mere look."""
    handles = set(_HANDLE.findall(call.params_text))
    return any(
        any(handle in one.output for handle in handles)
        for earlier in actions.kept
        if earlier.number < first
        for one in earlier.calls
        if not one.reads
    )


def find_interleaved(actions: Actions, times: int, within: int) -> Loop | None:
    """Find a call of the last action that was made `times` times in `within` actions, always with
    the same answer, though nothing in between may have changed it (see `_may_differ`).
    """
    if actions.kept[-1].excused:
        return None
    for call in actions.kept[-1].calls:
        if actions.count(call) < times:
            continue
        found = actions.occurrences(call)
        seen = found[-times:]
        if len(seen) < times or actions.kept[-1].number - seen[0][0] >= within:
            continue
        if _stays_away([number for number, _ in seen], within // 2):
            continue
        between = list(actions.since(seen[0][0] + 1))
        if _may_differ(call, between):
            continue
        if _changes_by_itself(actions, found, between, times):
            continue
        if actions.kept[-1].number - seen[0][0] < len(seen):
            return _interleaved(call, _in_a_row(found), LoopKind.REPEAT)
        return _interleaved(call, len(found), LoopKind.INTERLEAVED)
    return None


def _changes_by_itself(
    actions: Actions,
    found: Sequence[tuple[int, CallRecord]],
    between: Sequence[Action],
    times: int,
) -> bool:
    """Tell whether what a call shows may change by itself: it has done so, or is a state that is
    asked for every few seconds or with growing pauses.

    Args:
        actions: the last actions.
        found: where the call was made with the same answer, oldest first.
        between: the actions since the first of the last `times` of them, latest first.
        times: how many are a loop.
    """
    last = actions.kept[-1]
    first = next((action for action in between[::-1] if action.asked == last.asked), None)
    if first is not None and _moves_by_itself(actions, first):
        return True
    spans = [span_of(record) for _, record in found]
    if spaced(spans, APART) and _asks_for_state(actions, last, found[0][0]):
        return not waited_too_long(spans)
    return paused(spans[-times:])


def _may_differ(call: CallRecord, between: Sequence[Action]) -> bool:
    """Tell whether something done in between may have changed what `call` returns. A change whose
    answer shows its result has undone all that, if it shows the same again.
    """
    if any(action.waits for action in between):
        return True
    if not call.reads and not complains(call) and _follows_news(call, between):
        return True
    shows = call.profile.writes and not call.failed and not _may_confirm(call)
    return not shows and any(action.changes for action in between)


def _may_confirm(call: CallRecord) -> bool:
    """Tell whether an answer may only confirm a change, in whatever language: one short line, and
    no fields that show what has become of it.
    """
    said = call.output
    return confirms(said) or (call.size <= _STATE and said[:1] not in "{[" and "\n" not in said)


def _follows_news(call: CallRecord, between: Sequence[Action]) -> bool:
    """Tell whether an answer that was not there before came before each call: then the call, say
    a note or a message, is about something else each time.

    Args:
        call: the repeated call.
        between: all actions since its first occurrence, latest first.
    """
    news = False
    for action in between:
        if any(one.fingerprint == call.fingerprint for one in action.calls):
            if not news and action is not between[0]:
                return False
            news = False
        elif action.news and not any(
            one.failed or one.profile.writes or one.tool == call.tool for one in action.calls
        ):
            news = True
    return news


def _stays_away(numbers: Sequence[int], longest: int) -> bool:
    """Tell whether the agent stopped repeating it for a while: one return to it is no loop yet."""
    return any(later - earlier > longest for earlier, later in pairwise(numbers))


def _in_a_row(found: Sequence[tuple[int, CallRecord]]) -> int:
    """Return how many of the last occurrences have nothing between them."""
    last = found[-1][0]
    return sum(last - number == place for place, (number, _) in enumerate(reversed(found)))


def _interleaved(call: CallRecord, times: int, kind: LoopKind) -> Loop:
    members = frozenset({call.fingerprint, stable_answer_key(call)})
    return loop_of(kind, call, times=times, members=members, confidence=0.85)


def find_long_round(actions: Actions, longest: int, times: int) -> Loop | None:
    """Find rounds of more than `longest` actions; the last of the `times` rounds may be open."""
    kept = actions.kept
    last = kept[-1].kind
    for length in range(longest + 1, min(LONGEST_ROUND, len(kept) // 2) + 1):
        if kept[-1 - length].kind == last and _echo(kept, length) > length * (times - 2):
            return _rounds(actions, length, 1 + _echo(kept, length) // length)
    return None


def find_like_rounds(actions: Actions, longest: int, times: int, similarity: float) -> Loop | None:
    """Find rounds with near-equal arguments that got the same answers every time."""
    kept = actions.kept
    last = kept[-1].brought
    for length in range(2, min(longest, len(kept) // times) + 1):
        if kept[-1 - length].brought == last and (
            _is_like(kept, length, times, similarity)
            or _shows_no_effect(kept, length, 2 * times, similarity)
        ):
            rounds = _like_rounds(kept, length, similarity)
            return _rounds(actions, length, rounds, LoopKind.LIKE_CYCLE)
    return None


def _like_rounds(kept: Sequence[Action], length: int, similarity: float) -> int:
    """Return how many of the last rounds are near-equal, with the same answers."""
    tail, count = list(kept), 0
    for later, earlier in zip(tail[::-1], tail[-1 - length :: -1], strict=False):
        if later.brought != earlier.brought:
            break
        if later.kind != earlier.kind and not _brings_nothing(earlier, later, similarity):
            break
        count += 1
    return 1 + count // length


def _is_like(kept: Sequence[Action], length: int, times: int, similarity: float) -> bool:
    tail = list(kept)[-length * times :]
    pairs = list(zip(tail, tail[length:], strict=False))
    if any(a.brought != b.brought for a, b in pairs) or len({s.brought for s in tail}) < 2:
        return False
    if times < _SAME_DEEDS and _narrows_down(tail):
        enough = len(kept) >= length * _SAME_DEEDS
        return enough and _is_like(kept, length, _SAME_DEEDS, similarity)
    return all(a.kind == b.kind or _brings_nothing(a, b, similarity) for a, b in pairs)


def _narrows_down(tail: Sequence[Action]) -> bool:
    """Tell whether another number is tried each time, as by one that halves a range: that answers
    come back says little then.
    """
    calls = [call for action in tail for call in action.calls]
    if any(call.failed for call in calls) or len({call.fingerprint for call in calls}) < len(calls):
        return False
    return alike_but_for_numbers(calls)


def _shows_no_effect(kept: Sequence[Action], length: int, rounds: int, similarity: float) -> bool:
    """Tell whether a look shows the same after each of many near-equal moves, whose own answers
    only confirm them.
    """
    if len(kept) < length * rounds:
        return False
    tail = list(kept)[-length * rounds :]
    looks = [a for a in tail[-length:] if len(a.calls) == 1 and not confirms(a.calls[0].output)]
    if not any(kept[-1 - length - (kept[-1].number - a.number)].kind == a.kind for a in looks):
        return False
    return all(
        a.brought == b.brought
        and (a.kind == b.kind or (moves_unseen(b.calls[0]) and _alike_alone(a, b, similarity)))
        for a, b in zip(tail, tail[length:], strict=False)
    )


def _alike_alone(earlier: Action, later: Action, similarity: float) -> bool:
    """Tell whether two actions are single calls with near-equal arguments."""
    if len(earlier.calls) != 1 or len(later.calls) != 1:
        return False
    return alike((earlier.calls[0], later.calls[0]), similarity)


def _brings_nothing(earlier: Action, later: Action, similarity: float) -> bool:
    """Tell whether near-equal actions brought nothing new; a mere confirmation proves nothing."""
    last = later.calls[0]
    if not last.failed and (confirms(last.output) or (last.profile.writes and _may_confirm(last))):
        return False
    return _alike_alone(earlier, later, similarity)


def find_duplicates(action: Action, times: int) -> Loop | None:
    """Find one call asked for `times` times in one batch."""
    if len(action.calls) < times:
        return None
    fingerprint, count = Counter(call.fingerprint for call in action.calls).most_common(1)[0]
    calls = [call for call in action.calls if call.fingerprint == fingerprint]
    if count < times or waits(calls[0]) or not _alike(calls):
        return None
    members = frozenset({fingerprint})
    return loop_of(LoopKind.BATCH, calls[0], times=count, members=members, confidence=0.95)


def _alike(calls: Sequence[CallRecord]) -> bool:
    """Tell whether equal calls are duplicates; the arguments of an empty call may be lost."""
    return calls[0].params_text not in ("{}", "null") or all(
        call.same_output(calls[0]) for call in calls
    )
