"""Failures of one run, recognised by their signature and counted in turns."""

from __future__ import annotations

import re
from collections.abc import Iterable

import attrs

from trimtab import Outcome
from trimtab.text import LazyPattern
from trimtab.trajectory import MessageRecord
from trimtab_signals import (
    APART,
    CEILING_CALLS,
    CallProjection,
    CallRecord,
    Span,
    TurnRecord,
    comes_back_as_told,
    describe_call,
    failure_episode,
    is_aside,
    is_wait,
    not_yet,
    operation,
    paused,
    same_reason,
    spaced,
    span_of,
    waited_too_long,
    without_input,
)

_INTERRUPTED = Outcome.INTERRUPTED
_FORGOTTEN_AFTER = 12
"""Turns without a failure after which its next one is a new problem."""
_KEPT = 96
"""Problems that are remembered: what a run did not meet again for 96 others is new when it does."""
_TRIES = 4
"""Tries with a wait before each that are excused."""
_TOOLS_NAMED = 8
"""Values of one problem that are kept; a text names the first of them."""
_NUMBER = LazyPattern(r"\d+")
_WORD = LazyPattern(r"[^\W\d_]{3,}")
_CUT_OFF = LazyPattern(r"\b(?:timed? ?out|time limit|out of time|killed|too slow)\b", re.IGNORECASE)
VARIOUS = "various"
_BARE = "bare "


@attrs.define(eq=False, repr=False)
class Failure:
    """One failure that came back.

    Attributes:
        name: stable; names the episode.
        times: turns in which it came.
        last: number of the last such turn.
        tools: which tools reported it, the first 8.
        operations: what was tried; a success of one of them ends it.
        output: the last output, raw and bounded.
        varies: whether the outputs differed.
        call: the last failing call, described as a text names it.
        command: whether that ran a command line.
        spans: when the last of its calls began and ended.
        waiting: whether the agent was waiting each time.
        retries: whether all calls were equal.
        early: whether it said each time that it is too early.
        obeyed: whether the agent waited before each time but the first.
        told: whether each call but the first came when the answer before it said.
        whole: fingerprint of the last output if the call was cut off; else empty.
    """

    name: str
    times: int = 0
    last: int = 0
    tools: list[str] = attrs.field(factory=list)
    operations: list[str] = attrs.field(factory=list)
    output: str = ""
    varies: bool = False
    call: str = ""
    command: bool = False
    spans: list[Span] = attrs.field(factory=list)
    waiting: bool = True
    retries: bool = True
    asked: str = ""
    early: bool = True
    obeyed: bool = True
    told: bool = True
    whole: str = ""

    def excused(self) -> bool:
        """Tell whether every failing call was a wait, or came after one as its answer asked, and
        the wait is not too long yet.
        """
        tries = self.obeyed and 1 < self.times <= _TRIES
        asks = self.early and spaced(self.spans, APART)
        told = self.told and self.times > 1
        waits = self.waiting or tries or asks or told or (self.retries and paused(self.spans))
        return waits and not waited_too_long(self.spans)

    def reset(self) -> None:
        """Reset the count."""
        self.times, self.varies = 0, False
        self.waiting = self.early = self.obeyed = self.told = self.retries = True
        self.spans.clear()

    def happened(self, call: CallRecord, turn: int, *, waited: bool) -> None:
        """Count `call`, at most once per turn."""
        if self.times and turn - self.last > _FORGOTTEN_AFTER:
            self.reset()
        if self.times == 0 or self.last != turn:
            self.times += 1
            self.spans = [*self.spans, span_of(call)][-CEILING_CALLS:]
        self.waiting = self.waiting and is_wait(call)
        if self.times > 1:
            self.retries = self.retries and self.asked == call.fingerprint
            self.told = self.told and self.retries
            if self.told:
                self.told = comes_back_as_told(self.output, *self.spans[-2:])
        self.asked = call.fingerprint
        self.early = self.early and not_yet(call.output)
        self.obeyed = self.obeyed and (waited or self.times == 1)
        self.last = turn
        self.varies = self.varies or (self.times > 1 and self.output != call.output)
        self.output = call.output
        self.call, self.command = describe_call(call), call.command is not None
        self.whole = call.output_fingerprint if _CUT_OFF.search(call.output) else ""
        for kept, item in ((self.tools, call.tool), (self.operations, operation_of(call))):
            if item not in kept and len(kept) < _TOOLS_NAMED:
                kept.append(item)


def operation_of(call: CallRecord) -> str:
    """Return what a call does: its tool, and in a shell its program."""
    return call.tool if call.command is None else f"{call.tool} {operation(call.command)}"


def _keys(call: CallRecord) -> tuple[str, ...]:
    """Return the keys under which a failure is counted: an empty message by its call alone.

    A failure may repeat a value of its call, so it has two forms, with that value and without it:
    two failures are the same if either form is.
    """
    if call.alike:
        return (f"{_BARE}{call.complaint}",)
    alone = f"call {call.fingerprint}"
    if not call.signature:
        return (alone,)
    return (f"any {call.signature}", f"{_BARE}{call.bare_signature or call.signature}", alone)


