"""A change that one tool rejects again and again, whoever spoke in between."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.trajectory import CallRecord, says_unchanged
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import alike, answer_key, trouble_key

_FEWER = 1


def _done(call: CallRecord) -> bool:
    """Tell whether a call has changed something."""
    return not call.failed and not says_unchanged(call.output)


class Rejections:
    """Counts near-equal changes that were rejected with one error, until one like them succeeds.

    Where another change by the same tool succeeds in between, the agent works on: rejections
    without one between them are one attempt then.

    A user's message doesn't end the count: "try again" is an answer to the trouble, and no
    change of it. More are needed than without one.

    Args:
        needed: how many are a loop.
        similarity: share (0.0–1.0) from which arguments are near-equal.
    """

    def __init__(self, needed: int, similarity: float) -> None:
        self.last: CallRecord | None = None
        self.count = 0
        self.rounds = 0
        self._needed = needed
        self._similarity = similarity

    def take(self, calls: Sequence[CallRecord]) -> Loop | None:
        """Take the calls of a turn; return the loop that they belong to, if any."""
        for call in calls:
            if call.failed and call.profile.writes:
                self._rejected(call)
                enough = self.count >= self._needed or self.rounds >= self._needed - _FEWER
                return self._loop(call) if enough else None
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
            self.count = self.rounds = 0
        self.rounds += self.count == 0
        self.count += 1
        self.last = call

    def _loop(self, call: CallRecord) -> Loop:
        members = frozenset({call.fingerprint, trouble_key(call)})
        return loop_of(LoopKind.REJECTED, call, times=max(self.count, self.rounds), members=members)
