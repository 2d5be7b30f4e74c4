"""Which repeats are excused: those that look for what can change by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise

from trimtab.text import LazyPattern
from trimtab_doom_loop._actions import HANDLE, Action, is_change, moves_unseen
from trimtab_doom_loop._kept import Actions
from trimtab_signals import (
    APART,
    CEILING_CALLS,
    STATES,
    CallRecord,
    Span,
    blames_call,
    comes_back_as_told,
    complains,
    has_ended,
    is_wait,
    name_words,
    names_in,
    paused,
    says_unchanged,
    spaced,
    span_of,
    waited_too_long,
)

_SAME_CLICKS = 8
_SAME_DEEDS = 6
"""Rounds of a wait and of one and the same deed, after which the deed is seen to change nothing:
twice as many as without a wait."""
_STATE = 80
"""Characters of an answer that is a state and little else."""
_WORDS = 40
"""Characters of an answer of a word or two."""
_WORD = LazyPattern(r"\w{3,}")
_FLAG = LazyPattern(
    r"[=:]\s?(?:true|false)\b|\b(?:phase|stage|state|status)(?:[\"']?\s?[=:]|>)", re.IGNORECASE
)
_BY_CHANCE = 3
"""Looks whose pauses a model makes longer each time by chance, in a third of all runs."""
_SHORTEST_HANDLE = 3
"""Characters of a name that stands in an answer by more than chance."""
_SHORT_COMMAND = 80
"""Characters of a command in which its program and its verb stand."""
_ASKING = STATES | {"check"}
_LONGER_THAN_A_TURN = 4.5
"""Seconds: known waits leave five or more between two looks, many models answer faster."""
_LONGER = 1.5
_SLOWEST_TURN = 30.0
"""Where so many other pauses show how long a turn takes, one that is longer by half is chosen, for
turns vary; so is one of half a minute, which no model takes for a call."""
_SHORTEST_INTERVAL = 20.0
"""Seconds that few models take for a turn; a shorter interval is kept by chance."""
_MINUTES = 120.0
"""Seconds: from two minutes on, pauses that are always alike are kept by a clock."""
_PUNCTUAL = 1.15
"""A turn takes time, too, which comes to the interval."""
_CLICKS = frozenset({"check", "click", "select", "tap", "toggle"})


def is_waiting(actions: Actions, tail: Sequence[Action], length: int) -> bool:
    """Tell whether rounds of `length` actions look for what can change by itself."""
    calls = [call for action in tail for call in action.calls]
    return (
        _waits_for_news(tail, length)
        or backs_off(calls, _spans(tail, length))
        or (length == 1 and _moves_by_itself(actions, tail[0]))
        or _watches(actions, tail, length)
    )


def waited_in_vain(tail: Sequence[Action], length: int) -> bool:
    """Tell whether such rounds have gone on for too long: by the limit of all waits, or by half of
    it if the waits all failed.
    """
    waits = [action.calls[-1] for action in tail if action.waits]
    all_failed = all(call.failed for call in waits)
    return waited_too_long(_spans(tail, length)) or (2 * len(waits) >= CEILING_CALLS and all_failed)


def _spans(tail: Sequence[Action], length: int) -> list[Span]:
    return [span_of(action.calls[-1]) for action in tail[length - 1 :: length]]


def backs_off(calls: Sequence[CallRecord], spans: Sequence[Span]) -> bool:
    """Tell whether `calls` are made ever further apart. Between three of them a third of all runs
    have pauses that grow by chance: then only what has failed is tried again later.
    """
    tries = len(spans) > _BY_CHANCE or any(call.failed for call in calls)
    return tries and paused(spans) and not all(map(is_change, calls))


def waits_as_told(actions: Actions) -> bool:
    """Tell whether the last call was made again when its answer said, and not for too long."""
    last, calls = actions.kept[-1], []
    for action in islice(reversed(actions.kept), CEILING_CALLS):
        call, *others = action.calls
        if action.asked != last.asked or others:
            break
        calls.append(call)
    spans = [span_of(call) for call in reversed(calls)]
    return (
        len(calls) > 1
        and comes_back_as_told(calls[1].output, *spans[-2:])
        and not waited_too_long(spans)
    )


def keeps_interval(actions: Actions, items: frozenset[str]) -> bool:
    """Tell whether the last call is made again at an interval that the user gave, in `items` of
    what was said: so many seconds, minutes or hours, or one minute or hour; or at one that only a
    clock keeps. If it calls a tool that waits, that wait is judged.
    """
    last = actions.kept[-1]
    same = [one for one in actions.kept if one.asked == last.asked]
    spans = [span_of(one.calls[-1]) for one in same]
    if not spaced(spans, _SHORTEST_INTERVAL) or len(spans) > CEILING_CALLS:
        return False
    if any(one.waits and one not in same for one in actions.since(same[0].number)):
        return False
    if any(call.failed or complains(call) for call in last.calls):
        return False
    look = last.calls[0]
    reads = look.size <= _STATE and not (last.waits or _acts(look))  # waits have a limit
    if reads and _is_punctual(spans) and spaced(spans, _pace(actions, look) or 0.0):
        return True
    numbers = {1, *(int(item) for item in items if item.isdecimal())}
    times = [number * unit for number in numbers for unit in (1, 60, 3600)]
    return any(
        spaced(spans, time / _PUNCTUAL) and not spaced(spans[-2:], time * _PUNCTUAL)
        for time in times
    )


def _is_punctual(spans: Sequence[Span]) -> bool:
    """Tell whether between three calls or more lie minutes, always as many."""
    ends = [ended for _, ended in spans if ended is not None]
    pauses = [later - earlier for earlier, later in pairwise(ends)]
    return len(pauses) > 1 and max(pauses) <= _PUNCTUAL * min(pauses) and min(pauses) >= _MINUTES


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
        if action.changes and action.earlier < 0 and action.asked != first.asked:
            later.clear()
    return False


def _of_one_form(one: CallRecord, other: CallRecord) -> bool:
    """Tell whether two answers show one thing at two times: they have a word in common, or are no
    more than a word or two. A note in the place of what the first call brought is neither.
    """
    if one.failed or other.failed or says_unchanged(one.output) or says_unchanged(other.output):
        return False
    brief = max(one.size, other.size) <= _WORDS
    return brief or not set(_WORD.findall(one.output)).isdisjoint(_WORD.findall(other.output))


def _watches(actions: Actions, tail: Sequence[Action], length: int) -> bool:
    """Tell whether an agent asks every few seconds for one state, or for several in turn."""
    spans = [span_of(action.calls[-1]) for action in tail]
    return all(watched(actions, action, tail[0].number, spans) for action in tail[-length:])


def watches_in_turn(actions: Actions, tail: Sequence[Action]) -> bool:
    """Tell whether an agent asks for the states of several things in turn, with pauses."""
    asked = len({action.asked for action in tail})
    return 2 * asked <= len(tail) < CEILING_CALLS and _watches(actions, tail, asked)


def watched(actions: Actions, action: Action, first: int, spans: Sequence[Span]) -> bool:
    """Tell whether an action asks for a state, with pauses longer than a turn of this run: its
    answer is short, and is about what the agent has begun before action `first`, or looks like a
    state in another way and counts no looks.
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
    if not spaced(spans, _turn_of(actions, call)):
        return False
    return _was_begun(actions, call, first) or (not action.grown and _asks_for_state(call))


