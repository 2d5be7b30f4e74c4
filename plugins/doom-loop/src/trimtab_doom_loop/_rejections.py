"""Changes that are rejected again and again with one error."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import alike, answer_key, stable_answer_key
from trimtab_signals import CallRecord, is_aside, not_yet, paused, says_unchanged, span_of

_MORE = 2
"""Near-equal changes are attempts, of which some fail."""
_PAUSES = 3
"""Calls between which two pauses lie, the least that can be seen to grow."""


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
        needed = self.times + _MORE
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
