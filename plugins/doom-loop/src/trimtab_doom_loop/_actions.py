"""One turn as the detector compares it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from trimtab import Outcome
from trimtab.text import LazyPattern
from trimtab_signals import (
    CallRecord,
    Slot,
    TurnRecord,
    confirms,
    is_wait,
    says_unchanged,
)

_VALUE = LazyPattern(r"\d+(?:\.\d+)?")
HANDLE = LazyPattern(r"(?<![\w-])[\w-]*\d[\w-]*")
_NAME = LazyPattern(r"(?<![\w./-])(?=[\d./-]*[^\W\d])[\w./-]*\d(?:[\w./-]*\w)?")
TEXT = LazyPattern(r"\"([^\"]{3,})\"")
_ANY_WORD = LazyPattern(r"[^\W\d_]{2,}|\d+")
_SENTENCE = 20
"""Characters from which a value with a blank, or in another script, is a text and no name: what
such a call does again is said again, and no state is asked for."""


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


def is_change(call: CallRecord) -> bool:
    """Tell whether a call has changed something, by its tool."""
    return bool(call.profile.writes) and not call.failed


def writes_text(call: CallRecord) -> bool:
    """Tell whether a call that may change something has a text in its arguments."""
    return bool(texts_of(call))


def texts_of(call: CallRecord) -> list[str]:
    """Return the texts in the arguments of a call that may change something."""
    if call.reads or call.command is not None:
        return []
    values = (value for value in TEXT.findall(call.params_text) if len(value) >= _SENTENCE)
    return [value for value in values if " " in value or not value.isascii()]


def hands_on(shown: CallRecord, call: CallRecord) -> bool:
    """Tell whether a call takes a name from the answer before: one with a digit in it, or one of
    several.
    """
    names = _NAME.findall(call.params_text)
    return not set(_NAME.findall(shown.output)).isdisjoint(names) or bool(taken_up(shown, [call]))


class Seen(NamedTuple):
    """Words of an answer and of what got it."""

    said: frozenset[str]
    asked: frozenset[str]


def words_of(text: str) -> frozenset[str]:
    """Return the words and numbers of a text."""
    return frozenset(_ANY_WORD.findall(text.lower()))


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
        answers: the keys of its answers as a set.
        may_repeat: whether its answer may be that of the last call of its tool; None until asked.
        excused: whether it ends rounds that are excused, since what they show may change.
        steps: by how much the numbers in its answer have grown since the call before that told the
            like, and how often they have grown so.
        like: number of the action of that call, -1 for none.
    """

    steps: tuple[float, ...] = ()
    grown = 0
    like = -1

    earlier = -1
    alike = -1
    may_repeat: bool | None = None
    excused = False
    _waits: bool | None = None
    _changes: bool | None = None

    _seen: Seen | None = None

    def __init__(
        self,
        number: int,
        calls: tuple[CallRecord, ...],
        turn: TurnRecord,
        asked: str,
        answers: str,
    ) -> None:
        self.number = self.kind = self.brought = number
        self.calls = calls
        self.turn = turn
        self.asked = asked
        self.answers = answers

    @property
    def fresh(self) -> bool:
        """Whether no earlier action that was kept was of its kind."""
        return self.kind == self.number

    @property
    def news(self) -> bool:
        """Whether no earlier action that was kept got these answers."""
        return self.brought == self.number

    @property
    def seen(self) -> Seen:
        """The words of its first answer and of the arguments that got it."""
        if self._seen is None:
            call = self.calls[0]
            self._seen = Seen(words_of(call.output), words_of(call.params_text))
        return self._seen

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


def taken_up(shown: CallRecord, later: Sequence[CallRecord]) -> set[tuple[str, ...]]:
    """Return the labels of what an answer shows several of, one of which a later call takes up:
    names of things, none of which went away.
    """
    labels = Counter(slot.label[-1:] for slot in shown.shape.slots)
    return {
        slot.label[-1:]
        for slot in shown.shape.slots
        if labels[slot.label[-1:]] > 1 and slot.label and any(holds(one, slot) for one in later)
    }


def holds(call: CallRecord, slot: Slot) -> bool:
    """Tell whether the arguments of a call hold a value of its answer."""
    if len(slot.value) > 1:
        return slot.value in _VALUE.findall(call.params_text)
    return bool(slot.label) and f"{slot.label[-1]}={slot.value}" in call.params_text
