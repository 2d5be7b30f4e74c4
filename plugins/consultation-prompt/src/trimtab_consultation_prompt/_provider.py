"""The provider: suggests to consult another agent when different attempts at a problem fail."""

from __future__ import annotations

import re
from typing import Literal

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    Episode,
    GuidanceContext,
    GuidanceInjection,
    RunContext,
    whole_number,
)
from trimtab.events import CallOrigin
from trimtab.text import LazyPattern, quote, shorten, text_option
from trimtab.trajectory import Following, MessageRecord
from trimtab_signals import (
    CallProjection,
    CallRecord,
    TurnRecord,
    digest,
    is_wait,
    operation,
    without_input,
)

MOST_ATTEMPTS = 64
_MENDED_KEPT = 2_000
LAPSE = 6
"""An attempt ends after so many turns without a failure."""

_LEFT = LazyPattern(
    r"\b(\d+) (?:\w+ )?(?:errors?|failed|failing|failures?|issues?|problems?)\b", re.IGNORECASE
)
_QUOTED = LazyPattern("['\"`]")
_WORD = LazyPattern(r"\w{2,}")


def is_tool(name: str, wanted: str) -> bool:
    """Return whether `name` is the tool `wanted`, with or without the prefix of a server."""
    return name == wanted or name.endswith(f"__{wanted}")


@attrs.define
class Attempt:
    """One way that was tried, and failed.

    Args:
        kind: the tool, or the program in a shell.
        signature: what identifies the failure, whatever number of errors it states.
        output: the key line of the failure.
        left: how many errors it states, 0 if it states none.
        times: how often it failed.
        fine: turns without a failure since.
    """

    kind: str
    signature: str
    output: str
    left: int
    times: int = 1
    fine: int = 0


@attrs.define(eq=False)
class Attempts(CallProjection):
    """The attempts of one run that failed and are not repaired.

    An attempt is a turn with a failure: what failed, with what was changed since the failure
    before. A failure that comes back after no change, or after a change that was tried before, is
    the same attempt; ten calls that fail in one turn are one. A failure is repaired when the same
    operation succeeds, or fails in another way after a change; one that differs in a word only is
    the same unless it names another thing, in quotes, or the change names the word. A failure with
    fewer errors than the one before is progress as well. If one program refuses one input after
    the other, each answer says something new: only the first is an attempt. A consultation and a
    new request of the user end all attempts.

    Attributes:
        consulted_at: number of the turn of the last consultation, None before the first.
        turn: number of the last closed turn.

    Args:
        tool: the tool of consultation.
    """

    rests = True  # class-wide: only a failure ends the quiet

    _tool: str
    quiet: bool = True
    turn: int = -1
    consulted_at: int | None = None
    _attempts: dict[str, Attempt] = attrs.field(factory=dict)
    _changes: str = ""  # a digest of what was changed since the last failure
    _mended: str = ""  # what these changes name
    _form: str = ""  # the last command that failed, without what it gives to a program
    _told: str = ""  # and what came of it

    @property
    def count(self) -> int:
        """How many different attempts have failed; at most 64 are counted."""
        return len(self._attempts)

    @property
    def failures(self) -> int:
        """How many turns have failed, repeated attempts included."""
        return sum(attempt.times for attempt in self._attempts.values())

    @property
    def output(self) -> str:
        """The key line of the last failure, raw and bounded."""
        return next(reversed(self._attempts.values())).output if self._attempts else ""

    def turn_closed(self, turn: TurnRecord) -> None:
        """Take a whole batch."""
        self.turn = turn.number
        # A consultation by any caller, with any outcome.
        if any(is_tool(call.tool, self._tool) for call in turn.calls):
            self.consulted_at = self.turn
            self._forget()
        asked = [call for call in turn.calls if call.caller is CallOrigin.MODEL]
        failures = [call for call in asked if self._counts(call) and not self._tells(call)]
        wrong = {_kind(call) for call in failures}
        for call in asked:
            if not call.failed:
                self._succeeded(call, wrong)
        if failures:
            self._note(failures[0], "+".join(sorted({call.fingerprint for call in failures})))
        else:
            self._lapse()
        self.quiet = not self._attempts

    def user_spoke(self, message: MessageRecord) -> None:
        """Reset everything: a new request is a new piece of work."""
        if not message.notification:
            self._forget()

    def _counts(self, call: CallRecord) -> bool:
        return call.failed and not is_wait(call) and not is_tool(call.tool, self._tool)

    def _tells(self, call: CallRecord) -> bool:
        """Tell whether a failure is the answer of the program that failed last to other input."""
        form, told = self._form, self._told
        self._form = without_input(call.command) if call.command else ""
        self._told = call.output
        return form != "" and form == self._form and told != call.output

    def _succeeded(self, call: CallRecord, wrong: set[str]) -> None:
        if self._attempts and (kind := _kind(call)) not in wrong:
            self._drop(kind)
        if not call.reads:
            self._changes = digest(self._changes + call.fingerprint)
            self._mended = f"{self._mended} {call.params_text}"[-_MENDED_KEPT:]

    def _lapse(self) -> None:
        for key, attempt in tuple(self._attempts.items()):
            attempt.fine += 1
            if attempt.fine > LAPSE:
                del self._attempts[key]

    def _drop(self, kind: str, signature: str = "") -> None:
        """Forget the attempts of an operation, but for those that failed as `signature` tells."""
        for key, attempt in tuple(self._attempts.items()):
            stays = signature and _stays(attempt, signature, self._mended)
            if attempt.kind == kind and not stays:
                del self._attempts[key]

    def _note(self, call: CallRecord, calls: str) -> None:
        key, kind = digest(calls + self._changes), _kind(call)
        signature = _LEFT.sub("#", call.signature)
        if self._changes:
            self._drop(kind, signature)
        self._changes = self._mended = ""
        found = _LEFT.search(call.output)
        left = int(found[1]) if found else 0
        if left and any(left < one.left for one in self._attempts.values() if one.kind == kind):
            self._drop(kind)
        known = self._attempts.pop(key, None)
        for attempt in self._attempts.values():
            attempt.fine *= attempt.kind != kind
        if known is not None:
            self._attempts[key] = attrs.evolve(known, times=known.times + 1, fine=0)
        elif len(self._attempts) < MOST_ATTEMPTS:
            self._attempts[key] = Attempt(kind, signature, call.output, left)

    def _forget(self) -> None:
        self._attempts, self.quiet = {}, True
        self._changes = self._mended = ""


