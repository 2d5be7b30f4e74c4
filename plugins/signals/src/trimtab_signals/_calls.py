"""One record of each call, closed turns as batches of records, and failures that nothing flags.

A harness that flags no failure leaves what a tool says. The words may be of any language, so what
counts is the run: one short text for several calls, which came to nothing each time. Words and
codes of failure lower the number that is needed; so does it if the calls do different things, for
these have nothing in common but what keeps them from it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Self

import attrs

from trimtab import Outcome, ToolInvoked, ToolProfile
from trimtab.events import CallOrigin
from trimtab.text import LazyPattern
from trimtab.trajectory import BaseProjection, MessageRecord, Turn
from trimtab_signals._answers import confirms, finds_nothing, in_progress
from trimtab_signals._canonical import plain
from trimtab_signals._failure_lines import sounds_like_failure
from trimtab_signals._failures import error_signature
from trimtab_signals._normalise import lowered, without_times
from trimtab_signals._profiles import ToolProfiles, is_aside
from trimtab_signals._records import CallRecord, SavedCall, record_of
from trimtab_signals._shell import operation

_LONGEST = 200
"""Characters of an answer that complains and says nothing else; so many are kept of each."""
_EDGE = 8
"""Characters of answers that may be one complaint: a glance costs next to nothing."""
_EDGES_KEPT = 256
"""Of such characters: four of each of the calls that are kept."""
_CLAUSES = LazyPattern(r":\s|\]\s|\s-\s|\n")
"""Between what complains, what it was about and the reason: "tar: a.txt: No space left"."""
_WORD = LazyPattern(r"\w+")
_MOST, _LEAST_SHARED = 0.7, 3
"""Share and number of words that two complaints have in common if they differ in what they name:
"502 Bad Gateway: /units" and "502 Bad Gateway: /crew"."""
_SENTENCE = 8
"""Words of an answer that says more than that something was done, in a language whose words for
failures nobody knows here; English ones are known."""
_SHORTEST = 12
"""Characters that say what is wrong; less is a value, or a word that all goes well."""
_WIDE = LazyPattern(r"[^a-z]*[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af][^a-z]*")
"""Scripts in which half as many characters say as much."""
_ALIKE = 3
"""Turns and calls after which a complaint is a failure."""
LOOKED_AT = 24
"""Calls that are looked back at: a complaint returns soon."""
_OK = Outcome.OK
# Of HTTP and of JSON-RPC.
_CODE = LazyPattern(r"(?<![\w.:-])[45]\d\d(?=\s|[:,;)\]]|$)|(?<!\w)-32\d{3}\b")


def edges_of(call: CallRecord) -> tuple[str, ...]:
    """Return how a call's answer ends and how its clauses begin, if it may be a complaint."""
    if call.failed or not _SHORTEST <= 2 * call.size <= 2 * _LONGEST or call.outcome is not _OK:
        return ()
    said = _said(call)
    if call.size < _SHORTEST and (said.isascii() or not _WIDE.fullmatch(said)):
        return ()
    if said[0] in "{[" and not _CODE.search(said):
        return ()  # "ok" in an object has many forms, a failure mostly a code
    if ": " not in said:
        return (said[-_EDGE:],)
    return (said[-_EDGE:], *(clause[:_EDGE] for clause in _CLAUSES.split(said)))