def _alike(failure: str, other: str) -> bool:
    """Tell whether two failures share half of their words."""
    one = set(_WORD.findall(failure.lower()))
    two = set(_WORD.findall(other.lower()))
    return 2 * len(one & two) >= min(len(one), len(two)) > 0


def _succeeded(call: CallRecord) -> bool:
    done = not (call.failed or call.alike) and call.outcome is not _INTERRUPTED
    return done and not is_aside(call.tool)


@attrs.define(eq=False)
class FailureProjection(CallProjection):
    """Counts the failures of one run that come back.

    There are two counts: of a failure in any call, which a success of the same operation ends,
    and of a failure of one exact call, which a success of that call ends. Other successes end
    neither.

    Attributes:
        turn: turns that count.
        failure: of the last closed turn, the failure that came back most often; else None.
        in_a_row: turns in a row in which everything failed, each time in another way.
        one_reason: those of them that gave the reason of the turn before, and one.
        said: the last complaint.
        shape, tried, form: of the last failing call: its failure without numbers, itself, and its
            command without its input.
        changed, waited: the last turn in which something changed, or waited.
        failures: by key.
    """

    rests = True

    quiet: bool = True
    turn: int = 0
    failure: Failure | None = None
    in_a_row: int = 0
    one_reason: int = 0
    said: str = ""
    shape: str = ""
    tried: str = ""
    form: str = ""
    changed: int = 0
    waited: int = 0
    failures: dict[str, Failure] = attrs.field(factory=dict)

    def turn_closed(self, turn: TurnRecord) -> None:
        """Count the turn's failures, after what its successes end."""
        asked = turn.asked
        if len(asked) == 1 and self.quiet and not self.failures:
            call = asked[0]  # a success while nothing goes wrong: the usual turn
            if not (call.failed or call.alike) and call.outcome is not _INTERRUPTED:
                self.turn += 1
                if self.in_a_row and not is_aside(call.tool):
                    self.in_a_row = self.one_reason = 0
                return
        failing = [call for call in asked if call.failed or call.alike]
        fine = [call for call in asked if _succeeded(call)]
        if failing or fine:
            self.turn += 1
            self.failure = None
            self._note_row(failing, fine)
        if any(not call.reads for call in fine):
            self.changed = self.turn
        if any(is_wait(call) for call in fine):
            self.waited = self.turn
        if fine and self.failures:
            self._end({operation_of(c) for c in fine} - {operation_of(c) for c in failing}, fine)
        if failing:
            self.failure = max(
                self._count(failing), key=lambda failure: (failure.times, failure.name)
            )
        self.quiet = self.failure is None

    def _note_row(self, failing: list[CallRecord], fine: list[CallRecord]) -> None:
        if fine or any(is_wait(call) for call in failing):
            self.in_a_row = self.one_reason = 0
            return
        last = failing[0]
        self.one_reason = self.one_reason + 1 if same_reason(last.output, self.said) else 1
        self.said = last.output
        shape = _NUMBER.sub("0", last.signature or last.complaint)
        # A difference in a number alone may be progress: "3 failed", then "2 failed". So may
        # another failure of the same call: something has changed since. And if a call that only
        # reads fails for another reason each time, or one program refuses one input after the
        # other, each answer says something new.
        form = without_input(last.command) if last.command else ""
        asks = form != "" and form == self.form
        differs = shape != self.shape and last.fingerprint != self.tried
        if differs and not asks and (last.profile.writes or _alike(shape, self.shape)):
            self.in_a_row += 1
        elif differs or self.in_a_row == 0:
            self.in_a_row = 1
        self.shape, self.tried, self.form = shape, last.fingerprint, form

    def _end(self, operations: set[str], fine: Iterable[CallRecord]) -> None:
        for call in fine:
            self.failures.pop(f"call {call.fingerprint}", None)
        for key, failure in tuple(self.failures.items()):
            if not key.startswith("call ") and operations.intersection(failure.operations):
                del self.failures[key]

    def _count(self, failing: Iterable[CallRecord]) -> list[Failure]:
        return [self._counted(key, call) for call in failing for key in _keys(call)]

    def _counted(self, key: str, call: CallRecord) -> Failure:
        failure = self.failures.pop(key, None)
        name = failure_episode(call)
        if failure is None or (failure.name != name and not key.startswith(_BARE)):
            failure = Failure(name)
        # A call that is cut off, and prints something new after a change, got further.
        new = failure.whole and call.output_fingerprint != failure.whole
        if new and self.changed > failure.last:
            failure.reset()
        failure.happened(call, self.turn, waited=self.waited > failure.last)
        if call.alike > failure.times:
            failure.times, failure.varies = call.alike, True
            failure.obeyed = failure.told = False  # other calls are no returns of this one
        self.failures[key] = failure
        if len(self.failures) > _KEPT:
            del self.failures[next(iter(self.failures))]
        return failure

    def user_spoke(self, message: MessageRecord) -> None:
        """Reset all counts: a message of the user begins a new task."""
        if not message.notification:
            self.failure, self.quiet = None, True
            self.in_a_row = self.one_reason = 0
            self.failures.clear()
