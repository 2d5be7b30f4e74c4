"""The keeper: one thread per process that extends every attached lease."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from trimtab_worker._clock import LEASE_CLOCK
from trimtab_worker._errors import ReceiptHandleExpiredError
from trimtab_worker._lease import Lease
from trimtab_worker._lease_config import NEVER
from trimtab_worker._records import Capped, Extension, Granted, Lost, Unknown

if TYPE_CHECKING:
    from trimtab import Clock
    from trimtab_worker._events import LeaseEvent

LOG = logging.getLogger("trimtab_worker")
OUTCOMES = (Granted, Lost, Unknown, Capped)
LONGEST_SLEEP = 3600.0


@attrs.define(eq=False)
class Kept:
    """A lease with its message, as the keeper holds it.

    Args:
        lease: the policy.
        message: what is extended.
        tell: called with each event, on the keeper's thread.
        busy: a request is in flight.
    """

    lease: Lease
    message: Any
    tell: Callable[[LeaseEvent], object]
    busy: bool = False


class Keeper:
    """Extends leases; beats are only read here, so that beating never waits for an engine.

    Args:
        clock: where the time is read.
        threaded: start a thread with the first lease; otherwise call `step`.
    """

    def __init__(self, clock: Clock = LEASE_CLOCK, *, threaded: bool = True) -> None:
        self.clock = clock
        self._threaded = threaded
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._kept: list[Kept] = []
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
        """Stop extending a lease, and wait for a request in flight.

        Returns at once when the keeper's own thread calls it.

        Args:
            kept: what was added.
            timeout: seconds to wait at most; False is returned if the request takes longer.
        """
        with self._changed:
            kept.lease.release()
            if kept in self._kept:
                self._kept.remove(kept)
            if threading.current_thread() is self._thread:
                return not kept.busy
            return self._changed.wait_for(lambda: not kept.busy, timeout)

    def step(self) -> float:
        """Do what is due now; return the seconds until the next step is worthwhile."""
        events, due = self._plan()
        _tell(events)
        for batch in _batches(due):
            sent = self.clock.monotonic()
            outcomes = _extend(batch)
            self._settle(batch, sent, outcomes)
        with self._changed:
            return self._pause()

    def _plan(self) -> tuple[list[tuple[Kept, LeaseEvent]], list[tuple[Kept, float]]]:
        events: list[tuple[Kept, LeaseEvent]] = []
        due = []
        with self._changed:
            now = self.clock.monotonic()
            for kept in self._kept:
                events += [(kept, event) for event in kept.lease.check(now)]
                seconds = None if kept.busy else kept.lease.request(now)
                if seconds is not None:
                    kept.busy = True
                    due.append((kept, seconds))
        return events, due

    def _settle(
        self,
        batch: Sequence[tuple[Kept, float]],
        sent: float,
        outcomes: Sequence[Extension],
    ) -> None:
        events: list[tuple[Kept, LeaseEvent]] = []
        with self._changed:
            now = self.clock.monotonic()
            for (kept, asked), outcome in zip(batch, outcomes, strict=True):
                kept.busy = False
                told = kept.lease.settle(sent, now, asked, outcome)
                events += [(kept, event) for event in told]
            self._changed.notify_all()
        _tell(events)

    def _pause(self) -> float:
        now = self.clock.monotonic()
        return min((kept.lease.next_look(now) for kept in self._kept), default=NEVER) - now

    def _start(self) -> None:
        if self._threaded and (self._thread is None or not self._thread.is_alive()):
            thread = threading.Thread(target=self._run, name="trimtab-keeper", daemon=True)
            thread.start()
            self._thread = thread

    def _run(self) -> None:
        while True:
            try:
                self.step()
            except Exception:  # the thread must go on for the other leases
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
            one.busy = False
            one.lease.release()


def _batches(due: Iterable[tuple[Kept, float]]) -> Iterable[Sequence[tuple[Kept, float]]]:
    """Put leases of one mailbox together, as many as one call can extend."""
    open_batches: dict[int, list[tuple[Kept, float]]] = {}
    for kept, seconds in due:
        mailbox = getattr(kept.message, "mailbox", None)
        size = kept.lease.terms.facts.batch if hasattr(mailbox, "extend_many") else 1
        batch = open_batches.setdefault(id(mailbox) if size > 1 else id(kept), [])
        batch.append((kept, seconds))
        if len(batch) >= size:
            yield open_batches.pop(id(mailbox) if size > 1 else id(kept))
    yield from open_batches.values()


def _extend(batch: Sequence[tuple[Kept, float]]) -> Sequence[Extension]:
    """Ask the engine; an exception is an outcome, too."""
    if len(batch) == 1:
        kept, seconds = batch[0]
        return [extend_one(kept.message, seconds)]
    try:
        asked = [(kept.message, seconds) for kept, seconds in batch]
        outcomes = list(batch[0][0].message.mailbox.extend_many(asked))
    except BaseException as error:  # noqa: BLE001 - an engine's client is not ours
        return [_unknown(error)] * len(batch)
    if len(outcomes) != len(batch):
        wrong = Unknown(f"extend_many returned {len(outcomes)} outcomes for {len(batch)} leases")
        return [wrong] * len(batch)
    return outcomes


def extend_one(message: Any, seconds: float) -> Extension:
    """Extend one message, of a mailbox of ours or any object with `extend_visibility`."""
    try:
        if hasattr(message, "extend"):
            outcome = message.extend(seconds)
        else:
            outcome = message.extend_visibility(seconds)
    except ReceiptHandleExpiredError as error:
        LOG.warning("the lease of message %s is lost: %s", _id_of(message), error)
        return Lost(str(error) or type(error).__name__)
    except BaseException as error:  # noqa: BLE001 - an engine's client is not ours
        LOG.warning("extending message %s failed: %s", _id_of(message), error)
        return _unknown(error)
    return outcome if isinstance(outcome, OUTCOMES) else Granted(seconds)


def _id_of(message: Any) -> str:
    return str(getattr(message, "id", "?"))


def _unknown(error: BaseException) -> Unknown:
    return Unknown(f"{type(error).__name__}: {error}")


def _tell(events: Iterable[tuple[Kept, LeaseEvent]]) -> None:
    for kept, event in events:
        try:
            kept.tell(event)
        except Exception:  # a listener must not stop the keeper
            LOG.exception("a listener of lease events failed")


KEEPER = Keeper()
"""The process's keeper."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=KEEPER.after_fork)