def alike(call: CallRecord, before: Iterable[CallRecord]) -> tuple[int, str]:
    """Return in how many turns calls with other arguments were told what this one was, if that is
    a failure, and its signature; else 0.

    A success of the same operation ends the count. Different operations that are told the very same
    have nothing in common but what keeps them from it.
    """
    said, does = _said(call), _operation(call.tool, call.command)
    coded = _CODE.search(said) is not None
    done = confirms(said) or confirms(said.partition(",")[0])  # done, with a remark
    if is_aside(call.tool) or call.waits or (done and not coded) or finds_nothing(said):
        return 0, ""
    signature, complains = _signature(call), _complains(said)
    turns, calls, operations = {call.turn}, {call.fingerprint}, {does}
    exact = True
    for other in before:
        does_other, told = _operation(other.tool, other.command), _said(other)
        is_near = does_other != does and (
            same_reason(said, told)
            if complains or _is_foreign(told)
            # One of them tells what both are; of several lines one may be the harness's own.
            else "\n" not in told and _complains(told) and _same_clause(said, told)
        )
        ends_alike = said[-_EDGE:] == told[-_EDGE:] and edges_of(other)
        if said == told or is_near or (ends_alike and _signature(other) == signature):
            turns.add(other.turn)
            calls.add(other.fingerprint)
            exact = exact and said == told
            if said == told or is_near or call.tool != other.tool:
                operations.add(does_other)
        elif not other.failed and does_other == does:
            break
    if min(len(calls), len(turns)) < _ALIKE or in_progress(said):
        return 0, ""
    # To look and to find nothing, or what is wrong elsewhere, is what readers are for. A tool of
    # which nothing is known may be one, if it says something else each time.
    known = exact or call.command is not None or call.profile.writes
    hinted = coded or (known and not call.reads and complains)
    return (len(turns), signature) if hinted or len(operations) > 1 else (0, "")


def _signature(call: CallRecord) -> str:
    """Return what a call was told, without what names it and its arguments."""
    params = [call.params_text, call.tool]
    return "\n".join(error_signature(line, params) for line in call.output.splitlines())


def _complains(said: str) -> bool:
    return _CODE.search(said) is not None or sounds_like_failure(said)


def same_reason(said: str, other: str) -> bool:
    """Return whether two complaints are the same but for what they name, or give one reason.

    Args:
        said: a complaint, such as "tar: a.txt: No space left on device".
        other: another one.
    """
    if max(len(said), len(other)) > _LONGEST:
        return False
    said, other = lowered(said), lowered(other)
    if _same_clause(said, other):
        return True
    one, two = set(_WORD.findall(said)), set(_WORD.findall(other))
    shared = len(one & two) >= max(_LEAST_SHARED, _MOST * max(len(one), len(two)))
    return shared and said[:_EDGE] == other[:_EDGE]


def _said(call: CallRecord) -> str:
    """Return an answer without its times; of several lines one may be what a harness adds."""
    return call.output if "\n" in call.output else without_times(call.output)


def _same_clause(said: str, other: str) -> bool:
    """Tell whether two answers have a clause in common; one without a space is a name or a path."""
    same = {*_CLAUSES.split(said)}.intersection(_CLAUSES.split(other))
    return any(len(one) >= _SHORTEST and " " in one.strip() for one in same)


def _is_foreign(said: str) -> bool:
    """Tell whether an answer is one line of many words, a third of which no ASCII can spell."""
    words = [] if "\n" in said or said.isascii() else _WORD.findall(said)
    spelt = sum(map(str.isascii, words))
    return len(words) >= _SENTENCE and 3 * (len(words) - spelt) >= len(words)


def _operation(tool: str, command: str | None) -> str:
    return tool if command is None else f"{tool} {operation(command)}"


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
        """Tell whether this turn made the calls of an earlier `other`, and got the same answers."""
        same_calls = self.fingerprint == other.fingerprint and bool(self.asked)
        return same_calls and same_outputs(other.asked, self.asked)


def same_outputs(earlier: Sequence[CallRecord], later: Sequence[CallRecord]) -> bool:
    """Tell whether two batches of the same calls, `earlier` and `later`, got the same answers."""
    if len(earlier) == 1 and len(later) == 1:
        return later[0].same_output(earlier[0])
    return _all_found(earlier, later) and _all_found(later, earlier)


def _all_found(these: Iterable[CallRecord], those: Iterable[CallRecord]) -> bool:
    return all(
        any(a.fingerprint == b.fingerprint and a.same_output(b) for b in those) for a in these
    )


