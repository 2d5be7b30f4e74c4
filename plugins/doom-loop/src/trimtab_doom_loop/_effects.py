"""Work that has no effect: one answer to other words, one result or error after other changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice, pairwise, takewhile
from posixpath import basename

from trimtab.text import LazyPattern
from trimtab_doom_loop._actions import Action, Actions
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import (
    alike,
    alike_but_for_numbers,
    attempts,
    different_things,
    respelled,
    reworded,
)
from trimtab_signals import (
    CallRecord,
    complains,
    confirms,
    mentions_failure,
    refuses,
    reports_nothing,
    without_input,
)

_FILE = LazyPattern(r"(?<![\w./@-])[\w./-]*\w\.[A-Za-z]\w{0,5}\b")
# What names a single thing: a file, an address, a long number.
_NAMED = LazyPattern(r"(?<![\w-])(?=[\w-]*\d)[\w-]{8,}")
_HANDLE = LazyPattern(r"(?<![\w-])[\w-]*\d[\w-]*")
_SUCCEEDED = LazyPattern(r"(?i)\b(?:ok|succeeded|success)[\"']?\s?[=:]\s?true\b")
_VALUE = LazyPattern(r"\"([^\"]{3,})\"")
_MOVES = LazyPattern(r"(?i)\b(?:scroll|next|forward|back|advanc|turn)\w*\b")
_MORE_FOR_SUBJECT = 1
_MORE_FOR_CHANGES = 2
_MORE_FOR_CONTENT = 3
_MORE_FOR_DEEDS = 3
"""Added to the repeats of an equal call, by how much these actions differ from one: one subject
with one answer least, deeds of several kinds most."""
_SMALLEST = 60
"""Characters: a shorter answer, such as "done", is alike by chance."""
_SENTENCE = 20
"""Characters from which a value with a blank, or in another script, is a text and no name: what
such a call does again is said again, and no state is asked for."""
_RENAMED = 8
"""Characters by which an answer changes when a few names in it have a digit more or less."""
_SHORT = 600
"""Characters up to which a cheap look tells first whether an answer may be equal."""
_NEAR = 0.1
"""Share by which the sizes of two pages of one kind differ."""


def find_without_effect(actions: Actions, times: int) -> Loop | None:
    """Find actions that go on without effect: see the functions below."""
    action = actions.kept[-1]
    if len(action.calls) != 1 or len(actions.kept) < times:
        return None
    call = action.calls[0]
    if action.kind == action.number or call.profile.writes:
        return find_news_without_effect(actions, action, times)
    found = _unmoved(actions, call, times)
    return None if found is not None and action.waits else found


def find_news_without_effect(actions: Actions, action: Action, times: int) -> Loop | None:
    """Find what goes on without effect where the last action is a change, or a new call."""
    kept, call, found = actions.kept, action.calls[0], None
    if len(kept) < times:
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
    """Find what is made anew each time and gets one and the same verdict: a picture that is drawn
    and turned down, a release whose check does not pass.

    Where no known word says that the verdict is a bad one, what is made must be the same thing in
    other words, and it takes more of it: an agent that goes through a list gets one verdict, too.
    """
    kept = actions.kept
    if (
        len(kept) < 2 * (times + _MORE_FOR_CHANGES)
        or kept[-3].calls[0].tool != kept[-1].calls[0].tool
    ):
        return None
    made: list[CallRecord] = []
    last = kept[-1].calls[0]
    for number in range(1, len(kept), 2):
        verdict, maker = kept[-number], kept[-number - 1]
        judge, one = verdict.calls[0], maker.calls[0]
        if len(verdict.calls) > 1 or len(maker.calls) > 1 or not _judges(judge, one, last):
            break
        made.append(one)
    known = complains(last) or refuses(last.output)
    needed = times + (_MORE_FOR_CHANGES if known else _MORE_FOR_CONTENT)
    if len(made) < needed:
        return None
    if len({call.fingerprint for call in made}) == 1 and not known:
        return None  # each takes the next of a queue
    if not known and not (attempts(made) or alike_but_for_numbers(made) or respelled(made)):
        return None
    return _loop(LoopKind.SAME_CONTENT, last, len(made))


def _judges(judge: CallRecord, made: CallRecord, last: CallRecord) -> bool:
    """Tell whether one call says the same as `last` of what the call before it has made."""
    if judge.tool != last.tool or judge.output != last.output or made.tool == last.tool:
        return False
    if judge.failed or judge.profile.writes or made.failed or made.reads:
        return False
    return any(handle in made.output for handle in _HANDLE.findall(judge.params_text))


def find_own_echo(actions: Actions, times: int, similarity: float) -> Loop | None:
    """Find an agent that answers itself: all that it reads is what it has written itself, and it
    writes much the same again.
    """
    kept = actions.kept
    if len(kept) < 4 * times or kept[-3].calls[0].tool != kept[-1].calls[0].tool:
        return None
    written: list[CallRecord] = []
    shown = kept[-2].calls[0]
    for number in range(1, len(kept), 2):
        writer, reader = kept[-number], kept[-number - 1]
        one = writer.calls[0]
        if len(writer.calls) > 1 or reader.asked != kept[-2].asked or one.failed:
            break
        if written and not _echoes(shown, one):
            break
        written.append(one)
        shown = reader.calls[0]
    if len(written) < 2 * times or len({call.tool for call in written}) > 1:
        return None
    if not all(alike(two, similarity) for two in pairwise(written)):
        return None
    return _loop(LoopKind.REWORDED, written[0], len(written))


def _echoes(shown: CallRecord, written: CallRecord) -> bool:
    """Tell whether an answer holds all the texts of an earlier call's arguments."""
    values = _VALUE.findall(written.params_text)
    return bool(values) and all(value in shown.output for value in values)