def _stays(attempt: Attempt, signature: str, mended: str) -> bool:
    """Tell whether a failure is the one of an earlier attempt: three quarters of the words are the
    same, and those that are not are no names in quotes, and were not changed since.
    """
    if attempt.signature == signature:
        return True
    before, now = set(attempt.signature.split()), set(signature.split())
    gone = before - now
    if 4 * len(before & now) < 3 * max(len(before), len(now)) or _QUOTED.search(" ".join(gone)):
        return False
    words = {word for text in gone for word in _WORD.findall(text)}
    return not any(word in mended for word in words)


def _kind(call: CallRecord) -> str:
    """Return the operation that must succeed to count as progress: the tool, or its program."""
    return call.tool if call.command is None else f"{call.tool} {operation(call.command)}"


NAME = "consultation-prompt"
PAUSE = 5
"""Turns of silence after a consultation, and after a round of its own."""

REPEATS = 2
"""Repeated attempts count half: so many times the threshold of failures is enough too."""

NUDGES = 2
"""So many nudges about a loop that goes on lead to a consultation."""

LONGEST_TEXT = 500
"""As long as a nudge may be, so that no text of a user is cut."""
LONGEST_NAME = 64
"""What the services allow for the name of a tool."""
MESSAGE = (
    "{seen} Do not try a further variation now: {ask} Say what you tried, and what each attempt"
    " showed."
)
SEED = (
    "Multiple attempts unsuccessful. Consider using {tool} to get fresh perspective from"
    " specialized agent."
)
"""The specification's sentence, ``wording = "seed"``."""

_LONGEST_QUOTE = 80
"""A quote shows which answer is meant; the agent has the whole of it."""


_COUNT = whole_number(1)


@attrs.frozen
class Found:
    """The reason for a consultation in words, what failed last, and how many attempts failed."""

    seen: str
    output: str
    count: int