@attrs.frozen
class SavedTurn:
    """A `TurnRecord` as a snapshot keeps it; see `TurnRecord`."""

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


KEPT = 64
"""How many calls, and how many turns, are kept; older ones leave, their counts stay."""

_TOOLS_KEPT = 256
"""Tools that are counted one by one; agents have fewer, unless a model makes names up."""
_BATCH_KEPT_WHOLE = 8
"""Calls of one turn that are kept whole, so that the memory of a run is bounded."""
_OTHER_TOOLS = "…"


@attrs.frozen(kw_only=True)
class SavedCalls:
    """A `Calls` projection as a snapshot keeps it."""

    open: tuple[SavedCall, ...]
    closed: tuple[SavedTurn, ...]
    frequency: dict[str, int]
    turns: int
    user_spoke_at: int


class Calls(BaseProjection):
    """Makes one `CallRecord` of each ended call, once for all projections that need it.

    Projections that derive from `CallProjection` take the records. All others get at them with
    ``context.trajectory.follow(Calls)``. A call that failed, and the end of its turn, stir those
    that rest.

    `tool_frequency` counts the whole run. The other signals are computed when they are read, from
    the last 64 turns, and count to 64 at most. The harness's own calls are left out everywhere.
    The user's count as calls, but other signals skip turns without a call of the model.

    Args:
        tool_profiles: what prompt and host declare about the tools, in order of precedence.

    Attributes:
        profiles: what is known about the tools.
    """

    def __init__(self, tool_profiles: Sequence[ToolProfile] = ()) -> None:
        self.profiles = ToolProfiles(tool_profiles)
        # Providers ask from several threads, one of which may be closing a turn.
        self._lock = Lock()
        self._open: list[CallRecord] = []
        self._closed: deque[TurnRecord] = deque(maxlen=KEPT)
        self._frequency: dict[str, int] = {}
        self._turns = 0
        self._user_spoke_at = 0
        self._has_failed = False
        self._edges: dict[str, tuple[str, str | None]] = {}  # with tool and command
        self.stirs = False

    @classmethod
    def of_run(cls, tool_profiles: tuple[ToolProfile, ...]) -> Self:
        """Return the records of a run in which these profiles count."""
        return cls(tool_profiles)

    # Reading -----------------------------------------------------------------------------------

    @property
    def consecutive_errors(self) -> int:
        """Closed turns in a row, since the user last spoke, in which every call failed."""
        count = 0
        for turn in self._latest():
            if not all(call.failed for call in turn.asked):
                break
            count += 1
        return count

    @property
    def repeats(self) -> int:
        """How often in a row, since the user last spoke, the last turn's calls brought the same.

        1 if they are new. Two turns are the same if their calls and answers are, as sets.
        """
        turns = self._latest()
        for count, (later, earlier) in enumerate(pairwise(turns), 1):
            if not later.repeats(earlier):
                return count
        return len(turns)

    @property
    def tool_frequency(self) -> Mapping[str, int]:
        """Calls by tool, over the whole run; names beyond the 256th together under ``…``."""
        return self._frequency.copy()

    def recent(self, n: int) -> tuple[CallRecord, ...]:
        """Return the last `n` calls, 64 at most, oldest first, those of the open turn included."""
        found: list[CallRecord] = []
        with self._lock:
            for calls in (tuple(self._open), *(turn.calls for turn in reversed(self._closed))):
                found.extend(reversed(calls))
                if len(found) >= n:
                    break
        return tuple(reversed(found[: max(0, min(n, KEPT))]))

    def _latest(self) -> list[TurnRecord]:
        """Return the closed turns with calls of the model since the user spoke, newest first."""
        with self._lock:
            first = self._user_spoke_at
            kept = [turn for turn in self._closed if turn.asked and turn.number >= first]
        kept.reverse()
        return kept

    # Facts -------------------------------------------------------------------------------------

    def call_ended(self, call: ToolInvoked) -> tuple[CallRecord, ToolInvoked]:
        """Make the record of a call; return it with the event."""
        profile = self.profiles.of(call.tool)
        try:
            record = record_of(call, profile)
        except Exception:  # noqa: BLE001  parameters or results whose own methods raise
            safe = attrs.evolve(call, params=plain(call.params), result=plain(call.result))
            record = record_of(safe, profile)
        frequency, tool = self._frequency, call.tool
        if tool not in frequency and len(frequency) >= _TOOLS_KEPT:
            tool = _OTHER_TOOLS
        frequency[tool] = frequency.get(tool, 0) + 1
        if len(self._open) < KEPT:
            self._open.append(record)
        if edges := edges_of(record):
            self._look_at_complaint(record, edges)
        if record.failed or record.alike:
            self.stirs = self._has_failed = True
        return record, call

    def _look_at_complaint(self, record: CallRecord, edges: tuple[str, ...]) -> None:
        """Note that a call was told in vain what others were told before."""
        known, call = self._edges, (record.tool, record.command)
        # What one tool says mostly begins alike: a reason is looked for in what another one says.
        if edges[0] in known or (
            len(edges) > 1
            and any(_operation(*known.get(edge, call)) != _operation(*call) for edge in edges[1:])
            and _complains(record.output)
        ):
            closed = (call for turn in reversed(self._closed) for call in turn.asked[::-1])
            record.alike, record.complaint = alike(record, islice(closed, LOOKED_AT))
        for edge in edges:
            known[edge] = call
        while len(known) > _EDGES_KEPT:
            del known[next(iter(known))]

    def turn_closed(self, turn: Turn) -> tuple[TurnRecord]:
        """Return the records of a batch."""
        self.stirs, self._has_failed = self._has_failed, False
        closed = TurnRecord(tuple(self._open), turn.number)
        if len(closed.asked) > _BATCH_KEPT_WHOLE:
            for call in closed.asked:
                call.drop_text()
        with self._lock:
            self._open.clear()
            self._closed.append(closed)
            self._turns = turn.number + 1
        return (closed,)

    def user_spoke(self, message: MessageRecord) -> None:
        """Begin anew where signals count in a row."""
        if not message.notification:
            self._user_spoke_at = self._turns

    # State -------------------------------------------------------------------------------------

    def state(self) -> SavedCalls:
        """Return everything."""
        return SavedCalls(
            open=tuple([call.state() for call in self._open]),
            closed=tuple(map(SavedTurn.of, self._closed)),
            frequency=dict(self._frequency),
            turns=self._turns,
            user_spoke_at=self._user_spoke_at,
        )

    def load_state(self, state: SavedCalls) -> None:
        """Take back what `state` returned."""
        profiles = self.profiles
        with self._lock:
            self._open = [call.restored(profiles) for call in state.open]
            self._closed.clear()
            self._closed.extend(turn.restored(profiles) for turn in state.closed)
            told = (call for turn in self._closed for call in turn.calls)
            self._edges = {edge: (c.tool, c.command) for c in told for edge in edges_of(c)}
            self._frequency = dict(state.frequency)
            self._turns = state.turns
            self._user_spoke_at = state.user_spoke_at


class CallProjection(BaseProjection):
    """A projection that takes `CallRecord` and `TurnRecord` in place of events: override as there.

    Example:
        >>> import attrs
        >>> from trimtab_signals import CallProjection
        >>> @attrs.define
        ... class Failures(CallProjection):
        ...     count: int = 0
        ...     def call_ended(self, call, event):
        ...         self.count += call.failed
    """

    needs = Calls

    # Not there at run time: a projection is not handed what it has no method for.
    if TYPE_CHECKING:

        def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
            """Take a tool call that has ended, and the event that its record was made of."""

        def turn_closed(self, turn: TurnRecord) -> None:
            """Take a whole batch."""