def find_done_again(actions: Actions, repeats: int) -> Loop | None:
    """Find one deed that is done again and again in a row: a post that is published, a message
    that is sent, each time with success. Its answers differ in the names of what each has made.

    Where nothing says that it succeeded, more are needed: a tool that nobody knows may look.

    Args:
        actions: the last actions.
        repeats: how many equal actions are a loop.
    """
    last = actions.kept[-1]
    call = last.calls[0]
    if (
        len(last.calls) > 1
        or actions.count(call) <= repeats
        or call.reads
        or call.command is not None
        or last.waits
    ):
        return None
    if not any(len(one) >= _SENTENCE and _is_text(one) for one in _VALUE.findall(call.params_text)):
        return None
    form = _without_handles(call)
    done = takewhile(
        lambda action: (
            action.asked == last.asked
            and not action.calls[0].failed
            and _without_handles(action.calls[0]) == form
        ),
        reversed(actions.kept),
    )
    times = sum(1 for _ in done)
    succeeded = confirms(call.output) or _SUCCEEDED.search(form) is not None
    more = 0 if succeeded else _MORE_FOR_DEEDS
    return _loop(LoopKind.SAME_CONTENT, call, times) if times > repeats + more else None


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
    for later, earlier in pairwise(reversed(kept)):
        one, before = later.calls[0], earlier.calls[0]
        if len(later.calls) + len(earlier.calls) > 2 or before.tool != call.tool:
            break
        left = _without_names(one, before)
        if not left or left != (rest or left):
            break
        rest, count = left, count + 1
    if count <= times or _without_handles(call) != _without_handles(kept[-2].calls[0]):
        return None
    return _loop(LoopKind.REWORDED, call, count + 1)


def _without_names(call: CallRecord, before: CallRecord) -> str:
    """Return the answer before a call without the names that the call takes from it; empty if it
    takes none, the same as before, or differs in more than names.
    """
    names, shown = set(_HANDLE.findall(call.params_text)), before.output[:_SHORT]
    if not names or names == set(_HANDLE.findall(before.params_text)):
        return ""
    if _HANDLE.sub("#", call.params_text) != _HANDLE.sub("#", before.params_text):
        return ""
    if not names.issubset(_HANDLE.findall(shown)):
        return ""
    return str(_HANDLE.sub(lambda found: "#" if found[0] in names else found[0], shown))


def _is_text(value: str) -> bool:
    return " " in value or not value.isascii()


def _without_handles(call: CallRecord) -> str:
    return str(_HANDLE.sub("#", call.output[:_SHORT]))


def _unmoved(actions: Actions, call: CallRecord, times: int) -> Loop | None:
    """Find a call that shows the same failure after each of several changes."""
    needed = times + _MORE_FOR_CHANGES
    if actions.count(call) < needed:
        return None
    seen = actions.occurrences(call)
    if len(seen) < needed or not mentions_failure(call):
        return None
    form = without_input(call.command or "")
    changed = [
        action.number
        for action in actions.since(seen[0][0])
        if action.changes and not (form and _has_form(action, form))
    ]
    after = [
        any(earlier < number < later for number in changed)
        for (earlier, _), (later, _) in pairwise(seen)
    ]
    return _loop(LoopKind.UNMOVED, call, 1 + sum(after)) if all(after[1 - needed :]) else None


def _has_form(action: Action, form: str) -> bool:
    """Tell whether an action asks the program of `form` about another input."""
    return all(without_input(call.command or "") == form for call in action.calls)


def _elsewhere(actions: Actions, call: CallRecord, times: int) -> Loop | None:
    """Find changes that name one file while the answers show another."""
    needed = times + _MORE_FOR_CHANGES
    tail = list(islice(reversed(actions.kept), needed))
    if len(tail) < needed or any(len(action.calls) > 1 for action in tail):
        return None
    calls = [action.calls[0] for action in tail]
    if any(c.tool != call.tool or c.failed for c in calls):
        return None
    if not all(map(_strays, calls)):
        return None
    astray = takewhile(lambda action: _is_astray(action, call), reversed(actions.kept))
    return _loop(LoopKind.ELSEWHERE, call, sum(1 for _ in astray))


