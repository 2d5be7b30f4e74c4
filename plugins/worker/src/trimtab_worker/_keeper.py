"""The keeper: judges every attached lease on one thread, and asks engines on others."""

from __future__ import annotations

import logging
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from trimtab_worker._lease import Lease
from trimtab_worker._lease_config import NEVER, LeaseState
from trimtab_worker._records import (
    LEASE_CLOCK,
    Capped,
    Extension,
    Granted,
    Lost,
    ReceiptHandleExpiredError,
    Unknown,
)

if TYPE_CHECKING:
    from trimtab import Clock
    from trimtab_worker._events import LeaseEvent

LOG = logging.getLogger("trimtab_worker")


def extend(asked: Sequence[tuple[Any, float]]) -> Sequence[Extension]:
    """Extend messages of one mailbox; raises nothing."""
    if len(asked) == 1:
        return [extend_one(*asked[0])]
    try:
        outcomes = list(asked[0][0].mailbox.extend_many(asked))
    except BaseException as error:  # noqa: BLE001 - an engine's client is not ours
        return [_failed(error)] * len(asked)
    if len(outcomes) != len(asked):
        wrong = Unknown(f"extend_many returned {len(outcomes)} outcomes for {len(asked)} leases")
        return [wrong] * len(asked)
    return [_checked(outcome) for outcome in outcomes]


def extend_one(message: Any, seconds: float) -> Extension:
    """As `extend`, for one message.

    Args:
        message: its method `extend` returns an `Extension`; without one, `extend_visibility`
            returns when the lease is extended, and raises otherwise.
        seconds: from now.
    """
    try:
        if hasattr(message, "extend"):
            return _checked(message.extend(seconds))
        message.extend_visibility(seconds)
    except ReceiptHandleExpiredError as error:
        LOG.warning("the lease of message %s is lost: %s", _id_of(message), error)
        return Lost(str(error) or type(error).__name__)
    except BaseException as error:  # noqa: BLE001 - an engine's client is not ours
        LOG.warning("extending message %s failed: %s", _id_of(message), error)
        return _failed(error)
    return Granted(seconds)


def _checked(outcome: object) -> Extension:
    """Only an outcome is one: what an engine returns by mistake must not pass for a grant."""
    if isinstance(outcome, Lost | Unknown | Capped):
        return outcome
    if isinstance(outcome, Granted):
        seconds: object = outcome.seconds
        if isinstance(seconds, int | float) and math.isfinite(seconds):
            return outcome
    return Unknown(f"the mailbox returned {outcome!r:.100} for an extension, not an outcome")


def _id_of(message: Any) -> str:
    return str(getattr(message, "id", "?"))


def _failed(error: BaseException) -> Unknown:
    return Unknown(f"{type(error).__name__}: {error}")


LONGEST_SLEEP = 3600.0


@attrs.define(eq=False)
class Kept:
    """A lease with its message, as the keeper holds it.

    Args:
        lease: the policy.
        message: what is extended.
        listener: called with each event, on a thread of its own.
        queued: a request waits for the engine's other calls.
        busy: a request is in flight.
        untold: events that the listener was not called with yet.
        teller: the thread that calls the listener, while there are events.
    """

    lease: Lease
    message: Any
    listener: Callable[[LeaseEvent], object]
    queued: bool = False
    busy: bool = False
    untold: deque[LeaseEvent] = attrs.field(factory=deque)
    teller: threading.Thread | None = None

    @property
    def engine(self) -> int:
        """Which calls wait for each other: those of one mailbox."""
        mailbox = getattr(self.message, "mailbox", None)
        return id(self) if mailbox is None else id(mailbox)

    @property
    def batch(self) -> int:
        """How many leases of its mailbox one call can extend."""
        batches = hasattr(getattr(self.message, "mailbox", None), "extend_many")
        return self.lease.terms.facts.batch if batches else 1


