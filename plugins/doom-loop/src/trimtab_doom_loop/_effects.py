"""Work that has no effect: one answer to other words, changes that are rejected or go astray."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from posixpath import basename

import attrs

from trimtab.text import LazyPattern
from trimtab_doom_loop._actions import Action
from trimtab_doom_loop._kept import Actions
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import (
    alike,
    answer_key,
    different_things,
    each_names_its_own,
    stable_answer_key,
)
from trimtab_signals import (
    CallRecord,
    confirms,
    is_aside,
    is_next_of_series,
    mentions_failure,
    moved,
    not_yet,
    paused,
    reports_nothing,
    span_of,
)

_FILE = LazyPattern(r"(?<![\w./@-])[\w./-]*\w\.[A-Za-z]\w{0,5}\b")
_HANDLE = LazyPattern(r"(?<![^\s\"'=,(\[{])[^\s\"'=,()\[\]{}\d/]*[\d/][^\s\"'=,()\[\]{}]*")
"""A name with a digit, a path or an address."""
_ID = 8
"""Characters of such a name that only one thing has."""
_MORE_FOR_ATTEMPTS = 2
"""Near-equal changes that are rejected are attempts, of which some fail."""
_PAUSES = 3
"""Calls between which two pauses lie, the least that can be seen to grow."""
_MORE_FOR_SUBJECT = 1
_MORE_FOR_CHANGES = 2
_MORE_FOR_CONTENT = 3
"""Added to the repeats of an equal call, by how much these actions differ from one: one subject
with one answer least, other content most."""
_SMALLEST = 60
"""Characters: a shorter answer, such as "done", is alike by chance."""
_SHORT = 600
"""Characters up to which a cheap look tells first whether an answer may be equal."""
_NEAR = 0.1
"""Share by which the sizes of two pages of one kind differ."""


def has_moved(actions: Actions) -> bool:
    """Tell whether the last action asks just what the one before it did, and only numbers have
    moved in the answer: so work goes on that the agent looks at. The next number of a long series
    is none: it names what the call has made.
    """
    last = actions.kept[-1]
    if last.earlier != last.number - 1 or last.earlier < 0:
        return False
    one, call = actions.kept[-2].calls[0], last.calls[0]
    known = {slot.value for slot in one.shape.slots}  # in another order they are the same
    return any(
        now.value not in known and not is_next_of_series(was.value, now.value)
        for was, now in moved(one.shape, call.shape, reads=True) or ()
    )


def find_changes_astray(actions: Actions, times: int) -> Loop | None:
    """Find changes that name one file while the answers show another."""
    last = actions.kept[-1].calls[0]
    if not last.profile.writes:
        return None
    calls = (action.calls[0] for action in reversed(actions.kept))
    astray = takewhile(lambda one: one.tool == last.tool and _strays(one), calls)
    count = sum(1 for _ in astray)
    members = frozenset({last.fingerprint, f"{LoopKind.ELSEWHERE} {last.tool}"})
    if count < times + _MORE_FOR_CHANGES:
        return None
    return loop_of(LoopKind.ELSEWHERE, last, times=count, members=members)


def _strays(call: CallRecord) -> bool:
    asked = {basename(name) for name in _FILE.findall(call.params_text)}
    shown = {basename(name) for name in _FILE.findall(call.output[:_SMALLEST])}
    return not call.failed and bool(asked) and bool(shown) and not asked & shown


def find_same_content(actions: Actions, times: int) -> Loop | None:
    """Find an answer that came again and again to other words, with other calls in between."""
    action, fewest = actions.kept[-1], times + _MORE_FOR_SUBJECT
    call = action.calls[0]
    if len(action.calls) > 1 or call.profile.writes or call.size < _SMALLEST:
        return None
    # The words of an answer are looked at before sizes if it is short, or if they are known.
    look_first = call.size <= _SHORT or action.may_repeat is not None
    if (look_first and not actions.may_repeat(action)) or has_moved(actions):
        return None
    near = [] if action.waits else _alike_in_size(actions, call, times + _MORE_FOR_CONTENT)
    if len(near) < fewest or confirms(call.output) or not actions.may_repeat(action):
        return None
    again = [action for action in near if _mostly_says(action.calls[0], call)]
    calls = [one.calls[0] for one in again]
    one_thing = _name_one_thing(calls[:fewest])
    may_be_list = len(calls) > 1 and not (call.reads or one_thing)
    if may_be_list and (different_things(calls) or each_names_its_own(calls)):
        return None
    # One question, one answer, whatever its order. A state in it that has moved makes it longer.
    asked = [one for one in again if one.asked == action.asked and one.calls[0].size == call.size]
    if call.reads and len(asked) >= fewest:
        return _said_again(actions, asked, fewest, closely=False)
    closely = one_thing or (mentions_failure(call) and not reports_nothing(call.output))
    needed = fewest if closely else times + _MORE_FOR_CONTENT
    return _said_again(actions, again, needed, closely=closely)


def _name_one_thing(calls: Sequence[CallRecord]) -> bool:
    """Tell whether calls, neither reads nor commands, all name one and the same thing."""
    if any(call.command is not None or call.reads for call in calls):
        return False
    named = [{name for name in _HANDLE.findall(c.params_text) if len(name) >= _ID} for c in calls]
    return len(calls) > 1 and bool(set.intersection(*named))


def _mostly_says(one: CallRecord, other: CallRecord) -> bool:
    """Tell whether three quarters of two answers are the same."""
    most = max(len(one.pieces), len(other.pieces))
    return 4 * len(one.pieces & other.pieces) >= 3 * most


def _works(action: Action) -> bool:
    """Tell whether an action may have changed something, beyond messages to others."""
    return action.changes and any(c.profile.writes or c.command is not None for c in action.calls)


def _said_again(
    actions: Actions, again: Sequence[Action], needed: int, *, closely: bool
) -> Loop | None:
    if len(again) < needed:
        return None
    between = [s for s in actions.since(again[needed - 1].number) if s not in again]
    if any(action.waits or (_works(action) if closely else action.changes) for action in between):
        return None
    call = again[0].calls[0]
    times = sum(_mostly_says(one.calls[0], call) for one in actions.alike_in_tool(call))
    members = frozenset({call.fingerprint, f"{LoopKind.SAME_CONTENT} {call.tool}"})
    return loop_of(LoopKind.SAME_CONTENT, call, times=times, members=members)


def _alike_in_size(actions: Actions, call: CallRecord, needed: int) -> list[Action]:
    """Return the latest actions whose answers are as long as that of `call`, latest first."""
    most = max(_SMALLEST, _NEAR * call.size)
    least, largest = call.size - most, call.size + most
    since = actions.kept[-1].number - 3 * needed
    found = []
    for action in actions.alike_in_tool(call):
        if action.number <= since:
            break
        if least <= action.calls[0].size <= largest:
            found.append(action)
    return found


@attrs.define(eq=False)
class Rejections:
    """Near-equal changes that were rejected with one error, until one like them succeeds.

    A user's message doesn't end them: "try again" does not change the error.

    Args:
        times: how many equal ones are a loop; of near-equal ones it takes two more.
        similarity: share (0.0–1.0) from which arguments are near-equal.
        calls: the latest of them, latest last.
        total: how many there were.
        in_a_row: how many of the latest had nothing else between them.
        settled: how many of `calls` stand for all before another change by their tool succeeded.
    """

    times: int
    similarity: float
    calls: tuple[CallRecord, ...] = ()
    total: int = 0
    in_a_row: int = 0
    settled: int = 0

    def take(self, calls: Sequence[CallRecord]) -> Loop | None:
        """Take the calls of a turn; return the loop that they belong to, if any."""
        for call in calls:
            if call.failed and call.profile.writes:
                return self._rejected(call)
        if self.calls:
            last = self.calls[-1]
            done = [call for call in calls if call.tool == last.tool]
            if any(alike((last, call), self.similarity) for call in done):
                self.calls = ()
            elif done:
                self.calls = self.calls[: self.settled + 1]
                self.settled = len(self.calls)
            if not all(is_aside(call.tool) for call in calls):
                self.in_a_row = 0  # what lies between is no pause
        return None

    def _rejected(self, call: CallRecord) -> Loop | None:
        calls = self.calls
        if not (
            calls
            and answer_key(calls[-1]) == answer_key(call)
            and alike((calls[-1], call), self.similarity)
        ):
            calls, self.total, self.in_a_row, self.settled = (), 0, 0, 0
        needed = self.times + _MORE_FOR_ATTEMPTS
        self.calls = calls = (*calls[-needed:], call)
        self.total, self.in_a_row = self.total + 1, self.in_a_row + 1
        if len({one.fingerprint for one in calls[-self.times :]}) == 1:
            needed = self.times
        waits = self.in_a_row >= _PAUSES and paused([span_of(one) for one in calls[-_PAUSES:]])
        if len(calls) < needed or waits or not_yet(call.output):
            return None
        members = frozenset({call.fingerprint, stable_answer_key(call)})
        return loop_of(LoopKind.REJECTED, call, times=self.total, members=members)
