"""Failures that nothing flags: calls with different arguments that are told the same.

A harness that flags no failure leaves what a tool says. The words may be of any language, so what
counts is the run: one short text for several calls, which came to nothing each time. Words and
codes of failure lower the number that is needed; so does it if the calls do different things, for
these have nothing in common but what keeps them from it.
"""

from __future__ import annotations

from collections.abc import Iterable

from trimtab import Outcome
from trimtab.text import LazyPattern
from trimtab_signals._answers import confirms, finds_nothing, in_progress
from trimtab_signals._failure_lines import sounds_like_failure
from trimtab_signals._failures import error_signature
from trimtab_signals._profiles import is_aside
from trimtab_signals._records import CallRecord
from trimtab_signals._shell import operation

_LONGEST = 200
"""Characters of an answer that complains and says nothing else; so many are kept of each."""
_TAIL = 8
"""Characters at the end of answers that may be one complaint: a glance costs next to nothing."""
_SHORTEST = 12
"""Characters that say what is wrong; less is a value, or a word that all goes well."""
_ALIKE = 3
"""Turns and calls after which a complaint is a failure."""
LOOKED_AT = 24
"""Calls that are looked back at: a complaint returns soon."""
# Of HTTP and of JSON-RPC.
_CODE = LazyPattern(r"(?<![\w.:-])[45]\d\d(?=\s|[:,;)\]]|$)|(?<!\w)-32\d{3}\b")


def tail_of(call: CallRecord) -> str:
    """Return how a call's answer ends if it may be a complaint; else an empty text.

    Args:
        call: the call.
    """
    if call.failed or not _SHORTEST <= call.size <= _LONGEST or call.outcome is not Outcome.OK:
        return ""
    said = call.output
    return "" if said[0] in "{[" else said[-_TAIL:]


def alike(call: CallRecord, before: Iterable[CallRecord]) -> tuple[int, str]:
    """Return in how many turns calls with other arguments were told what this one was, if that is
    a failure, and its signature; else 0.

    A success of the same operation ends the count. Different operations that are told the very same
    have nothing in common but what keeps them from it.

    Args:
        call: the call, whose answer may be a complaint.
        before: the calls before it, the latest first.
    """
    said, tail, does = call.output, tail_of(call), _operation(call)
    coded = _CODE.search(said) is not None
    done = confirms(said) or confirms(said.partition(",")[0])  # done, with a remark
    if is_aside(call.tool) or call.waits or (done and not coded) or finds_nothing(said):
        return 0, ""
    signature = _signature(call)
    turns, calls, operations = {call.turn}, {call.fingerprint}, {does}
    exact = True
    for other in before:
        if said == other.output or (tail_of(other) == tail and _signature(other) == signature):
            turns.add(other.turn)
            calls.add(other.fingerprint)
            exact = exact and said == other.output
            if said == other.output or call.tool != other.tool:
                operations.add(_operation(other))
        elif not other.failed and _operation(other) == does:
            break
    if min(len(calls), len(turns)) < _ALIKE or in_progress(said):
        return 0, ""
    # To look and to find nothing, or what is wrong elsewhere, is what readers are for. A tool of
    # which nothing is known may be one, if it says something else each time.
    known = exact or call.command is not None or call.profile.writes
    hinted = coded or (known and not call.reads and sounds_like_failure(said))
    return (len(turns), signature) if hinted or len(operations) > 1 else (0, "")


def _signature(call: CallRecord) -> str:
    """Return what a call was told, without what names it and its arguments."""
    params = [call.params_text, call.tool]
    return "\n".join(error_signature(line, params) for line in call.output.splitlines())


def _operation(call: CallRecord) -> str:
    return call.tool if call.command is None else f"{call.tool} {operation(call.command)}"
