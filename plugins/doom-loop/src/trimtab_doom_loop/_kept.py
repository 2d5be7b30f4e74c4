"""The turns that are kept, and what is new in the latest of them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from trimtab import Outcome
from trimtab_doom_loop._actions import TEXT, Action, holds, taken_up, writes_text
from trimtab_doom_loop._similarity import answer_key
from trimtab_signals import (
    CallRecord,
    Slot,
    TurnRecord,
    confirms,
    moved,
    same_outputs,
    says_unchanged,
    steps_of,
)

_INTERRUPTED = Outcome.INTERRUPTED
_APART = 8
"""Characters by which two answers differ that differ in a few numbers and ids."""
_LOOKED_AT = 4
"""Calls of a tool that are looked back at: those that do the same with it by turns."""
_DEEDS = 2
_TEXTS = 6
"""Times that a counter must have grown alike to be one of the calls, for once a deed tells it of
itself; latest where a text may be a question or a deed. Of a look it may show how work goes on."""


class Actions:
    """The last actions since something outside of the run interfered.

    What is counted and looked up is of the actions that are kept, and leaves with them.

    Args:
        keep: how many are kept.

    Attributes:
        kept: the actions, oldest first; their numbers are consecutive.
        newest_is_news: whether the last is a single call, and neither it nor its answer was there.
    """

    def __init__(self, keep: int) -> None:
        self.kept: deque[Action] = deque(maxlen=keep)
        self.newest_is_news = False
        self._keep = keep
        self._number = 0
        # The latest action with these calls, with these answers, and with a first call of this
        # tool.
        self._asked: dict[str, int] = {}
        self._answers: dict[str, int] = {}
        self._tools: dict[str, int] = {}
        # How often each call was made, and each tool called.
        self._made: dict[str, int] = defaultdict(int)
        self._used: dict[str, int] = defaultdict(int)

    def clear(self) -> None:
        """Forget all: the user acted, or asked for something new."""
        self.kept.clear()
        for index in (self._asked, self._answers, self._tools, self._made, self._used):
            index.clear()

    def add(self, turn: TurnRecord) -> Action | None:
        """Add a turn and return its action; None if no call in it counts."""
        calls = turn.asked
        if len(calls) == 1:
            call = calls[0]
            if call.outcome is _INTERRUPTED:
                return None
            asked, answers = call.fingerprint, answer_key(call)
        else:
            calls = counted(calls)
            if not calls:
                return None
            call = calls[0]
            asked = _set_of(call.fingerprint for call in calls)
            answers = _set_of(map(answer_key, calls))
        number, is_new = self._number, True
        self._number = number + 1
        action = Action(number, calls, turn, asked, answers)
        # Nearly all calls and answers are new: these take one look-up each.
        last_asked = self._asked.get(asked, -1)
        last_answered = self._answers.get(answers, -1)
        if last_asked >= 0 or last_answered >= 0:
            is_new = self._note_earlier(action, last_asked, last_answered)
        action.alike = self._tools.get(call.tool, -1)
        if action.brought == number and len(calls) == 1 and action.alike >= 0:
            profile = call.profile  # what another look shows is news
            if action.earlier >= 0 or not (profile.read_only or call.command is not None):
                is_new = self._note_like(action) and is_new
        kept = self.kept
        if len(kept) == self._keep:
            self._forget(kept[0])
        kept.append(action)
        self._asked[asked] = self._answers[answers] = self._tools[call.tool] = number
        made, used = self._made, self._used
        for one in calls:
            made[one.fingerprint] += 1
            used[one.tool] += 1
        self.newest_is_news = is_new and len(calls) == 1 and made[asked] == 1
        return action

    def _forget(self, action: Action) -> None:
        """Drop what the indexes hold of the oldest action."""
        number, tool = action.number, action.calls[0].tool
        if self._asked[action.asked] == number:
            del self._asked[action.asked]
        if self._answers[action.answers] == number:
            del self._answers[action.answers]
        if self._tools[tool] == number:
            del self._tools[tool]
        made, used = self._made, self._used
        for call in action.calls:
            made[call.fingerprint] -= 1
            used[call.tool] -= 1
            if not made[call.fingerprint]:
                del made[call.fingerprint]
            if not used[call.tool]:
                del used[call.tool]

    def _note_earlier(self, action: Action, last_asked: int, last_answered: int) -> bool:
        """Compare an action that is about to be added with the latest that asked and that got the
        same, and tell whether neither is kept.
        """
        first = self.kept[0].number
        if last_asked >= 0:
            action.earlier = last_asked
            known = list(self._chain(last_asked))
            calls = action.calls
            same = (one for one in reversed(known) if same_outputs(one.calls, calls))
            if (one := next(same, None)) is not None:
                action.kind = one.kind
                if all(
                    a.output_fingerprint == b.output_fingerprint
                    for a, b in zip(one.calls, calls, strict=False)
                ):
                    action.brought = one.brought
        if last_answered >= 0:
            action.brought = self.kept[last_answered - first].brought
        return action.earlier < 0 and action.brought == action.number

    def _note_like(self, action: Action) -> bool:
        """Compare an action whose answer is new with the latest ones of its tool, and tell whether
        what has moved in the answer is news.

        It is not where a call has made it anew: an id, a number that its arguments hold or that an
        answer since has told, a count of the calls, a name in the place of the one that it takes
        up, what the agent has just written itself.
        """
        call = action.calls[0]
        if call.command is not None or call.failed or not self.kept:
            return True
        reads = call.reads
        likes = [*islice(self.alike_in_tool(call), 0 if reads else _LOOKED_AT)]
        for earlier in [*likes, *islice(self._chain(action.earlier), 1)]:
            before = earlier.calls[0]
            if len(earlier.calls) > 1 or before.failed:
                continue
            pairs = None
            if abs(call.size - before.size) <= _APART:
                pairs = moved(before.shape, call.shape, reads=reads)
            if pairs is None and reads and self._echoes(action) == self._echoes(earlier) != "":
                pairs = ()
            if pairs is not None:
                return self._moves(action, earlier, pairs)
        return True

    def _moves(self, action: Action, earlier: Action, pairs: Sequence[tuple[Slot, Slot]]) -> bool:
        """Tell whether what has moved since an earlier action with a like answer is news."""
        between = [one.calls[0] for one in self.since(earlier.number + 1)]
        call, before = action.calls[0], earlier.calls[0]
        taken = taken_up(before, between)
        pairs = [
            (was, now)
            for was, now in pairs
            if was.label[-1:] not in taken
            and not (holds(call, was) or (holds(call, now) and holds(before, was)))
        ]
        told = [pair for pair in pairs if not _is_clock(*pair, between)]
        if len(told) + 1 == len(pairs):  # two that grow are work
            pairs = told
        action.like = earlier.number
        writes, confirmed = writes_text(call), call.profile.writes or confirms(call.output)
        needed = _TEXTS if writes and not confirmed else _DEEDS
        if pairs:
            action.steps = steps_of(pairs)
            if not action.steps:
                return True
            action.grown = 1 + earlier.grown * (action.steps == earlier.steps)
            acts = writes or call.profile.writes or call.fingerprint != before.fingerprint
            if action.grown < needed or call.reads or not acts:
                return True
        since = needed - 1 if action.grown == needed else 0
        same = [action]
        while since and (place := same[-1].like - self.kept[0].number) >= 0:
            same.append(self.kept[place])
            since -= 1
        for one in reversed(same):
            place = one.like - self.kept[0].number
            one.brought = self.kept[place].brought if place >= 0 else one.brought
            alike = (o.kind for o in self._chain(one.earlier) if o.brought == one.brought)
            one.kind = next(alike, one.number)
        return False

    def _echoes(self, look: Action) -> str:
        """Return what a look shows besides what the agent wrote just before it; empty if that is
        not in it.
        """
        place = look.number - self.kept[0].number - 1
        if not 0 <= place < len(self.kept) or self.kept[place].calls[0].reads:
            return ""
        said = shown = look.calls[0].output
        for text in sorted(TEXT.findall(self.kept[place].calls[0].params_text), key=len)[::-1]:
            said = said.replace(text, "~")
        return "" if said == shown else said

    def _chain(self, number: int) -> Iterator[Action]:
        """Yield the kept actions that made the calls of action `number`, this one first."""
        kept = self.kept
        first = kept[0].number if kept else number + 1
        while number >= first:
            action = kept[number - first]
            yield action
            number = action.earlier

    def alike_in_tool(self, call: CallRecord) -> Iterator[Action]:
        """Yield the actions whose first call is of the same tool, latest first."""
        kept = self.kept
        first, number = kept[0].number, self._tools.get(call.tool, -1)
        while number >= first:
            action = kept[number - first]
            yield action
            number = action.alike

    def count_alike(self, call: CallRecord) -> int:
        """Return how many of the kept calls are of the same tool."""
        return self._used.get(call.tool, 0)

    def count(self, call: CallRecord) -> int:
        """Return how often `call` was made, whatever it answered."""
        return self._made.get(call.fingerprint, 0)

    def may_repeat(self, action: Action) -> bool:
        """Tell cheaply whether the newest action may bring what the last call of its tool did."""
        if action.may_repeat is None:
            kept = self.kept
            place = action.alike - kept[0].number
            action.may_repeat = place >= 0 and action.calls[0].may_repeat(kept[place].calls[0])
        return action.may_repeat

    def occurrences(self, call: CallRecord) -> list[tuple[int, CallRecord]]:
        """Return where `call` was made with the same answer, oldest first, one per action;
        a different answer in between ends the search.
        """
        found: list[tuple[int, CallRecord]] = []
        for action in reversed(self.kept):
            same = next(
                (c for c in reversed(action.calls) if c.fingerprint == call.fingerprint), None
            )
            if same is not None and not _teaches_nothing(call, same):
                break
            if same is not None:
                found.append((action.number, same))
        return found[::-1]

    def since(self, number: int) -> Iterator[Action]:
        """Yield the actions from `number` on, latest first."""
        for action in reversed(self.kept):
            if action.number < number:
                return
            yield action


def counted(asked: tuple[CallRecord, ...]) -> tuple[CallRecord, ...]:
    """Return the calls that can be part of a loop: the model's, unless they were cancelled.

    Their order doesn't depend on which of a batch ended first.
    """
    counting = [call for call in asked if call.outcome is not _INTERRUPTED]
    has_twins = len({call.fingerprint for call in counting}) < len(counting)
    return tuple(sorted(counting, key=_order_of_twins if has_twins else _order))


def _order(call: CallRecord) -> tuple[object, ...]:
    # A name decides only between calls of which nothing else differs: another name is no other run.
    profile = call.profile
    is_change, is_look = profile.writes is True, profile.read_only is True
    return call.params_text, call.signature, call.failed, is_change, is_look, call.tool


def _order_of_twins(call: CallRecord) -> tuple[object, ...]:
    # A failure without a word has no signature.
    return call.params_text, call.signature, call.output_fingerprint, call.tool, call.failed


def _is_clock(was: Slot, now: Slot, between: Sequence[CallRecord]) -> bool:
    """Tell whether a number that has grown was told by a call in between on its way: what is done
    moves it, whatever it is.
    """
    if not now.label or not (was.value.isdecimal() and now.value.isdecimal()):
        return False
    told = [slot.value for one in between for slot in one.shape.slots if slot.label == now.label]
    numbers = [int(value) for value in told if value.isdecimal()]
    return any(int(was.value) < number <= int(now.value) for number in numbers)


def _teaches_nothing(call: CallRecord, earlier: CallRecord) -> bool:
    """Tell whether `call` brought nothing after `earlier`: the same, or a note that it is."""
    return call.same_output(earlier) or says_unchanged(call.output)


def _set_of(fingerprints: Iterable[str]) -> str:
    return "+".join(sorted(set(fingerprints)))