class Keeper:
    """Extends leases; beats are only read here, so that beating never waits for an engine.

    One thread looks at the time and does nothing else. Calls of one engine run on a thread that
    lives as long as calls are due, and so do those of each listener: a call that hangs delays
    neither the end of a lease nor another engine's calls.

    Args:
        clock: where the time is read.
        threaded: use threads; otherwise `step` does everything.
    """

    def __init__(self, clock: Clock = LEASE_CLOCK, *, threaded: bool = True) -> None:
        self.clock = clock
        self._threaded = threaded
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._kept: list[Kept] = []
        self._due: dict[int, list[Kept]] = {}
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, kept: Kept) -> None:
        """Begin to extend a lease.

        Args:
            kept: the lease, with what extends it.

        Raises:
            RuntimeError: the thread can't be started.
        """
        with self._changed:
            self._start()
            self._kept.append(kept)
            self._changed.notify_all()

    def remove(self, kept: Kept, timeout: float) -> bool:
        """Stop extending a lease; wait for a request in flight, and for listeners.

        Args:
            kept: what was added.
            timeout: seconds to wait at most; False is returned if either takes longer.
        """
        with self._changed:
            kept.lease.release()
            kept.queued = False
            if kept in self._kept:
                self._kept.remove(kept)
            own = threading.current_thread()
            return self._changed.wait_for(
                lambda: not kept.busy and kept.teller in (None, own), timeout
            )

    def confirm(self, kept: Kept, timeout: float) -> None:
        """Ask the engine now whether a lease is ours, on this thread, before its first effect.

        Afterwards `kept.lease.held()` says what is known. An engine that can't tell is not asked,
        and an answer that never comes leaves the judgement to the clock.

        Args:
            kept: what was added, and not removed yet.
            timeout: seconds to wait for a request in flight.
        """
        with self._changed:
            events = kept.lease.check(self.clock.monotonic())
            self._tell(kept, events)
            if not self._changed.wait_for(lambda: not kept.busy, timeout):
                return
            seconds = kept.lease.request_last(self.clock.monotonic())
            if seconds is None:
                return
            kept.busy = True
        sent = self.clock.monotonic()
        (outcome,) = extend([(kept.message, seconds)])
        self._settle([(kept, seconds)], sent, [outcome])

    def step(self) -> float:
        """Do what is due now; return the seconds until the next step is worthwhile."""
        with self._changed:
            now = self.clock.monotonic()
            for kept in self._kept:
                self._tell(kept, kept.lease.check(now))
                if not (kept.queued or kept.busy) and kept.lease.request(now) is not None:
                    kept.queued = True
                    self._ask(kept)
        if not self._threaded:
            while self._due:
                self._call(next(iter(self._due)))
        with self._changed:
            return self._pause()

    def _pause(self) -> float:
        now = self.clock.monotonic()
        return min((kept.lease.next_look(now) for kept in self._kept), default=NEVER) - now

    # Calls.

    def _ask(self, kept: Kept) -> None:
        """Let a thread ask the engine for what is due; call it while holding the lock."""
        calling = kept.engine in self._due
        self._due.setdefault(kept.engine, []).append(kept)
        if calling or not self._threaded:
            return
        thread = threading.Thread(
            target=self._call, args=(kept.engine,), name="trimtab-lease-calls", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:  # no more threads: as if the engine were down
            del self._due[kept.engine]
            kept.queued = False
            now = self.clock.monotonic()
            self._tell(kept, kept.lease.settle(now, now, 0.0, Unknown(str(error))))

    def _call(self, engine: int) -> None:
        """Make the calls of one engine until none is due."""
        while batch := self._next(engine):
            sent = self.clock.monotonic()
            outcomes = extend([(kept.message, seconds) for kept, seconds in batch])
            self._settle(batch, sent, outcomes)

    def _next(self, engine: int) -> Sequence[tuple[Kept, float]]:
        """Return the leases of the next call, with the seconds to ask for."""
        batch: list[tuple[Kept, float]] = []
        with self._changed:
            now = self.clock.monotonic()
            due = self._due.get(engine, [])
            while due and len(batch) < due[0].batch:
                kept = due.pop(0)
                seconds = kept.lease.request(now) if kept.queued else None
                kept.queued = False
                if seconds is not None:
                    kept.busy = True
                    batch.append((kept, seconds))
            if not batch:
                self._due.pop(engine, None)
        return batch

    def _settle(
        self,
        batch: Sequence[tuple[Kept, float]],
        sent: float,
        outcomes: Sequence[Extension],
    ) -> None:
        with self._changed:
            now = self.clock.monotonic()
            for (kept, asked), outcome in zip(batch, outcomes, strict=True):
                kept.busy = False
                self._tell(kept, kept.lease.settle(sent, now, asked, outcome))
            self._changed.notify_all()

    # Listeners.

    def _tell(self, kept: Kept, events: Iterable[LeaseEvent]) -> None:
        """Let a thread call the listener; call it while holding the lock."""
        kept.untold += events
        if not kept.untold or kept.teller is not None:
            return
        kept.teller = threading.Thread(
            target=self._listen, args=(kept,), name="trimtab-lease-events", daemon=True
        )
        if not self._threaded:
            self._listen(kept)
            return
        try:
            kept.teller.start()
        except RuntimeError as error:  # tried again at the next look
            LOG.warning("a listener of lease events has to wait: %s", error)
            kept.teller = None

    def _listen(self, kept: Kept) -> None:
        """Call the listener until there are no events."""
        while True:
            with self._changed:
                if not kept.untold:
                    kept.teller = None
                    self._changed.notify_all()
                    return
                event = kept.untold.popleft()
            try:
                kept.listener(event)
            except BaseException:  # a listener that exits must not end the others' events
                LOG.exception("a listener of lease events failed")

    # The thread.

    def _start(self) -> None:
        if self._threaded and (self._thread is None or not self._thread.is_alive()):
            thread = threading.Thread(target=self._run, name="trimtab-keeper", daemon=True)
            thread.start()
            self._thread = thread

    def _run(self) -> None:
        while True:
            try:
                self.step()
            except BaseException:  # the thread must go on for the other leases
                LOG.exception("the lease keeper failed; it goes on")
                threading.Event().wait(1.0)
            with self._changed:
                pause = self._pause()
                self._changed.wait(min(pause, LONGEST_SLEEP) if self._kept else None)

    def after_fork(self) -> None:
        """Drop all leases: they belong to the parent process."""
        kept = self._kept
        self._reset()
        for one in kept:
            one.busy = one.queued = False
            one.teller = None
            if one.lease.state is not LeaseState.RELEASED:
                one.lease.release()


KEEPER = Keeper()
"""The process's keeper."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=KEEPER.after_fork)
