"""Readings aside: what an agent reads in between, which hides a loop."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.text import LazyPattern
from trimtab_doom_loop._actions import Action
from trimtab_signals import TurnRecord

LOOKED_BACK = 32
"""Actions among which it is looked for readings: as many again as the longest round has."""
_BETWEEN_READINGS = 3
"""A reading aside comes after so many actions at least: where more is read between actions, these
may rest on it."""
_WORD = LazyPattern(r"[^\W_]{4,}")


def without_readings(actions: Sequence[Action]) -> list[TurnRecord]:
    """Return the turns of actions without what was read aside, none if nothing was: only those
    since a reading that turned out to be none, for work rests on it.
    """
    left: list[TurnRecord] = []
    before, read, apart, has_read = actions[0], "", _BETWEEN_READINGS, False
    for action in actions:
        if left and apart >= _BETWEEN_READINGS and _is_reading(action, before):
            apart, read, has_read = 0, action.calls[0].output, True
            continue
        if read and _rests_on(action, read, before):
            left, read = [], ""
        left.append(action.turn)
        before, apart = action, apart + 1
    return left if has_read else []


def _rests_on(action: Action, read: str, before: Action) -> bool:
    """Tell whether an action names what was read, and the one before did not."""
    asked = {word for call in action.calls for word in _WORD.findall(call.params_text)}
    asked.difference_update(*(_WORD.findall(call.params_text) for call in before.calls))
    return not asked.isdisjoint(_WORD.findall(read))


def _is_reading(action: Action, other: Action) -> bool:
    """Tell whether an action only read something else that is new, and no tool of `other` did."""
    call = action.calls[0]
    if len(action.calls) > 1 or not action.news or action.earlier >= 0:
        return False
    if call.tool == other.calls[0].tool:
        return False
    return call.reads and not call.failed and not action.waits