def _is_astray(action: Action, call: CallRecord) -> bool:
    one = action.calls[0]
    is_like = len(action.calls) == 1 and one.tool == call.tool and not one.failed
    return is_like and _strays(one)


def _strays(call: CallRecord) -> bool:
    asked = {basename(name) for name in _FILE.findall(call.params_text)}
    shown = {basename(name) for name in _FILE.findall(call.output[:_SMALLEST])}
    return bool(asked) and bool(shown) and not asked & shown


def _reworded(actions: Actions, call: CallRecord, times: int) -> Loop | None:
    """Find one request in other words each time, with one effect: the answers begin alike."""
    if call.command is not None or len(call.output) < _SMALLEST:
        return None
    needed, head = times + _MORE_FOR_DEEDS, _head(call)
    if _head(actions.kept[-2].calls[0]) != head:
        return None
    calls = [action.calls[0] for action in islice(reversed(actions.kept), needed)]
    if len(calls) < needed or any(c.tool != call.tool or _head(c) != head for c in calls):
        return None
    if _MOVES.search(head) or not reworded(calls, closely=False):
        return None
    return _loop(LoopKind.REWORDED, call, _reworded_times(actions, call))


def _head(call: CallRecord) -> str:
    return call.output.partition("\n")[0]


def _reworded_times(actions: Actions, call: CallRecord) -> int:
    head, times = _head(call), 1
    for later, earlier in pairwise(action.calls[0] for action in reversed(actions.kept)):
        if earlier.tool != call.tool or _head(earlier) != head:
            break
        if not reworded((earlier, later), closely=False):
            break
        times += 1
    return times


def _same_content(actions: Actions, action: Action, times: int) -> Loop | None:
    """Find an answer that came again and again to other words, with other calls in between."""
    call, fewest = action.calls[0], times + _MORE_FOR_SUBJECT
    near = _alike_in_size(actions, call, times + _MORE_FOR_CONTENT)
    if len(near) < fewest or confirms(call.output):
        return None
    if not actions.may_repeat(action) or not call.pieces:
        return None
    alike = [action for action in near if _mostly_says(action.calls[0], call)]
    if len({one.asked for one in alike}) == 1:  # one question, whose answer may have moved
        alike = [one for one in alike if _asked_alike(one.calls[0], call)]
    if len(alike) >= fewest and _name_one_thing(alike[:fewest]):
        return _said_again(actions, alike, fewest, closely=True, like=_mostly_says)
    again = [action for action in alike if action.calls[0].pieces == call.pieces]
    if not call.reads and _each_its_own([action.calls[0] for action in again]):
        return None
    asked = [action for action in again if _asked_alike(action.calls[0], call)]
    if call.reads and len(asked) >= fewest:  # one question, one answer, whatever its order
        return _said_again(actions, asked, fewest, closely=False, like=_asked_alike)
    closely = mentions_failure(call) and not reports_nothing(call.output)
    needed = fewest if closely else times + _MORE_FOR_CONTENT
    return _said_again(actions, again, needed, closely=closely, like=_says_same)


def _says_same(one: CallRecord, other: CallRecord) -> bool:
    return one.pieces == other.pieces


def _asked_alike(one: CallRecord, other: CallRecord) -> bool:
    # In another order an answer is as long; a state in it that has moved makes it longer.
    same = one.fingerprint == other.fingerprint and one.size == other.size
    return same and _says_same(one, other)


def _mostly_says(one: CallRecord, other: CallRecord) -> bool:
    """Tell whether three quarters of two answers are the same."""
    most = max(len(one.pieces), len(other.pieces))
    return 4 * len(one.pieces & other.pieces) >= 3 * most


def _said_again(
    actions: Actions,
    again: Sequence[Action],
    needed: int,
    *,
    closely: bool,
    like: Callable[[CallRecord, CallRecord], bool],
) -> Loop | None:
    if len(again) < needed:
        return None
    between = [s for s in actions.since(again[needed - 1].number) if s not in again]
    if any(action.waits or (_works(action) if closely else action.changes) for action in between):
        return None
    call = again[0].calls[0]
    times = sum(like(action.calls[0], call) for action in actions.alike_in_tool(call))
    if times < needed:
        return None
    return _loop(LoopKind.SAME_CONTENT, call, times)


def _name_one_thing(again: Sequence[Action]) -> bool:
    """Tell whether calls, neither reads nor commands, all name one and the same thing."""
    calls = [action.calls[0] for action in again]
    if any(call.command is not None or call.reads for call in calls):
        return False
    named = [set(_NAMED.findall(call.params_text)) for call in calls]
    return bool(set.intersection(*named))


def _each_its_own(calls: Sequence[CallRecord]) -> bool:
    """Tell whether calls, no reads, are about different things that their answers name."""
    named = len({call.output_hash for call in calls}) == len(calls)
    return len(calls) > 1 and named and different_things(calls)


def _works(action: Action) -> bool:
    """Tell whether an action may have changed something, beyond messages to others."""
    return action.changes and any(c.profile.writes or c.command is not None for c in action.calls)


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
