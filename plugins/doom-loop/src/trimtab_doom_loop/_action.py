"""One turn as the detector compares it: its calls that count, and what they may have changed."""

from __future__ import annotations

from trimtab import Outcome
from trimtab_signals import (
    CallRecord,
    TurnRecord,
    confirms,
    is_wait,
    leaves_running,
    says_unchanged,
)


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


class Action:
    """One turn that counts.

    Attributes:
        number: position in the run.
        kind: equal for two actions that made the same calls and got the same answers: the number
            of the first of them.
        brought: equal for two actions that got the same answers of the same tools.
        earlier: number of the action before that made the same calls, -1 if none was kept.
        alike: number of the action before whose first call was of the same tool; -1 for none.
        calls: its calls that count.
        turn: the whole turn.
        asked: fingerprint of its calls as a set.
        may_repeat: whether its answer may be that of the last call of its tool; None until asked.
        excused: whether it ends rounds that are excused, since what they show may change.
    """

    earlier = -1
    alike = -1
    may_repeat: bool | None = None
    excused = False
    _waits: bool | None = None
    _changes: bool | None = None
    _leaves_running: bool | None = None

    def __init__(
        self, number: int, calls: tuple[CallRecord, ...], turn: TurnRecord, asked: str
    ) -> None:
        self.number = self.kind = self.brought = number
        self.calls = calls
        self.turn = turn
        self.asked = asked

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
    def leaves_running(self) -> bool:
        """Whether any of its calls leaves something running."""
        if self._leaves_running is None:
            self._leaves_running = any(leaves_running(call) for call in self.calls)
        return self._leaves_running

    @property
    def changes(self) -> bool:
        """Whether it may have changed something: it is new, and its tools can change things."""
        if self._changes is None:
            self._changes = self.fresh and any(may_change(call) for call in self.calls)
        return self._changes
