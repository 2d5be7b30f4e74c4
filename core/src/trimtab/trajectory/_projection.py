"""A provider's own state over a run: what it is fed with, and when."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any, Protocol, runtime_checkable

import attrs

from trimtab._events.run import MODEL, ToolInvoked
from trimtab.trajectory._profiles import ToolProfiles
from trimtab.trajectory._records import CallRecord, restored

HOOKS = ("call_ended", "turn_closed", "responded", "user_spoke", "compacted")
Fact = Any
"""A closed `TurnRecord`, or a tuple of a method of a projection and what it takes."""

BACKLOG = 128
"""Facts that may wait for one projection before its run hands them over unasked."""


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
        if len(calls) == 1 and calls[0].caller is MODEL:
            self.asked = calls
        else:
            self.asked = tuple([call for call in calls if call.caller is MODEL])

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


def turn_state(turn: TurnRecord) -> dict[str, Any]:
    """Return a turn as JSON-like data, for a projection's `state()`.

    Args:
        turn: the turn.
    """
    return {"number": turn.number, "calls": [call.state() for call in turn.calls]}


def turn_from(state: dict[str, Any], profiles: ToolProfiles) -> TurnRecord:
    """Return the turn that `turn_state` described.

    Args:
        state: what it returned.
        profiles: what is known about the tools.
    """
    calls = tuple(restored(call, profiles) for call in state["calls"])
    return TurnRecord(calls, state["number"])


@attrs.frozen(eq=False)
class TextRecord:
    """What a response said, beside its calls.

    Attributes:
        text, reasoning: as they came; don't keep them.
        has_calls: whether the response also asked for tools.
    """

    text: str
    reasoning: str
    has_calls: bool


@attrs.frozen(eq=False)
class MessageRecord:
    """What the user, or the harness as a `notification`, said; don't keep the text."""

    text: str
    notification: bool


@runtime_checkable
class Projection(Protocol):
    """Derives from `BaseProjection`, or has these methods.

    They are called when the provider asks for the projection (``context.trajectory.projection``),
    in order, with everything that has happened since; so their time and failures are the
    provider's own. If much waits, a run hands it over unasked, isolated in the same way. Keep
    no event or record forever: a run may have 100,000 calls.

    A projection that is attached under its provider's name may also have an attribute ``quiet``.
    While it is True and no episode of the run is open, the guidance provider is not asked, which
    is most of what a decision costs. Set it where the facts seen so far call for no guidance,
    whatever else `classify` looks at.
    """

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Take a tool call that has ended; its turn is still open.

        Args:
            call: its record.
            event: the event, with arguments and result.
        """
        ...

    def turn_closed(self, turn: TurnRecord) -> None:
        """Take a whole batch, before the next response is asked for.

        Args:
            turn: its calls.
        """
        ...

    def responded(self, text: TextRecord) -> None:
        """Take the text of a response.

        Args:
            text: the text, and whether there were calls beside it.
        """
        ...

    def user_spoke(self, message: MessageRecord) -> None:
        """Take a message of the user, or a notification of the harness.

        Args:
            message: the message.
        """
        ...

    def compacted(self) -> None:
        """Take note that the model's history was shortened."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything, JSON-like; decisions after `load_state` of it are the same."""
        ...

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        ...


class BaseProjection:
    """A projection that ignores everything: override what matters.

    Example:
        >>> class Denials(BaseProjection):
        ...     count = 0
        ...     quiet = True
        ...     def call_ended(self, call, event):
        ...         self.count += call.outcome == "denied"
        ...         self.quiet = self.count == 0
        ...     def state(self):
        ...         return {"count": self.count}
        ...     def load_state(self, state):
        ...         self.count = state["count"]
        ...         self.quiet = self.count == 0

    Attributes:
        quiet: whether the guidance provider need not be asked (see `Projection`).
    """

    quiet: bool = False

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Ignore it."""

    def turn_closed(self, turn: TurnRecord) -> None:
        """Ignore it."""

    def responded(self, text: TextRecord) -> None:
        """Ignore it."""

    def user_spoke(self, message: MessageRecord) -> None:
        """Ignore it."""

    def compacted(self) -> None:
        """Ignore it."""

    def state(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take nothing."""


class Feed:
    """One projection and the facts that it has not seen yet.

    A projection is its provider's code, so it never runs where events are recorded. It catches
    up when the provider asks for it: on the provider's thread, within its time limit, and with
    its failures counted as the provider's.

    Args:
        projection: what is fed.
        rebuild: feeds it everything that happened before; None if it has seen all of it.

    Attributes:
        pending: the facts that wait, among them the rebuild.
        mutex: held while the projection takes facts.
        methods: those methods of the projection that do something, by name.
        turn_closed: the most frequent of them.
        saved: the projection's state after all but `pending`; None if it is not saved.
    """

    def __init__(
        self, projection: Projection, rebuild: Callable[[Projection], None] | None = None
    ) -> None:
        self.projection = projection
        self.turn_closed = projection.turn_closed
        self.saved: dict[str, Any] | None = None
        self.pending: deque[Fact] = deque(() if rebuild is None else [(rebuild, (projection,))])
        self.mutex = RLock()
        self.methods = {
            hook: getattr(projection, hook)
            for hook in HOOKS
            if getattr(type(projection), hook, None) is not getattr(BaseProjection, hook)
        }

    @property
    def is_saved(self) -> bool:
        """Whether `saved` is the state after everything that happened."""
        return self.saved is not None and not self.pending

    def catch_up(self) -> None:
        """Hand over what waits; what the projection raises passes through.

        A fact that the projection fails on is not handed over again.
        """
        pending = self.pending
        with self.mutex:
            while pending:
                self.saved = None
                fact = pending.popleft()
                if fact.__class__ is TurnRecord:
                    self.turn_closed(fact)
                else:
                    method, facts = fact
                    method(*facts)

    def free(self) -> None:
        """Release the mutex if this thread holds it."""
        try:
            self.mutex.release()
        except RuntimeError:
            pass

    def save(self) -> None:
        """Catch up and keep the projection's state; what it raises passes through."""
        self.catch_up()
        with self.mutex:
            self.saved = self.projection.state()