def _turn_of(actions: Actions, look: CallRecord) -> float:
    """Return from how many seconds on a pause before a look is longer than a turn of this run
    takes, by the pauses before calls of other tools, and before the first look.
    """
    pace = _pace(actions, look)
    return _LONGER_THAN_A_TURN if pace is None else min(_SLOWEST_TURN, max(APART, pace))


def _pace(actions: Actions, look: CallRecord) -> float | None:
    """Return from how many seconds on a pause is longer than the others of this run."""
    calls = [action.calls[-1] for action in actions.kept]
    first = next((call for call in calls if call.fingerprint == look.fingerprint), None)
    others = [
        later.ended - earlier.ended
        for earlier, later in pairwise(calls)
        if earlier.ended and later.ended
        if later is first or later.tool != look.tool
    ]
    began = calls[0].ended or 0.0  # since the run was opened
    if not others and actions.kept[0].number == 0 and 0 < began < _SLOWEST_TURN:
        others = [began]
    return _LONGER * sorted(others)[(len(others) - 1) // 2] if others else None


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
    """Tell whether a call names what an answer before action `first` gave, to no mere look. If
    that was asked for by its name, the call has to be one that is known to look: the card of a
    person, shown by its number, is no job.
    """
    handles = {name for name in HANDLE.findall(call.params_text) if len(name) >= _SHORTEST_HANDLE}
    return any(
        any(
            handle in one.output and (call.reads or handle not in one.params_text)
            for handle in handles
        )
        for earlier in actions.kept
        if earlier.number < first
        for one in earlier.calls
        if not one.reads
    )
