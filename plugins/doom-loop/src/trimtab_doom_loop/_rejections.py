"""Changes that are rejected again and again with one error."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._similarity import alike, answer_key, stable_answer_key
from trimtab_signals import (
    CallRecord,
    SavedCall,
    Span,
    ToolProfiles,
    is_aside,
    not_yet,
    paused,
    says_unchanged,
    span_of,
)

_MORE = 2
_MORE_ROUNDS = 1
"""Near-equal changes are attempts, of which some fail; a round of looks and a rejected change costs
several calls, so that one round less is enough."""
_SPANS = 3
"""Two pauses lie between them, the least that can be seen to grow."""


@attrs.frozen
class SavedRejections:
    """`Rejections` as a snapshot keeps them."""

    last: SavedCall | None
    count: int
    rounds: int
    total: int
    equal: int
    spans: tuple[Span, ...]


@attrs.define(eq=False)
class Rejections:
    """Counts near-equal changes that were rejected with one error, until one like them succeeds.

    If another change by the same tool succeeds in between, the agent makes progress: rejections
    without such a change between them then count as one attempt.

    A user's message doesn't end the count: "try again" does not change the error.

    Args:
        times: how many equal ones are a loop; of near-equal ones it takes two more.
        similarity: share (0.0–1.0) from which arguments are near-equal.
    """

    times: int
    similarity: float
    last: CallRecord | None = None
    count: int = 0
    rounds: int = 0
    total: int = 0
    equal: int = 0
    _spans: list[Span] = attrs.field(factory=list, init=False)

    def take(self, calls: Sequence[CallRecord]) -> Loop | None:
        """Take the calls of a turn; return the loop that they belong to, if any."""
        for call in calls:
            if call.failed and call.profile.writes:
                return self._rejected(call)
        last = self.last
        if last is None:
            return None
        if not all(is_aside(call.tool) for call in calls):
            self._spans.clear()  # what lies between is no pause
        for call in calls:
            if call.tool == last.tool and not says_unchanged(call.output):
                if alike((last, call), self.similarity):
                    self.last, self.rounds = None, 0
                self.count = 0
        return None

    def _rejected(self, call: CallRecord) -> Loop | None:
        last = self.last
        again = last is not None and answer_key(last) == answer_key(call)
        if last is None or not again or not alike((last, call), self.similarity):
            self.count = self.rounds = self.total = self.equal = 0
            self._spans.clear()
        self.rounds += self.count == 0
        self.count += 1
        self.total += 1
        is_equal = last is not None and last.fingerprint == call.fingerprint
        self.equal = self.equal + 1 if is_equal else 1
        self.last = call
        self._spans = [*self._spans, span_of(call)][-_SPANS:]
        near = self.count - _MORE >= self.times or self.rounds - _MORE_ROUNDS >= self.times
        if not (near or self.equal >= self.times) or paused(self._spans) or not_yet(call.output):
            return None
        members = frozenset({call.fingerprint, stable_answer_key(call)})
        return loop_of(LoopKind.REJECTED, call, times=self.total, members=members)

    def state(self) -> SavedRejections:
        """Return everything."""
        last = self.last.state() if self.last else None
        counts = self.count, self.rounds, self.total, self.equal
        return SavedRejections(last, *counts, spans=tuple(self._spans))

    def load_state(self, state: SavedRejections, profiles: ToolProfiles) -> None:
        """Take back what `state` returned."""
        self.last = state.last.restored(profiles) if state.last else None
        self.count, self.rounds = state.count, state.rounds
        self.total, self.equal = state.total, state.equal
        self._spans = list(state.spans)
