"""Work that has no effect: one answer to other words, one result or error after other changes,
changes that are rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile
from posixpath import basename

import attrs

from trimtab.text import LazyPattern
from trimtab_doom_loop._actions import Action, Actions
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import (
    alike,
    answer_key,
    attempts,
    different_things,
    retold,
    stable_answer_key,
)
from trimtab_signals import (
    CallRecord,
    confirms,
    is_aside,
    mentions_failure,
    not_yet,
    paused,
    reports_nothing,
    says_unchanged,
    span_of,
)

_FILE = LazyPattern(r"(?<![\w./@-])[\w./-]*\w\.[A-Za-z]\w{0,5}\b")
_HANDLE = LazyPattern(r"(?<![\w-])[\w-]*\d[\w-]*")
_SUCCEEDED = LazyPattern(r"(?i)\b(?:ok|succeeded|success)[\"']?\s?[=:]\s?true\b")
_MOVES = LazyPattern(r"(?i)\b(?:scroll|next|forward|back|advanc|turn)\w*\b")
_VALUE = LazyPattern(r"\"([^\"]{3,})\"")
_MORE_FOR_ATTEMPTS = 2
"""Near-equal changes that are rejected are attempts, of which some fail."""
_PAUSES = 3
"""Calls between which two pauses lie, the least that can be seen to grow."""
_MORE_FOR_SUBJECT = 1
_MORE_FOR_CHANGES = 2
_MORE_FOR_CONTENT = 3
_MORE_FOR_DEEDS = 3
"""Added to the repeats of an equal call, by how much these actions differ from one: one subject
with one answer least, deeds of several kinds most."""
_SMALLEST = 60
"""Characters: a shorter answer, such as "done", is alike by chance."""
_ID = 8
"""Characters of a name with a digit in it that only one thing has."""
_SENTENCE = 20
"""Characters from which a value with a blank, or in another script, is a text and no name: what
such a call does again is said again, and no state is asked for."""
_RENAMED = 8
"""Characters by which an answer changes when a few names in it have a digit more or less."""
_SHORT = 600
"""Characters up to which a cheap look tells first whether an answer may be equal."""
_NEAR = 0.1
"""Share by which the sizes of two pages of one kind differ."""


def find_without_effect(actions: Actions, action: Action, times: int) -> Loop | None:
    """Find what goes on without effect, where the last action is new or an answer is known."""
    kept, call, found = actions.kept, action.calls[0], None
    if len(kept) < times or len(action.calls) > 1:
        return None
    writes = call.profile.writes
    if kept[-2].calls[0].tool == call.tool:
        if writes:
            found = _elsewhere(actions, call, times)
        elif not call.failed:
            found = _reworded(actions, call, times)
    # The words of an answer are looked at before sizes if it is short, or if they are known.
    if (
        found is None
        and call.size >= _SMALLEST
        and not writes
        and ((call.size > _SHORT and action.may_repeat is None) or actions.may_repeat(action))
    ):
        found = _same_content(actions, action, times)
    return None if found is not None and action.waits else found


def find_judged_again(actions: Actions, times: int) -> Loop | None:
    """Find what is made anew each time, the same thing in other words, and gets one and the same
    verdict: a picture that is drawn and turned down, a release whose check does not pass.
    """
    kept, needed = actions.kept, times + _MORE_FOR_CHANGES
    if len(kept) < 2 * needed or kept[-3].calls[0].tool != kept[-1].calls[0].tool:
        return None
    made: list[CallRecord] = []
    last = kept[-1].calls[0]
    for number in range(1, len(kept), 2):
        judge, one = kept[-number], kept[-number - 1].calls[0]
        same = judge.brought == kept[-1].brought or judge.kind == kept[-1].kind
        if not same or not _judges(judge.calls[0], one):
            break
        made.append(one)
    # Where all are equal, each takes the next of a queue.
    if len(made) < needed or len({call.fingerprint for call in made}) == 1 or not attempts(made):
        return None
    return _loop(LoopKind.SAME_CONTENT, last, len(made))


def _judges(judge: CallRecord, made: CallRecord) -> bool:
    """Tell whether one call looks at what the call before it has made."""
    if made.tool == judge.tool or made.failed or made.reads:
        return False
    if judge.failed or judge.profile.writes or confirms(judge.output):
        return False
    names = _HANDLE.findall(judge.params_text)
    return any(name in text for name in names for text in (made.output, made.params_text))


def find_own_echo(actions: Actions, times: int) -> Loop | None:
    """Find an agent that answers itself: all that it reads is what it has written itself."""
    kept = actions.kept
    if len(kept) < 4 * times or kept[-3].calls[0].tool != kept[-1].calls[0].tool:
        return None
    written: list[CallRecord] = []
    shown = ""
    for number in range(1, len(kept), 2):
        one, reader = kept[-number].calls[0], kept[-number - 1]
        if reader.asked != kept[-2].asked or one.failed or one.tool != kept[-1].calls[0].tool:
            break
        values = _VALUE.findall(one.params_text)
        if written and not (values and all(value in shown for value in values)):
            break
        written.append(one)
        shown = reader.calls[0].output
    if len(written) < 2 * times:
        return None
    return _loop(LoopKind.REWORDED, written[0], len(written))


def find_done_again(actions: Actions, repeats: int, longest: int) -> Loop | None:
    """Find deeds that are done again and again: a post that is published, or an offer that is made
    and sent. They differ in the names of what each has made, and in what takes these up.

    One deed in a row that is known to write something is told at the third, if its answers show
    that each time made one more; another success one later. Where nothing says that it succeeded,
    more are needed: a tool that nobody knows may look.

    Args:
        actions: the last actions.
        repeats: how many equal actions are a loop.
        longest: how many deeds may make up a round.
    """
    kept, last = actions.kept, actions.kept[-1]
    call = last.calls[0]
    if actions.count(call) < repeats or not _writes_text(call):
        return None
    outputs = [action.calls[0].output[:_SHORT] for action in kept]
    shown = ("\n".join(outputs[max(0, n - longest) : n]) for n in range(len(kept) - 1, -1, -1))
    forms = list(takewhile(bool, map(_form_of, reversed(kept), shown)))
    for length in range(2, longest + 1):
        same = takewhile(lambda pair: pair[0] == pair[1], zip(forms, forms[length:], strict=False))
        rounds = 1 + sum(1 for _ in same) // length
        if rounds >= repeats and len(set(forms[:length])) > 1:
            return _loop(LoopKind.SAME_CONTENT, call, rounds)
    if not forms:
        return None
    form = _without_handles(call)
    in_a_row = takewhile(
        lambda one: one.calls[0].tool == call.tool and _without_handles(one.calls[0]) == form,
        reversed(kept),
    )
    done = [one for one in in_a_row if one.asked == last.asked]  # in other words in between
    needed = repeats + 1
    if not confirms(call.output) and _SUCCEEDED.search(form) is None:
        needed += _MORE_FOR_DEEDS
    elif call.profile.writes and len({one.calls[0].output_hash for one in done}) > 1:
        needed = repeats
    return _loop(LoopKind.SAME_CONTENT, call, len(done)) if len(done) >= needed else None


def _form_of(action: Action, shown: str) -> str:
    """Return what is the same if a deed is done again: its text, and what it does with the names
    that the answers before, `shown`, give it; empty if it is no such deed.
    """
    call = action.calls[0]
    if len(action.calls) > 1 or call.failed or call.reads or call.command is not None:
        return ""
    names = set(_HANDLE.findall(call.params_text)).intersection(_HANDLE.findall(shown))
    if action.waits or not (names or _writes_text(call)):
        return ""
    asked = _HANDLE.sub(lambda found: "#" if found[0] in names else found[0], call.params_text)
    return f"{call.tool}\n{asked}\n{_without_handles(call)}"


def _writes_text(call: CallRecord) -> bool:
    values = (value for value in _VALUE.findall(call.params_text) if len(value) >= _SENTENCE)
    return any(" " in value or not value.isascii() for value in values)


def find_renamed(actions: Actions, times: int) -> Loop | None:
    """Find one thing that is acted on again and again under the names that each answer gives it,
    such as a button with a new number in each picture of a page that stays as it is.

    Args:
        actions: the last actions.
        times: how many equal actions are a loop.
    """
    kept = actions.kept
    call, count, rest = kept[-1].calls[0], 0, ""
    if len(kept) < times + 2 or call.command is not None or kept[-1].waits:
        return None
    if abs(call.size - kept[-2].calls[0].size) > _RENAMED:  # so that few are looked at
        return None
    for later, earlier in pairwise(action.calls[0] for action in reversed(kept)):
        left = _without_names(later, earlier) if earlier.tool == call.tool else ""
        if not left or left != (rest or left):
            break
        rest, count = left, count + 1
    return _loop(LoopKind.REWORDED, call, count + 1) if count > times else None


def _without_names(call: CallRecord, before: CallRecord) -> str:
    """Return the answer before a call without the names that the call takes from it; empty if it
    takes none, the same as before, or differs in more than names.
    """
    names, shown = set(_HANDLE.findall(call.params_text)), before.output[:_SHORT]
    if not names or call.fingerprint == before.fingerprint:
        return ""
    if _HANDLE.sub("#", call.params_text) != _HANDLE.sub("#", before.params_text):
        return ""
    if not names.issubset(_HANDLE.findall(shown)):
        return ""
    return str(_HANDLE.sub(lambda found: "#" if found[0] in names else found[0], shown))


def _without_handles(call: CallRecord) -> str:
    return "" if call.failed else str(_HANDLE.sub("#", call.output[:_SHORT]))


def _elsewhere(actions: Actions, call: CallRecord, times: int) -> Loop | None:
    """Find changes that name one file while the answers show another."""
    calls = (action.calls[0] for action in reversed(actions.kept))
    astray = takewhile(lambda one: one.tool == call.tool and _strays(one), calls)
    count = sum(1 for _ in astray)
    return _loop(LoopKind.ELSEWHERE, call, count) if count >= times + _MORE_FOR_CHANGES else None


def _strays(call: CallRecord) -> bool:
    asked = {basename(name) for name in _FILE.findall(call.params_text)}
    shown = {basename(name) for name in _FILE.findall(call.output[:_SMALLEST])}
    return not call.failed and bool(asked) and bool(shown) and not asked & shown


def _reworded(actions: Actions, call: CallRecord, times: int) -> Loop | None:
    """Find one request in other words each time, with one effect: the answers begin alike."""
    if call.command is not None or len(call.output) < _SMALLEST:
        return None
    head = call.output.partition("\n")[0]
    calls = (action.calls[0] for action in reversed(actions.kept))
    same = list(
        takewhile(
            lambda one: one.tool == call.tool and one.output.partition("\n")[0] == head, calls
        )
    )
    if len(same) < times + _MORE_FOR_DEEDS or _MOVES.search(head):
        return None
    if not retold(same):
        return None
    return _loop(LoopKind.REWORDED, call, len(same))


def _same_content(actions: Actions, action: Action, times: int) -> Loop | None:
    """Find an answer that came again and again to other words, with other calls in between."""
    call, fewest = action.calls[0], times + _MORE_FOR_SUBJECT
    near = _alike_in_size(actions, call, times + _MORE_FOR_CONTENT)
    if len(near) < fewest or confirms(call.output):
        return None
    if not actions.may_repeat(action) or not call.pieces:
        return None
    again = [action for action in near if _mostly_says(action.calls[0], call)]
    calls = [one.calls[0] for one in again]
    one_thing = _name_one_thing(calls[:fewest])
    if not call.reads and not one_thing and len(calls) > 1 and different_things(calls):
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
    return _loop(LoopKind.SAME_CONTENT, call, times)


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


def _loop(kind: LoopKind, call: CallRecord, times: int) -> Loop:
    return loop_of(
        kind, call, times=times, members=frozenset({call.fingerprint, f"{kind} {call.tool}"})
    )


@attrs.define(eq=False)
class Rejections:
    """Near-equal changes that were rejected with one error, until their tool succeeds.

    A user's message doesn't end them: "try again" does not change the error.

    Args:
        times: how many equal ones are a loop; of near-equal ones it takes two more.
        similarity: share (0.0–1.0) from which arguments are near-equal.
        calls: the latest of them, latest last.
        counts: how many there were; how many of the latest had nothing else between them; and how
            many of `calls` stand for all before another change by their tool succeeded.
    """

    times: int
    similarity: float
    calls: tuple[CallRecord, ...] = ()
    counts: tuple[int, int, int] = (0, 0, 0)

    def take(self, calls: Sequence[CallRecord]) -> Loop | None:
        """Take the calls of a turn; return the loop that they belong to, if any."""
        for call in calls:
            if call.failed and call.profile.writes:
                return self._rejected(call)
        if self.calls:
            total, in_a_row, attempts = self.counts
            tool = self.calls[-1].tool
            done = [c for c in calls if c.tool == tool and not says_unchanged(c.output)]
            if done:
                again = any(alike((self.calls[-1], call), self.similarity) for call in done)
                self.calls = () if again else self.calls[: attempts + 1]
                attempts = len(self.calls)
            if not all(is_aside(call.tool) for call in calls):
                in_a_row = 0  # what lies between is no pause
            self.counts = total, in_a_row, attempts
        return None

    def _rejected(self, call: CallRecord) -> Loop | None:
        calls, (total, in_a_row, attempts) = self.calls, self.counts
        needed = self.times + _MORE_FOR_ATTEMPTS
        same = calls and answer_key(calls[-1]) == answer_key(call)
        if not same or not alike((calls[-1], call), self.similarity):
            calls, total, in_a_row, attempts = (), 0, 0, 0
        self.calls = calls = (*calls[-needed:], call)
        self.counts = total + 1, in_a_row + 1, attempts
        waits = in_a_row + 1 >= _PAUSES and paused([span_of(one) for one in calls[-_PAUSES:]])
        is_equal = len({one.fingerprint for one in calls[-self.times :]}) == 1
        if len(calls) < (self.times if is_equal else needed) or waits or not_yet(call.output):
            return None
        members = frozenset({call.fingerprint, stable_answer_key(call)})
        return loop_of(LoopKind.REJECTED, call, times=total + 1, members=members)
