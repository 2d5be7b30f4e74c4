"""One sentence that says what to do with what an answer asks for."""

from __future__ import annotations

import math

from trimtab.text import quote
from trimtab_signals._delays import MINUTES, SECONDS_A_MINUTE, unit_of
from trimtab_signals._ways_out import LONGEST_QUOTE, Asked, WayOut


def advice(asked: Asked, tool: str, helper: str = "") -> str:
    """Return a sentence that says what to do with what an answer asks for.

    It begins with the call that is right: a weak model does what a text says first.

    Args:
        asked: what `asked_by` found.
        tool: the name of the tool that answered, ready to be shown.
        helper: that of the tool by which the agent can wait, or ask its user; empty if it has none.
    """
    change = asked.change
    if asked.way is WayOut.LATER:
        return _come_back(asked, tool, helper)
    if asked.way is WayOut.ASK:
        return f"The answer needs a decision of your user: {f'call {helper}' if helper else 'ask'}."
    if change is not None and change.lacks:
        return f"Add {change.call} to the arguments, then call {tool}."
    if change is not None and asked.way is WayOut.ARGUMENTS:
        return f"Call {tool} {change.call}."
    how = "again with other arguments, as its answer says"
    if asked.way is WayOut.PAGE:
        how = change.call if change is not None else f"for {asked.part or 'the next part'}"
    return f"Call {tool} {how}: {quote(asked.said, LONGEST_QUOTE)}."


def _come_back(asked: Asked, tool: str, helper: str) -> str:
    seconds = asked.seconds
    if seconds is None:
        how = f"call {helper}" if helper else "wait or do other work"
        return f"The answer says to come back: {how}, then call {tool} again."
    if not helper:
        return f"The answer says when: wait {seconds:g} seconds, then call {tool} again."
    minutes = math.ceil(seconds / SECONDS_A_MINUTE)
    span = f"{math.ceil(seconds)} seconds"
    unit = asked.unit or unit_of(helper)
    if unit == "minutes":
        span = f"{minutes} minutes" if minutes > 1 else "1 minute"
    elif minutes > 1 and not unit:
        told, other = f"{minutes} minutes", span
        if not MINUTES.search(asked.said):
            told, other = other, told
        span = f"{told} ({other})"
    return f"Call {helper} for {span}, then call {tool} again."
