"""The last actions of a run: what was done, what it brought, and which actions are the same."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence

import attrs

from trimtab import Outcome
from trimtab.trajectory import (
    CallRecord,
    TurnRecord,
    confirms,
    is_wait,
    same_outputs,
    says_unchanged,
)
from trimtab_doom_loop._similarity import answer_key

_INTERRUPTED = Outcome.INTERRUPTED


def counted(turn: TurnRecord) -> tuple[CallRecord, ...]:
    """Return the calls that can be part of a loop: the model's, unless they were cancelled.

    Their order doesn't depend on which of a batch ended first.
    """
    asked = turn.asked
    if len(asked) == 1:
        return () if asked[0].outcome is _INTERRUPTED else asked
    counting = [call for call in asked if call.outcome is not _INTERRUPTED]
    has_twins = len({call.fingerprint for call in counting}) < len(counting)
    return tuple(sorted(counting, key=_order_of_twins if has_twins else _order))


def _order(call: CallRecord) -> tuple[str, str]:
    return call.params_text, call.signature


def _order_of_twins(call: CallRecord) -> tuple[str, str, str]:
    return call.params_text, call.signature, call.output_fingerprint


def waits(call: CallRecord) -> bool:
    """Tell whether a call waits, or moves a screen without showing the effect."""
    return is_wait(call) or moves_unseen(call)


def moves_unseen(call: CallRecord) -> bool:
    """Tell whether a call moves a screen without showing the effect."""
    return call.profile.opaque and not call.failed and confirms(call.output)


def may_change(call: CallRecord) -> bool:
    """Tell whether a call may have changed what later calls return, and does not deny it."""
    done = not call.failed and call.outcome is Outcome.OK
    return done and not call.reads and not says_unchanged(call.output)


@attrs.define(eq=False, repr=False)
class Action:
    """One turn that counts.

    Attributes:
        number: position in the run.
        kind: equal for two actions that made the same calls and got the same answers: the number
            of the first of them.
        brought: equal for two actions that got the same answers of the same tools.
        calls: its calls that count.
        turn: the whole turn.
        asked: fingerprint of its calls as a set.
        answers: fingerprint of their answers as a set.
    """

    number: int
    kind: int
    brought: int
    calls: tuple[CallRecord, ...]
    turn: TurnRecord
    asked: str
    answers: str
    _waits: bool | None = None
    _changes: bool | None = None

    @property
    def fresh(self) -> bool:
        """Whether no earlier action that was kept was of its kind."""
        return self.kind == self.number

    @property
    def news(self) -> bool:
        """Whether no earlier action that was kept got these answers."""
        return self.brought == self.number

    @property
    def waits(self) -> bool:
        """Whether any of its calls waits."""
        if self._waits is None:
            self._waits = any(waits(call) for call in self.calls)
        return self._waits

    @property
    def changes(self) -> bool:
        """Whether it may have changed something: it is new, and its tools can change things."""
        if self._changes is None:
            self._changes = self.fresh and any(may_change(call) for call in self.calls)
        return self._changes


_Index = dict[str, Action | list[Action]]
"""Actions by what they have in common; one alone stands for itself."""


class Actions:
    """The last actions since something outside of the run interfered.

    Args:
        keep: how many are kept.

    Attributes:
        kept: the actions, oldest first.
        newest_is_news: whether the last is a single call, and neither it nor its answer was there.
    """

    def __init__(self, keep: int) -> None:
        self.kept: deque[Action] = deque()
        self.newest_is_news = False
        self._keep = keep
        self._number = 0
        self._answers: _Index = {}
        self._kinds: _Index = {}
        self._tools: _Index = {}
        # Calls of batches that the lists above, with one entry per action, do not count.
        self._more_calls: Counter[str] = Counter()
        self._more_tools: Counter[str] = Counter()

    def clear(self) -> None:
        """Forget all: the user acted, or asked for something new."""
        self.kept.clear()
        self._answers.clear()
        self._kinds.clear()
        self._tools.clear()
        self._more_calls.clear()
        self._more_tools.clear()

    def add(self, turn: TurnRecord) -> Action | None:
        """Add a turn and return its action; None if no call in it counts."""
        calls = counted(turn)
        if not calls:
            return None
        number, call = self._number, calls[0]
        self._number = number + 1
        if len(calls) == 1:
            asked, answers = call.fingerprint, answer_key(call)
        else:
            asked = _set_of(call.fingerprint for call in calls)
            answers = _set_of(map(answer_key, calls))
        action = Action(number, number, number, calls, turn, asked, answers)
        # Nearly all calls and answers are new: these take one look-up each.
        known = self._kinds.setdefault(asked, action)
        if known is not action:
            action.kind = _kind_among(_all(known), calls, number)
            _add(self._kinds, asked, action)
        same = self._answers.setdefault(answers, action)
        if same is not action:
            action.brought = _all(same)[0].brought
            _add(self._answers, answers, action)
        if self._tools.setdefault(call.tool, action) is not action:
            _add(self._tools, call.tool, action)
        kept = self.kept
        kept.append(action)
        if len(kept) > self._keep:
            self._forget(kept.popleft())
        if len(calls) > 1:
            self._count_batch(action, 1)
            self.newest_is_news = False
        else:
            self.newest_is_news = known is same is action and asked not in self._more_calls
        return action

    def _forget(self, action: Action) -> None:
        if self._kinds[action.asked] is action:
            del self._kinds[action.asked]
        else:
            _drop_oldest(self._kinds, action.asked)
        if self._answers[action.answers] is action:
            del self._answers[action.answers]
        else:
            _drop_oldest(self._answers, action.answers)
        _drop_oldest(self._tools, action.calls[0].tool)
        if len(action.calls) > 1:
            self._count_batch(action, -1)

    def _count_batch(self, action: Action, by: int) -> None:
        """Count the calls of a batch, except those that its entry in a list counts."""
        one = action.calls[0]
        counts = Counter(call.fingerprint for call in action.calls)
        if len(counts) == 1:  # its entry in `_kinds` counts one
            counts[one.fingerprint] -= 1
        tools = Counter(call.tool for call in action.calls)
        tools[one.tool] -= 1
        for total, part in ((self._more_calls, counts), (self._more_tools, tools)):
            for key, count in part.items():
                total[key] += by * count
                if not total[key]:
                    del total[key]

    def alike_in_tool(self, call: CallRecord) -> Iterator[Action]:
        """Yield the actions whose first call is of the same tool, latest first."""
        return reversed(_all(self._tools.get(call.tool)))

    def tool_count(self, tool: str) -> int:
        """Return how many of the kept calls are of `tool`."""
        return len(_all(self._tools.get(tool))) + self._more_tools.get(tool, 0)

    def count(self, call: CallRecord) -> int:
        """Return how often `call` was made, whatever it answered."""
        fingerprint = call.fingerprint
        return len(_all(self._kinds.get(fingerprint))) + self._more_calls.get(fingerprint, 0)

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


def _teaches_nothing(call: CallRecord, earlier: CallRecord) -> bool:
    """Tell whether `call` brought nothing after `earlier`: the same, or a note that it is."""
    return (
        call.same_output(earlier) or says_unchanged(call.output) or says_unchanged(earlier.output)
    )


def _all(found: Action | list[Action] | None) -> Sequence[Action]:
    """Return the actions that an index holds under one key, oldest first."""
    if isinstance(found, list):
        return found
    return () if found is None else (found,)


def _add(index: _Index, key: str, action: Action) -> None:
    found = index[key]
    if isinstance(found, list):
        found.append(action)
    else:
        index[key] = [found, action]


def _drop_oldest(index: _Index, key: str) -> None:
    found = index[key]
    if isinstance(found, list) and len(found) > 1:
        del found[0]
    else:
        del index[key]


def _kind_among(known: Iterable[Action], calls: tuple[CallRecord, ...], number: int) -> int:
    for action in known:
        if same_outputs(action.calls, calls):
            return action.kind
    return number


def _set_of(fingerprints: Iterable[str]) -> str:
    return "+".join(sorted(set(fingerprints)))