@attrs.frozen
class ConsultationPromptProvider(Following[Attempts]):
    """Suggests to consult another agent when local attempts fail.

    It speaks when `failure_threshold` different attempts have failed, or twice as many of which
    some are the same, or when a loop goes on after two nudges in the category `loop_category`. It
    never names a tool that the agent is known not to have, and is silent for five turns
    after the agent has consulted someone, and after a round of its own.

    Args:
        failure_threshold: failed attempts before suggesting; each further round needs as many
            again.
        consultation_tool: the tool to suggest.
        max_rounds: times it speaks in one run.
        loop_category: category of the guidance about loops.
        message: what the agent reads, with ``{seen}``, ``{ask}`` (the sentence on whom to ask),
            ``{tool}``, ``{count}`` and ``{evidence}`` (what failed last).
        wording: ``"seed"`` for the specification's sentence, word for word.

    Raises:
        ValueError: an option is out of its bounds.
    """

    failure_threshold: int = attrs.field(default=5, validator=_COUNT)
    consultation_tool: str = attrs.field(
        default="request_review",
        validator=text_option(LONGEST_NAME),
    )
    max_rounds: int = attrs.field(default=2, kw_only=True, validator=_COUNT)
    loop_category: str = attrs.field(
        default="loop", kw_only=True, validator=text_option(LONGEST_NAME)
    )
    message: str = attrs.field(
        default=MESSAGE,
        kw_only=True,
        validator=text_option(LONGEST_TEXT, tool="", seen="", count=0, ask="", evidence=""),
    )
    wording: Literal["", "seed"] = attrs.field(default="", kw_only=True)

    name = NAME
    category = "consultation"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION,)

    def projection(self, context: RunContext) -> Attempts:  # noqa: ARG002  protocol
        """Return what counts the attempts of a run."""
        return Attempts(self.consultation_tool)

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Decide whether enough has failed."""
        attempts = self.followed(context)
        seen = self._seen(context, attempts)
        if not seen or not self._may_speak(context, attempts):
            return NOT_RELEVANT
        found = Found(seen, attempts.output, attempts.count)
        return ClassificationResult(True, 0.9, seen, NAME, found=found)

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Suggest the consultation, with the reason for it."""
        found: Found = context.found
        message = SEED if self.wording == "seed" else self.message
        text = message.format(
            tool=self.consultation_tool,
            seen=found.seen,
            ask=self._ask(context),
            evidence=quote(found.output, _LONGEST_QUOTE) if found.output else "",
            count=found.count,
        )
        return GuidanceInjection(NAME, shorten(text, LONGEST_TEXT), category=self.category)

    def _ask(self, context: GuidanceContext) -> str:
        """Return whom to ask: the tool, if the agent is known to have it."""
        if context.tools is None:
            return "ask someone else for a fresh view, such as a reviewer or the user."
        return f"call {self.consultation_tool} for a fresh view."

    def _may_speak(self, context: GuidanceContext, attempts: Attempts) -> bool:
        if context.nudges_of(NAME) >= self.max_rounds or not self._available(context):
            return False
        spoke = context.turns_since_nudge(NAME)
        if spoke is not None and spoke < PAUSE:
            return False
        consulted = attempts.consulted_at
        return consulted is None or attempts.turn - consulted >= PAUSE

    def _available(self, context: GuidanceContext) -> bool:
        tools = context.tools
        return tools is None or any(is_tool(tool, self.consultation_tool) for tool in tools)

    def _loop(self, context: GuidanceContext) -> Episode | None:
        """Return a loop that went on after its nudges."""
        return next(
            (
                episode
                for episode in context.episodes.get(self.loop_category, ())
                if episode.nudges >= NUDGES and episode.seen_at > episode.nudged_at
            ),
            None,
        )

    def _seen(self, context: GuidanceContext, attempts: Attempts) -> str:
        """Return the reason for a consultation in words; empty if there is none."""
        if not attempts.count and not context.episodes:
            return ""
        needed = self.failure_threshold * (context.nudges_of(NAME) + 1)
        if attempts.count >= needed:
            return f"{attempts.count} different attempts have failed{_last(attempts)}."
        if attempts.failures >= REPEATS * needed:
            return _repeated(attempts)
        loop = self._loop(context)
        return f"The same pattern has gone on after {loop.nudges} reminders." if loop else ""


def _repeated(attempts: Attempts) -> str:
    if attempts.count == 1:
        return f"The same attempt has failed {attempts.failures} times{_last(attempts)}."
    return (
        f"{attempts.failures} attempts have failed, only {attempts.count} of them different"
        f"{_last(attempts)}."
    )


def _last(attempts: Attempts) -> str:
    said = quote(attempts.output, _LONGEST_QUOTE)
    return "" if said == quote("") else f", the last with {said}"
