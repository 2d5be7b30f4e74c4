"""The same actions again with the same answers: in a row, in rounds, or in between others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice, pairwise, takewhile

import attrs

from trimtab.text import LazyPattern
from trimtab_doom_loop._actions import (
    HANDLE,
    Action,
    Actions,
    hands_on,
    moves_unseen,
    waits,
    writes_text,
)
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import (
    alike,
    alike_but_for_numbers,
    answer_key,
    attempts,
    stable_answer_key,
)
from trimtab_signals import (
    APART,
    CEILING_CALLS,
    STATES,
    CallRecord,
    Span,
    blames_call,
    comes_back_as_told,
    complains,
    confirms,
    failure_episode,
    has_ended,
    is_wait,
    mentions_failure,
    name_words,
    names_in,
    paused,
    spaced,
    span_of,
    waited_too_long,
)

LONGEST_ROUND = 16
"""Longest round looked for, in actions."""
_SAME_CLICKS = 8
_SAME_DEEDS = 6
"""Rounds of a wait and of one and the same deed, after which the deed is seen to change nothing:
twice as many as without a wait."""
_STATE = 80
"""Characters of an answer that is a state and little else."""

_CONTENT = 60
"""Characters of an answer that says more than that something was done."""
_WORDS = 40
"""Characters of an answer of a word or two."""
_WORD = LazyPattern(r"\w{3,}")
_FLAG = LazyPattern(
    r"[=:]\s?(?:true|false)\b|\b(?:phase|stage|state|status)(?:[\"']?\s?[=:]|>)", re.IGNORECASE
)
_CERTAIN = 0.95
_DOUBT = 0.8
"""Confidence of rounds: of changes that may each be for something else, not enough for a ban."""
_BY_CHANCE = 3
"""Looks whose pauses a model makes longer each time by chance, in a third of all runs."""
_SHORTEST_HANDLE = 3
"""Characters of a name that stands in an answer by more than chance."""
_SHORT_COMMAND = 80
"""Characters of a command in which its program and its verb stand."""
_ASKING = STATES | {"check"}
_LONGER_THAN_A_TURN = 4.5
"""Seconds: known waits leave five or more between two looks, many models answer faster."""
_FEWEST_TURNS = 3
_LONGER = 1.5
_SLOWEST_TURN = 30.0
"""Where so many other pauses show how long a turn takes, one that is longer by half is chosen, for
turns vary; so is one of half a minute, which no model takes for a call."""
_CLICKS = frozenset({"check", "click", "select", "tap", "toggle"})


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
                loop := _rounds(actions, length, 1 + echo // length)
            ):
                return loop
    return None


def _undoes_all(round_: Sequence[Action]) -> bool:
    return all(_is_change(call) for action in round_ for call in action.calls)


def _echo(kept: Sequence[Action], length: int) -> int:
    """Return how many of the last actions equal the one `length` before them."""
    count = 0
    while count + length < len(kept) and kept[-1 - count].kind == kept[-1 - count - length].kind:
        count += 1
    return count


def _changes_again(actions: Sequence[Action], length: int) -> int:
    """Return 1 if a successful change is repeated, since one repeat may be intended; but not of a
    text that is known to be written once more each time, as other ids show.
    """
    calls, one = actions[-1].calls, actions[-1].calls[0]
    if length > 1 or any(call.failed for call in calls):
        return 0
    more = writes_text(one) and one.output_hash != actions[-2].calls[0].output_hash
    return int(all(call.profile.writes for call in calls) != more)


def _rounds(
    actions: Actions, length: int, rounds: int, several: LoopKind = LoopKind.CYCLE
) -> Loop | None:
    tail = list(actions.kept)[-length * rounds :]
    again = [span_of(action.calls[-1]) for action in tail[length - 1 :: length]]
    waited = (
        _waits_for_news(tail, length)
        or _backs_off(tail, again)
        or (length == 1 and _moves_by_itself(actions, tail[0]))
        or _watches(actions, tail, length)
    )
    if waited and not waited_too_long(again) and not _waits_in_vain(tail):
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
        confidence=1.0 if length == 1 else _CERTAIN,
        length=length,
        tools=tuple(dict.fromkeys(c.tool for c in calls)),
    )
    if len({answer_key(call) for call in failing}) == 1:  # the same problem for every provider
        return attrs.evolve(loop, episode=failure_episode(failing[-1]))
    return loop


def _backs_off(tail: Sequence[Action], spans: Sequence[Span]) -> bool:
    """Tell whether rounds lie ever further apart. Between three of them a third of all runs have
    pauses that grow by chance: then only what has failed is tried again later.
    """
    calls = [call for action in tail for call in action.calls]
    tries = len(spans) > _BY_CHANCE or any(call.failed for call in calls)
    return tries and paused(spans) and not all(map(_is_change, calls))


def waits_as_told(actions: Actions) -> bool:
    """Tell whether the last call was made again when its answer said, and not for too long."""
    last, calls = actions.kept[-1], []
    for action in islice(reversed(actions.kept), CEILING_CALLS):
        if action.asked != last.asked or len(action.calls) > 1:
            break
        calls.append(action.calls[0])
    spans = [span_of(call) for call in reversed(calls)]
    return (
        len(calls) > 1
        and comes_back_as_told(calls[1].output, *spans[-2:])
        and not waited_too_long(spans)
    )


def _waits_in_vain(tail: Sequence[Action]) -> bool:
    """Tell whether half as many waits as are excused all failed."""
    waits = [action.calls[-1] for action in tail if action.waits]
    return 2 * len(waits) >= CEILING_CALLS and all(call.failed for call in waits)


def _waits_for_news(tail: Sequence[Action], length: int) -> bool:
    """Tell whether a round waits. Moves on a screen count as a wait; a click on one thing may lead
    to the next page, clicks on several things in turn undo one another.
    """
    rounds, actions = len(tail) // length, tail[-length:]
    if not any(action.waits for action in actions):
        return False
    calls = [call for action in actions for call in action.calls]
    if any(map(is_wait, calls)):
        does = any(_acts(call) and not is_wait(call) for call in calls)
        return rounds < _SAME_DEEDS or not does
    if all(_CLICKS.intersection(name_words(call.tool)) for call in calls):
        return len({call.fingerprint for call in calls}) == 1 and rounds * length < _SAME_CLICKS
    return all(map(moves_unseen, calls))


def _acts(call: CallRecord) -> bool:
    return bool(call.profile.writes or call.profile.opaque)


def _moves_by_itself(actions: Actions, first: Action) -> bool:
    """Tell whether what the repeated call `first` shows moves by itself: the answer of an equal
    call of its tool has changed lately, though the agent did nothing that may have changed it.
    """
    call = first.calls[0]
    if call.failed or _acts(call) or has_ended(call.output):  # moved by what the agent did
        return False
    later: dict[str, Action] = {}
    for action in actions.since(first.number - CEILING_CALLS):
        if action.calls[0].tool == call.tool:
            moved = later.get(action.asked)
            if moved is not None and moved.kind != action.kind:
                return _of_one_form(moved.calls[0], action.calls[0])
            later[action.asked] = action
    return False


def _of_one_form(one: CallRecord, other: CallRecord) -> bool:
    """Tell whether two answers show one thing at two times: they have a word in common, or are no
    more than a word or two. A note in the place of what the first call brought is neither.
    """
    brief = max(one.size, other.size) <= _WORDS
    return brief or not set(_WORD.findall(one.output)).isdisjoint(_WORD.findall(other.output))


def _watches(actions: Actions, tail: Sequence[Action], length: int) -> bool:
    """Tell whether an agent asks every few seconds for one state, or for several in turn."""
    spans = [span_of(action.calls[-1]) for action in tail]
    return all(_watched(actions, action, tail[0].number, spans) for action in tail[-length:])


def watches_in_turn(actions: Actions, tail: Sequence[Action]) -> bool:
    """Tell whether an agent asks for the states of several things in turn, with pauses."""
    asked = len({action.asked for action in tail})
    return 2 * asked <= len(tail) < CEILING_CALLS and _watches(actions, tail, asked)


def _watched(actions: Actions, action: Action, first: int, spans: Sequence[Span]) -> bool:
    """Tell whether an action asks for a state, with pauses: its answer is short, and is about what
    the agent has begun before action `first`; or, if the pauses are longer than a model takes to
    answer, it looks like a state in another way, and counts no looks.
    """
    call = action.calls[0]
    if (
        len(action.calls) > 1
        or _acts(call)
        or not 0 < call.size <= _STATE
        or not spaced(spans, APART)
    ):
        return False
    if complains(call) or blames_call(call.output) or has_ended(call.output):
        return False
    return _was_begun(actions, call, first) or (
        not action.grown and spaced(spans, _turn_of(actions, call)) and _asks_for_state(call)
    )


def _turn_of(actions: Actions, look: CallRecord) -> float:
    """Return from how many seconds on a pause before a look is longer than a turn of this run
    takes, by the pauses before its other calls.
    """
    calls = [action.calls[-1] for action in actions.kept]
    others = [
        later.ended - earlier.ended
        for earlier, later in pairwise(calls)
        if later.fingerprint != look.fingerprint and earlier.ended and later.ended
    ]
    if len(others) < _FEWEST_TURNS:
        return _LONGER_THAN_A_TURN
    return min(_SLOWEST_TURN, max(APART, _LONGER * sorted(others)[len(others) // 2]))


def _asks_for_state(call: CallRecord) -> bool:
    """Tell whether an answer is made of flags, or its tool is for states."""
    words = name_words(call.command[:_SHORT_COMMAND] if call.command else call.tool)
    if not _ASKING.isdisjoint(words):
        return True
    # What names a thing and denies nothing, as what sends a message does, confirms a deed.
    new = any(name not in call.params_text for name in names_in(call.output))
    confirmed = new and "false" not in call.output.lower()
    return _FLAG.search(call.output) is not None and not confirmed


def _was_begun(actions: Actions, call: CallRecord, first: int) -> bool:
    """Tell whether a call names what an answer before action `first` gave, to no mere look."""
    handles = {name for name in HANDLE.findall(call.params_text) if len(name) >= _SHORTEST_HANDLE}
    return any(
        any(handle in one.output for handle in handles)
        for earlier in actions.kept
        if earlier.number < first
        for one in earlier.calls
        if not one.reads
    )


def find_interleaved(actions: Actions, times: int) -> Loop | None:
    """Find a call of the last action that was made `times` times in thrice as many actions, always
    with the same answer, though nothing in between may have changed it (see `_may_differ`). Of
    changes that undo each other one less is enough.
    """
    last, within = actions.kept[-1], 3 * times
    for call in last.calls if not last.excused else ():
        if actions.count(call) < times - 1:
            continue
        found = actions.occurrences(call)
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
        watches = _watched(actions, last, found[0][0], spans)
        if _backs_off([last], spans[-times:]) or (watches and not waited_too_long(spans)):
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


def _is_change(call: CallRecord) -> bool:
    return bool(call.profile.writes) and not call.failed


def _may_differ(call: CallRecord, between: Sequence[Action]) -> bool:
    """Tell whether something done in between may have changed what `call` returns. A change that
    is made again and shows the same has undone all that.
    """
    if not call.reads and not complains(call) and _follows_news(call, between):
        return True
    shows = call.profile.writes and not call.failed
    return not shows and any(action.changes for action in between)


def _follows_news(call: CallRecord, between: Sequence[Action]) -> bool:
    """Tell whether an answer that was not there before came before each call: then the call, say
    a note or a message, is about something else each time.
    """
    news = False
    for action in between:
        if any(one.fingerprint == call.fingerprint for one in action.calls):
            if not news and action is not between[0]:
                return False
            news = False
        elif (
            action.fresh
            and action.news
            and not any(one.failed or one.tool == call.tool for one in action.calls)
        ):
            news = True
    return news


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
            loop = _rounds(actions, length, len(tail) // length, LoopKind.LIKE_CYCLE)
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
    than that something was done takes one round more: it came to attempts at one thing, a search
    in other words, say, or all calls are near-equal; so do deeds that undo each other. A change
    that is tried, and then looked at, takes two, near-equal calls with a short answer twice as
    many.
    """
    rounds = len(tail) // length
    says = shows = found = told = tried = again = False
    near = all(a.brought == b.brought for a, b in zip(tail, tail[length:], strict=False))
    handed = True
    for place in range(length):
        there = tail[place::length]
        calls = [action.calls[0] for action in there]
        last, varied = calls[-1], len({action.asked for action in there})
        tells = not (last.profile.writes or confirms(last.output))
        tries = varied > 1 and attempts(calls)
        says, told = says or tells, told or (tells and not last.failed)
        shows = shows or (tells and last.size >= _CONTENT)
        found = found or (tells and tries and varied == rounds and last.size >= _CONTENT)
        tried = tried or (tries and not last.reads)
        again = again or (varied == 1 and writes_text(last))
        if varied > 1:
            passed = alike_but_for_numbers(calls) and _handed(tail, place, length)
            handed = handed and passed
            near = near and (tells or moves_unseen(last)) and (passed or alike(calls, similarity))
    if again and handed:
        return _DOUBT
    if rounds > times and (found or (near and shows)):
        return _CERTAIN
    if rounds >= 2 * times and near and says:
        return _CERTAIN
    return _DOUBT if rounds > times + 1 and told and tried else 0


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


def find_duplicates(action: Action, times: int) -> Loop | None:
    """Find one call asked for `times` times in one batch."""
    fingerprint, count = Counter(call.fingerprint for call in action.calls).most_common(1)[0]
    call = next(call for call in action.calls if call.fingerprint == fingerprint)
    # The arguments of an empty call may be lost.
    if count < times or waits(call) or call.params_text in ("{}", "null"):
        return None
    members = frozenset({fingerprint})
    return loop_of(LoopKind.BATCH, call, times=count, members=members, confidence=0.95)
