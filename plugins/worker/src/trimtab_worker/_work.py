"""The work on one message, whoever drives it: its heartbeat, lease, deadline and fence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Deadline, Heartbeat
from trimtab_worker._attempt import Attempt
from trimtab_worker._clock import LEASE_CLOCK
from trimtab_worker._config import WorkConfig
from trimtab_worker._events import LeaseEvent
from trimtab_worker._extender import LeaseExtender
from trimtab_worker._keeper import KEEPER, Keeper

if TYPE_CHECKING:
    from trimtab import Clock, Prompt, Session
    from trimtab_worker._lease import Lease

LONGEST_WORK = 30 * 24 * 3600.0


@attrs.frozen
class LeaseDeadline(Deadline):
    """A deadline that also ends when the lease of the message is lost.

    Args:
        lease: of the message, None: this is a plain deadline.
    """

    lease: Lease | None = attrs.field(default=None, eq=False, repr=False)

    def remaining(self) -> timedelta:
        """Return the time left: none once the lease is lost."""
        left = Deadline.remaining(self)
        return min(left, timedelta(0)) if self.lease is not None and self.lease.lost else left


class Work:
    """The work on one message: one delivery becomes one result, in a loop or in another engine.

    `leased` keeps the lease while the heartbeat beats; `deadline` is the limit of the run in it;
    `lost` says before each effect why the result is no longer wanted.

    Args:
        message: a `Message`, or any object that `LeaseExtender.attach` takes.
        config: how leases are kept, and the limits of the work.
        on_event: called with lease events, on a thread of their own.
        clock: where the time is read.
        keeper: whose threads extend the lease.

    Attributes:
        heartbeat: for the adapter and the tools.
        attempt: what tools may know of this delivery; a resource of the prompt.
        lease: within `leased` and after it, None before.
        dropped: who drives it gave the message back and no longer wants the result.
    """

    def __init__(
        self,
        message: Any,
        config: WorkConfig | None = None,
        *,
        on_event: Callable[[LeaseEvent], object] | None = None,
        clock: Clock = LEASE_CLOCK,
        keeper: Keeper = KEEPER,
    ) -> None:
        self.message = message
        self.config = config or WorkConfig()
        self.clock = clock
        self.heartbeat = Heartbeat(clock)
        self.lease: Lease | None = None
        self.dropped = False
        self.attempt = Attempt(
            message_id=str(getattr(message, "id", "")),
            number=int(getattr(message, "deliveries", 1)),
            lost=lambda: self.lost,
        )
        self._extender = LeaseExtender(self.config.lease_extender, keeper=keeper)
        self._on_event = on_event
        self._lock = threading.Lock()
        self._waiting: list[LeaseEvent] = []
        self._session: tuple[Session, str] | None = None

    @contextmanager
    def leased(self) -> Iterator[Lease]:
        """Keep the lease within the block; no extension is in flight afterwards."""
        with self._extender.attach(
            self.message, self.heartbeat, on_event=self._take_event
        ) as self.lease:
            yield self.lease

    def deadline(self) -> Deadline | None:
        """Return the limit of the run: the work's own, that of its lease, or None."""
        cap = None if self.lease is None else self.lease.cap_remaining()
        limits = [limit for limit in (self.config.max_processing_time, cap) if limit is not None]
        stops = self.config.on_lease_lost == "stop"
        if not limits and not stops:
            return None
        total = max(0.0, min(limits, default=LONGEST_WORK))
        return LeaseDeadline(total, self.clock, lease=self.lease if stops else None)

    @property
    def lost(self) -> str | None:
        """Return why the result is no longer wanted; None while effects may be made in its name."""
        if self.dropped:
            return "the message was given back"
        if self.lease is not None and not self.lease.held():
            return "the lease was lost"
        return None

    def confirm(self) -> str | None:
        """As `lost`, after asking the engine where it can tell; within `leased`, at the end.

        A lease that ended by time alone is regained if no other worker has the message.
        """
        if not self.dropped:
            self._extender.confirm()
        return self.lost

    def drop(self) -> None:
        """Stop extending, from any thread: the message is given back, its result unwanted."""
        self.dropped = True
        self._extender.release()

    def bind(self, session: Session, prompt: Prompt[Any]) -> None:
        """Record lease events from now on, the earlier ones first.

        Args:
            session: where.
            prompt: the prompt that they belong to.
        """
        with self._lock:
            self._session = session, prompt.name
            waiting, self._waiting = self._waiting, []
        for event in waiting:
            self._record(event)

    def _take_event(self, event: LeaseEvent) -> None:
        if self._on_event is not None:
            self._on_event(event)
        self._record(event)

    def _record(self, event: LeaseEvent) -> None:
        """Record one lease event in the agent's session, once that is known."""
        with self._lock:
            if self._session is None:
                self._waiting.append(event)
                return
            session, name = self._session
        session.dispatch(attrs.evolve(event, prompt_name=name))
