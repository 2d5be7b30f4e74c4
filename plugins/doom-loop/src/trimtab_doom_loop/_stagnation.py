"""Actions that bring nothing new: one answer to varying arguments, or answers known before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise, starmap, takewhile

from trimtab.text import LazyPattern
from trimtab_doom_loop._actions import Action, hands_on, moves_unseen
from trimtab_doom_loop._excuses import watches_in_turn
from trimtab_doom_loop._kept import Actions
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import (
    alike,
    alike_but_for_numbers,
    attempts,
    different_things,
    each_names_its_own,
    numbered_names,
    one_deed,
    respelled,
    retold,
    stable_answer_key,
)
from trimtab_signals import (
    CallRecord,
    confirms,
    denies,
    finds_nothing,
    is_done_before,
    mentions_failure,
    reports_nothing,
    says_unchanged,
    without_times,
)

# How many more equal answers than exact repeats are needed. With fewer, batch work and honest
# search would be taken for loops: they get equal answers too, while they go through a list.
LIKENESS = 0.85
"""The threshold by which all other numbers were measured."""

_MORE_FOR_ERROR = 1
_MORE_FOR_NUMBERS = 2
_MORE_FOR_NOTHING = 3
_MORE_FOR_ALIKE = 4
_MORE_FOR_CONTENT = 5
_MORE_FOR_NAMES = 9
"""By certainty: one error or one message, arguments that differ in numbers alone or put one search
in other words, an answer that says nothing, calls that are alike, any content, and last a list of
names that an agent goes through. Of content a command takes one more than another tool."""
_MORE_FOR_PAGE = 2
"""Deeds with several tools, for the first ones may have another aim; one more reading is enough."""
_SHORT_ANSWER = 80
"""Characters of an answer that reports one thing; longer ones bring content."""
_ERROR = LazyPattern(r"\b(?:[A-Z]\w*)?(?:Error|Exception)\b:")
_OFTEN = 4
"""A quarter of the calls come back: they go round, and through no list."""
_NUMBER = LazyPattern(r"\d{1,6}")
_NEGATION = LazyPattern(r"(?i)\bnot\b|n't\b")
_SHOWS = LazyPattern(r"\w://\w")
_SMALLEST = 60
"""Characters: shorter answers are of equal size by chance."""
_WORD = LazyPattern(r"[^\W_]{3,}")
_STEM = 4
_FEWEST_WORDS = 6
_NEW = 3
"""An answer of six words or more, of which at most a third begin otherwise than in those before,
says the same in other words."""
_SHARE = 8
"""A page of which less than an eighth is new was read before."""
_STRUCTURED = ("{", "[", "<")


def find_same_answer(actions: Actions, streak: int, times: int, similarity: float) -> Loop | None:
    """Find `streak` actions in a row that brought one answer for varying arguments."""
    if streak <= times:
        return None
    tail = list(actions.kept)[-min(streak, 4 * times) :]
    calls = [action.calls[0] for action in tail]
    needed: int | None
    if (
        len({call.fingerprint for call in calls}) < times
        or watches_in_turn(actions, tail)
        or each_names_its_own(calls)
    ):
        return None
    if any(map(moves_unseen, calls)):
        needed = 2 * times if _hunts(calls) else None
    elif any(action.waits for action in tail):  # only words say that it goes on
        needed = _MORE_FOR_CONTENT
    else:
        needed = _needed(calls, similarity)
    if needed is None:
        return None
    if similarity < LIKENESS and alike(calls, similarity):
        needed = min(needed, _MORE_FOR_NUMBERS)
    if streak < times + needed:
        return None
    last = calls[-1]
    kind = LoopKind.SAME_ERROR if last.failed else LoopKind.SAME_ANSWER
    members = frozenset(map(stable_answer_key, calls))
    return loop_of(kind, last, times=streak, members=members)


def _hunts(calls: Sequence[CallRecord]) -> bool:
    """Tell whether moves on a screen go back and forth while the answers show that it stays the
    same. An agent that fills in a form goes down the page.
    """
    if not all(_SHOWS.search(call.output) for call in calls):
        return False
    places = [[int(number) for number in _NUMBER.findall(call.params_text)] for call in calls]
    back = sum(later < earlier for earlier, later in pairwise(places))
    return _OFTEN * back >= len(calls)


def _needed(calls: Sequence[CallRecord], similarity: float) -> int | None:
    """Return how many more than exact repeats are needed, or None if it is no loop."""
    last = calls[-1]
    if last.failed or _refuses(calls) or _complains(last):
        return _needed_for_failures(calls)
    again = calls[1:]
    if alike_but_for_numbers(again) and all(starmap(hands_on, pairwise(again))):
        return _MORE_FOR_NUMBERS  # one thing, under the name that each answer gives it
    same_command = last.command and len({call.command for call in calls}) == 1
    if says_unchanged(last.output) or same_command:  # other arguments change nothing
        return _MORE_FOR_NUMBERS
    if not last.profile.writes and _is_nothing(last):
        return _needed_for_nothing(calls)
    # What may only confirm, in any language: then the calls decide whether they differ.
    if last.profile.writes or confirms(last.output) or _is_little(last):
        return _needed_for_little(calls)
    return _needed_for_content(calls, similarity)


def _refuses(calls: Sequence[CallRecord]) -> bool:
    """Tell whether a short answer to deeds denies them, or says that one thing is there already."""
    last = calls[-1]
    if not (last.profile.writes and _is_brief(last)):
        return False
    again = is_done_before(last.output) and not different_things(calls)
    return again or denies(last.output)


def _needed_for_nothing(calls: Sequence[CallRecord]) -> int | None:
    if not numbered_names(calls) and not different_things(calls):
        said = calls[-1].output
        # It says why, or shows what it found instead.
        tells = len(beginnings_of(said)) >= _FEWEST_WORDS and not finds_nothing(said)
        anew = len({call.fingerprint for call in calls}) == len(calls) and attempts(calls)
        return _MORE_FOR_ERROR if tells and anew else _MORE_FOR_NOTHING
    said = calls[-1].output.strip()  # they go through a list
    return _MORE_FOR_NAMES if not said or reports_nothing(said) else None


def _needed_for_content(calls: Sequence[CallRecord], similarity: float) -> int:
    again = calls[1:]  # the first answer was news, and its call may have been another
    if alike_but_for_numbers(again):
        return _MORE_FOR_NAMES if numbered_names(again) else _MORE_FOR_NUMBERS
    last = calls[-1]
    if last.command is None and attempts(calls) and not different_things(calls):  # in other words
        return _MORE_FOR_ERROR if last.reads or retold(calls, 1) else _MORE_FOR_NUMBERS
    return _MORE_FOR_ALIKE if alike(calls, similarity) else _MORE_FOR_CONTENT  # numbers, mostly


def _needed_for_failures(calls: Sequence[CallRecord]) -> int:
    last = calls[-1]
    is_told = reports_nothing(last.output) and _ERROR.search(last.output) is None
    missing = last.reads and is_told and different_things(calls)
    return _MORE_FOR_CONTENT if missing else _MORE_FOR_ERROR  # each of a list may be missing


def _is_nothing(call: CallRecord) -> bool:
    """Tell whether an answer says that there is nothing. What a look answers in one short line,
    whatever is asked, does so, or tells of an error, in whatever language.
    """
    said = call.output.strip()
    return reports_nothing(said) or (call.reads and (finds_nothing(said) or _is_brief(call)))


def _needed_for_little(calls: Sequence[CallRecord]) -> int | None:
    last = calls[-1]
    if last.command is not None and len({c.output_fingerprint for c in calls}) == len(calls):
        return None  # any program may say so of what it has done with each
    if len({without_times(call.params_text) for call in calls}) == 1:
        return _MORE_FOR_NUMBERS  # nothing but the time differs
    back = len(calls) - len({call.fingerprint for call in calls})
    says_again = retold(calls)
    if last.profile.writes and says_again:  # whoever is written to reads each of them
        return _MORE_FOR_ERROR if back or retold(calls, 1) else _MORE_FOR_NUMBERS
    if says_again or one_deed(calls) or respelled(calls):
        return _MORE_FOR_CONTENT
    told = last.profile.writes or confirms(last.output)
    return _MORE_FOR_NUMBERS if not told and attempts(calls) else None


def _is_little(call: CallRecord) -> bool:
    is_count = call.command is not None and _NUMBER.fullmatch(call.output.strip())
    return not call.reads and not is_count and _is_brief(call)


def _is_brief(call: CallRecord) -> bool:
    return 0 < call.size <= _SHORT_ANSWER and "\n" not in call.output.strip()


def _complains(call: CallRecord) -> bool:
    """Tell whether an answer sounds like a failure, and does not also confirm something."""
    if not mentions_failure(call):
        return False
    if _ERROR.search(call.output) is not None:
        return True
    return not reports_nothing(call.output) and not confirms(_NEGATION.sub("", call.output))


def find_same_page(actions: Actions, times: int) -> Loop | None:
    """Find one long answer to whatever is done with several tools: a page that doesn't change, or
    a sentence that two readers of different things bring.
    """
    kept, action = actions.kept, actions.kept[-1]
    last = action.calls[0]
    if last.size < _SMALLEST or len(kept) <= times or kept[-2].calls[0].size != last.size:
        return None
    if action.may_repeat is False and action.number - action.alike <= times:
        return None  # that one would show it too
    if not last.may_repeat(kept[-2].calls[0]):  # far cheaper than to compare what they say
        return None
    latest_first = (action.calls[0] for action in reversed(kept))
    same = list(takewhile(lambda call: _shows(call, last), latest_first))
    tools = dict.fromkeys(call.tool for call in same)
    reads = len(tools) > 1 and all(call.reads for call in same)
    needed = times + (1 if reads else _MORE_FOR_PAGE)
    if len(same) < needed or (not reads and len(tools) < times):
        return None
    return loop_of(
        LoopKind.SAME_PAGE,
        last,
        times=len(same),
        members=frozenset({f"page {last.output_fingerprint}"}),
        tools=tuple(tools),
    )


def _shows(call: CallRecord, last: CallRecord) -> bool:
    """Tell whether a call brought what the last one did; the sizes are compared first."""
    same_size = call.size == last.size and not call.failed
    return same_size and call.output_fingerprint == last.output_fingerprint


def find_known(actions: Actions, times: int) -> Loop | None:
    """Find a question whose answers hold nothing new, however they are worded or paged."""
    action, needed = actions.kept[-1], 3 * times - 1
    call = action.calls[0]
    if len(action.calls) > 1 or action.excused:
        return None
    if actions.count(call) < needed:
        found = _paged_again(actions, call, 2 * times)
    elif call.failed or call.profile.writes:
        return None
    else:
        found = _answered_in_other_words(actions, call, needed)
    return None if found is not None and action.waits else found


def _paged_again(actions: Actions, call: CallRecord, needed: int) -> Loop | None:
    """Find pages of one thing that hold only what its earlier pages held."""
    if not call.reads or len(actions.kept) <= needed or actions.count_alike(call) < 2 * needed:
        return None
    if not alike_but_for_numbers((actions.kept[-2].calls[0], call)):
        return None
    tail = [one.calls[0] for one in islice(reversed(actions.kept), needed)]
    if any(one.tool != call.tool or one.size < _SMALLEST or one.failed for one in tail):
        return None
    known: frozenset[int] = frozenset()
    again = 0
    for one in actions.kept:
        page = one.calls[0]
        if page.tool == call.tool:
            again = 0 if _SHARE * len(page.pieces - known) >= len(page.pieces) else again + 1
            known |= page.pieces
    return _loop(call, again) if again >= needed else None


def _answered_in_other_words(actions: Actions, call: CallRecord, needed: int) -> Loop | None:
    """Find one question whose answers are worded differently each time and name nothing new."""
    found = [s for s in actions.kept if s.calls[0].fingerprint == call.fingerprint]
    seen = found[-needed:]
    if call.output[:1] in _STRUCTURED and len({action.kind for action in seen}) < needed:
        return None  # states of things are few and come back
    others = (action for action in actions.since(seen[0].number) if action.asked != seen[0].asked)
    if len(seen) < needed or any(action.changes or action.waits for action in others):
        return None
    known: frozenset[str] = frozenset()
    for number, action in enumerate(seen):
        words = beginnings_of(action.calls[0].output)
        if len(words) < _FEWEST_WORDS or (2 * number >= needed and _adds(words, known)):
            return None
        known |= words
    return _loop(call, len(found))


def find_asked_in_other_words(actions: Actions, times: int) -> Loop | None:
    """Find one question or order that is put in other words each time, to a person or an agent,
    though the answers bring nothing more.
    """
    kept, needed = actions.kept, times + _MORE_FOR_NUMBERS
    last = kept[-1].calls[0]
    if last.profile.writes:  # whoever is written to reads each of them
        needed -= 1
    if last.reads or len(kept) < needed or kept[-needed].calls[0].tool != last.tool:
        return None
    latest_first = takewhile(lambda action: _asks(action, last), reversed(kept))
    calls = [action.calls[0] for action in islice(latest_first, needed)]
    if len(calls) < needed or not retold(calls, 1):
        return None
    count = needed
    for action in latest_first:
        calls.append(action.calls[0])
        if not retold(calls[-needed:], 1):
            break
        count += 1
    known = frozenset().union(*(beginnings_of(call.params_text) for call in calls[:needed]))
    for number, call in enumerate(calls[needed - 1 :: -1]):
        words = beginnings_of(call.output)
        if call.profile.writes:  # each is confirmed by a number of its own
            words = frozenset(filter(str.isalpha, words))
        if number >= needed - times and _adds(words, known):
            return None
        known |= words
    members = frozenset({last.fingerprint, f"{LoopKind.REWORDED} {last.tool}"})
    return loop_of(LoopKind.REWORDED, last, times=count, members=members)


def _asks(action: Action, last: CallRecord) -> bool:
    call = action.calls[0]
    return len(action.calls) == 1 and call.tool == last.tool and not (call.failed or action.waits)


def beginnings_of(text: str) -> frozenset[str]:
    """Return the beginnings of the words in a text."""
    return frozenset(word[:_STEM].lower() for word in _WORD.findall(text))


def _adds(words: frozenset[str], known: frozenset[str]) -> bool:
    """Tell whether an answer says more than what is known, and says it in other words."""
    # Ids are new in each answer.
    new = {word for word in words - known if word.isalpha() or word.isdecimal()}
    return _NEW * len(new) > len(words) or any(word.isdecimal() for word in new)


def _loop(call: CallRecord, times: int) -> Loop:
    members = frozenset({call.fingerprint, f"known {call.tool}"})
    return loop_of(LoopKind.SAME_CONTENT, call, times=times, members=members)
