"""Closed turns as detectors see them: batches of calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from trimtab.events import CallOrigin
from trimtab_signals._profiles import ToolProfiles
from trimtab_signals._records import CallRecord, SavedCall

_MODEL = CallOrigin.MODEL


@attrs.define(eq=False, init=False)
class TurnRecord:
    """One closed turn: the calls of one response, an unordered batch.

    Attributes:
        calls: in the order in which they ended, the first 64; without the harness's own.
        number: how many turns were closed before it.
        asked: the calls that the model asked for.
    """

    calls: tuple[CallRecord, ...]
    number: int
    asked: tuple[CallRecord, ...]

    def __init__(self, calls: tuple[CallRecord, ...], number: int) -> None:
        self.calls, self.number = calls, number
        if len(calls) == 1 and calls[0].caller is _MODEL:
            self.asked = calls
        else:
            self.asked = tuple([call for call in calls if call.caller is _MODEL])

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the set of calls asked for, whatever they returned."""
        return "+".join(sorted({call.fingerprint for call in self.asked}))

    def repeats(self, other: TurnRecord) -> bool:
        """Tell whether both turns made the same calls and got the same answers.

        Args:
            other: an earlier turn.
        """
        same_calls = self.fingerprint == other.fingerprint and bool(self.asked)
        return same_calls and same_outputs(other.asked, self.asked)


def same_outputs(earlier: Sequence[CallRecord], later: Sequence[CallRecord]) -> bool:
    """Tell whether two batches of the same calls got the same answers, as sets.

    Args:
        earlier, later: the calls, in any order.
    """
    if len(earlier) == 1 and len(later) == 1:
        return later[0].same_output(earlier[0])
    return _all_found(earlier, later) and _all_found(later, earlier)


def _all_found(these: Iterable[CallRecord], those: Iterable[CallRecord]) -> bool:
    return all(
        any(a.fingerprint == b.fingerprint and a.same_output(b) for b in those) for a in these
    )


@attrs.frozen
class SavedTurn:
    """A `TurnRecord` as a snapshot keeps it.

    Args:
        number, calls: as there.
    """

    number: int
    calls: tuple[SavedCall, ...]

    @classmethod
    def of(cls, turn: TurnRecord) -> SavedTurn:
        """Return what is to be kept of `turn`."""
        return cls(turn.number, tuple([call.state() for call in turn.calls]))

    def restored(self, profiles: ToolProfiles) -> TurnRecord:
        """Return the turn.

        Args:
            profiles: what is known about the tools.
        """
        return TurnRecord(tuple([call.restored(profiles) for call in self.calls]), self.number)
