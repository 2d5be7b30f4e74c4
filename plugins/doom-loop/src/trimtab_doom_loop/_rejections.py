"""A change that one tool rejects again and again, whoever spoke in between."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.trajectory import CallRecord
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import alike, answer_key, trouble_key


class Rejections:
    """Counts near-equal changes that were rejected with one error, until one like them succeeds.

    A user's message doesn't end the count: "try again" is an answer to the trouble, and no
    change of it. More are needed than without one.

    Args:
        needed: how many are a loop.
        similarity: share (0.0–1.0) from which arguments are near-equal.
    """

    def __init__(self, needed: int, similarity: float) -> None:
        self.last: CallRecord | None = None
        self.count = 0
        self._needed = needed
        self._similarity = similarity

    def take(self, calls: Sequence[CallRecord]) -> Loop | None:
        """Take the calls of a turn; return the loop that they belong to, if any."""
        for call in calls:
            if call.failed and call.profile.writes:
                self._rejected(call)
                return self._loop(call) if self.count >= self._needed else None
        last = self.last
        if last is not None and any(self._gets_through(call, last) for call in calls):
            self.last, self.count = None, 0
        return None

    def _gets_through(self, call: CallRecord, last: CallRecord) -> bool:
        """Tell whether a change like the one that was rejected last has succeeded."""
        return call.tool == last.tool and alike((last, call), self._similarity)

    def _rejected(self, call: CallRecord) -> None:
        last = self.last
        again = last is not None and answer_key(last) == answer_key(call)
        if last is not None and again and alike((last, call), self._similarity):
            self.count += 1
        else:
            self.count = 1
        self.last = call

    def _loop(self, call: CallRecord) -> Loop:
        members = frozenset({call.fingerprint, trouble_key(call)})
        return loop_of(LoopKind.REJECTED, call, times=self.count, members=members)
