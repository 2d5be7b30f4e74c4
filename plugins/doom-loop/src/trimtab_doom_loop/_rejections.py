"""Changes that are rejected again and again with one error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile

from trimtab_doom_loop._actions import Action, Actions
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import alike, answer_key, stable_answer_key
from trimtab_signals import CallRecord, is_aside, is_wait, not_yet, paused, says_unchanged, span_of

_FEWER = 1
"""A round of looks and a rejected change costs several calls: one round less is enough."""
_ROUND = 2
"""Rejections after which a look is made again for their sake; a single one may be a slip."""


def find_rejected(actions: Actions, times: int, similarity: float) -> Loop | None:
    """Find a change that is rejected again and again with the same error: an equal one `times`
    times whatever was done in between, a near-equal one once more and with nothing new in between.
    """
    for call in actions.kept[-1].calls:
        if call.failed and call.profile.writes and not _obeys(actions, call, times):
            count = _count_rejections(actions, call, times, similarity)
            if count >= times:
                members = frozenset({call.fingerprint, stable_answer_key(call)})
                return loop_of(
                    LoopKind.REJECTED, call, times=count, members=members, confidence=0.85
                )
    return None


def _obeys(actions: Actions, call: CallRecord, times: int) -> bool:
    """Tell whether the agent waits before it makes a call again that was told to come later, or
    lets the pauses grow.
    """
    if backs_off(actions, call, times):
        return True
    if not is_wait(call) and not not_yet(call.output):
        return False
    tries = _tries(actions, call)
    waited = [action.number for action in actions.kept if action.waits and action not in tries]
    return len(tries) > 1 and all(
        any(earlier.number < number < later.number for number in waited)
        for earlier, later in pairwise(tries[-times:])
    )


def backs_off(actions: Actions, call: CallRecord, times: int) -> bool:
    """Tell whether the pauses before the last tries of `call` grow, and are pauses: nothing else
    was done in them.
    """
    tries = _tries(actions, call)[-times:]
    if not paused([span_of(action.calls[-1]) for action in tries]):
        return False
    between = (one for one in actions.since(tries[0].number) if one not in tries)
    return all(one.waits or all(is_aside(c.tool) for c in one.calls) for one in between)


def _tries(actions: Actions, call: CallRecord) -> list[Action]:
    return [a for a in actions.kept if any(c.fingerprint == call.fingerprint for c in a.calls)]


def _count_rejections(actions: Actions, call: CallRecord, times: int, similarity: float) -> int:
    lately = list(actions.since(actions.kept[-1].number - 3 * times + 1))
    again = sum(_rejected_again(action, call) for action in lately) >= times
    if not again:
        tried = _rejected_alike(lately, call)[: times + 1]
        if len(tried) <= times or not alike(tried, similarity):
            return 0
    equal = sum(_rejected_again(action, call) for action in actions.kept)
    tried = _rejected_alike(tuple(reversed(actions.kept)), call)
    near = 1 + sum(1 for _ in takewhile(lambda two: alike(two, similarity), pairwise(tried)))
    return max(equal, near)


def _rejected_again(action: Action, call: CallRecord) -> bool:
    return any(
        c.fingerprint == call.fingerprint and c.signature == call.signature for c in action.calls
    )


def _rejected_alike(latest_first: Sequence[Action], call: CallRecord) -> list[CallRecord]:
    """Return the rejections like `call` since something new was learnt."""
    tried: list[CallRecord] = []
    for action in latest_first:
        same = [c for c in action.calls if c.tool == call.tool and c.signature == call.signature]
        if not same and action.fresh and any(c.size for c in action.calls):
            break
        tried += same[:1]  # a batch is one attempt
    return tried


def _done(call: CallRecord) -> bool:
    """Tell whether a call has changed something."""
    return not call.failed and not says_unchanged(call.output)


class Rejections:
    """Counts near-equal changes that were rejected with one error, until one like them succeeds.

    If another change by the same tool succeeds in between, the agent makes progress: rejections
    without such a change between them then count as one attempt.

    A user's message doesn't end the count: "try again" does not change the error.

    Args:
        needed: how many are a loop.
        similarity: share (0.0–1.0) from which arguments are near-equal.
    """

    def __init__(self, needed: int, similarity: float) -> None:
        self.last: CallRecord | None = None
        self.count = 0
        self.rounds = 0
        self.total = 0
        self._needed = needed
        self._similarity = similarity

    def take(self, calls: Sequence[CallRecord]) -> Loop | None:
        """Take the calls of a turn; return the loop that they belong to, if any."""
        for call in calls:
            if call.failed and call.profile.writes:
                self._rejected(call)
                enough = self.count >= self._needed or self.rounds >= self._needed - _FEWER
                return self.loop_of(call) if enough else None
        for call in calls:
            if self.last is not None and call.tool == self.last.tool and _done(call):
                self._works_on(call, self.last)
        return None

    def _works_on(self, call: CallRecord, last: CallRecord) -> None:
        if alike((last, call), self._similarity):
            self.last, self.rounds = None, 0
        self.count = 0

    def _rejected(self, call: CallRecord) -> None:
        last = self.last
        again = last is not None and answer_key(last) == answer_key(call)
        if last is None or not again or not alike((last, call), self._similarity):
            self.count = self.rounds = self.total = 0
        self.rounds += self.count == 0
        self.count += 1
        self.total += 1
        self.last = call

    def lies_between(self, action: Action, earlier: Iterable[Action], look: CallRecord) -> bool:
        """Tell whether the last rejected change stands beside `look` or after its last repeat.

        Args:
            action: the action of `look`.
            earlier: the actions before, latest first.
            look: a call that changes nothing.
        """
        if self.last is None or self.total < _ROUND:
            return False
        key = answer_key(self.last)
        for one in (action, *earlier):
            if any(call.failed and answer_key(call) == key for call in one.calls):
                return True
            if one is not action and any(c.fingerprint == look.fingerprint for c in one.calls):
                return False
        return False

    def loop_of(self, call: CallRecord) -> Loop:
        """Return the loop of rejections that `call` belongs to."""
        members = frozenset({call.fingerprint, stable_answer_key(call)})
        return loop_of(LoopKind.REJECTED, call, times=self.total, members=members)
