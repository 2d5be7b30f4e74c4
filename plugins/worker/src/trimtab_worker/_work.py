"""The work on one message, whoever drives it, and what tools may know of its delivery."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Deadline, Heartbeat
from trimtab.hosting import names_known
from trimtab_worker._events import LeaseEvent
from trimtab_worker._extender import LeaseExtender
from trimtab_worker._keeper import KEEPER, Keeper
from trimtab_worker._lease_config import WorkConfig
from trimtab_worker._records import LEASE_CLOCK, ReceiptHandleExpiredError
from trimtab_worker._snapshots import Saver

if TYPE_CHECKING:
    from trimtab import Clock, Prompt, Session
    from trimtab_worker._lease import Lease

LOG = logging.getLogger("trimtab_worker")


@names_known()
@attrs.frozen(kw_only=True)
class Attempt:
    """One attempt at one message: ``context.resources.get(Attempt)`` in a tool.

    A message may be delivered again while an earlier attempt still runs, e.g. on a machine that
    was cut off. `message_id` with the name of an effect makes an idempotency key, and `number` is
    a fencing token: what stores effects refuses an attempt older than the newest it has seen.

    Args:
        message_id: of the message; the same at every attempt.
        number: which attempt this is, from 1; a later one has a higher number.
        snapshot: what `Session.snapshot` returned in the last attempt that kept one, where the
            work resumes from snapshots.
        lost: says why effects are unwanted, None while they are not.
    """

    message_id: str = ""
    number: int = 1
    snapshot: str | None = attrs.field(default=None, repr=False)
    lost: Callable[[], str | None] = attrs.field(default=lambda: None, eq=False, repr=False)

    def key(self, effect: str) -> str:
        """Return an idempotency key: the same for one effect at every attempt.

        Args:
            effect: names the effect within the message, e.g. ``"charge:invoice-7"``.
        """
        return f"{self.message_id}/{effect}"

    def session(self, **options: Any) -> Session:
        """Return the session to work with: that of the last snapshot, else a new one.

        Args:
            options: as for `Session.restore`: types of your own, reducers, a clock.
        """
        from trimtab import Session, TrimtabError

        if self.snapshot is not None:
            try:
                return Session.restore(self.snapshot, **options)
            except TrimtabError as error:  # of another version, or damaged
                LOG.warning("message %s begins anew: %s", self.message_id, error)
        session = Session(**({"clock": options["clock"]} if "clock" in options else {}))
        for kind, reducer in (options.get("reducers") or {}).items():
            session.register(kind, reducer)
        return session

    def check(self) -> None:
        """Raise if another worker may have the message: call it right before an effect.

        It knows what this process knows. A store that compares `number` is the stronger fence.

        Raises:
            ReceiptHandleExpiredError: the lease is lost, or the message was given back.
        """
        reason = self.lost()
        if reason is not None:
            raise ReceiptHandleExpiredError(
                f"message {self.message_id}, attempt {self.number}: {reason}; make no effect"
            )


LONGEST_WORK = 30 * 24 * 3600.0


@attrs.frozen
class LeaseDeadline(Deadline):
    """A deadline that also ends when the result is no longer wanted.

    Args:
        lost: says why it is not; None: this is a plain deadline.
    """

    lost: Callable[[], str | None] | None = attrs.field(default=None, eq=False, repr=False)

    def remaining(self) -> timedelta:
        """Return the time left: none once the result is unwanted."""
        left = Deadline.remaining(self)
        return min(left, timedelta(0)) if self.lost is not None and self.lost() else left


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
        dropped: why who drives it no longer wants the result, None while it is wanted.
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
        self.dropped: str | None = None
        identifier, number = str(getattr(message, "id", "")), int(getattr(message, "deliveries", 1))
        self._saver = self._make_saver(identifier, number)
        self.attempt = Attempt(
            message_id=identifier,
            number=number,
            snapshot=self._last_snapshot(identifier, number),
            lost=lambda: self.lost,
        )
        self._extender = LeaseExtender(self.config.lease_extender, keeper=keeper)
        self._on_event = on_event
        self._lock = threading.Lock()
        self._waiting: list[LeaseEvent] = []
        self._session: tuple[Session, str] | None = None

    def _make_saver(self, identifier: str, number: int) -> Saver | None:
        store = self.config.snapshots
        if store is None:
            return None
        interval = self.config.snapshot_interval
        return Saver(store, identifier, number, self.heartbeat, interval)

    def _last_snapshot(self, identifier: str, number: int) -> str | None:
        store = self.config.snapshots
        if store is None or number <= 1:
            return None
        try:
            return store.load(identifier)
        except Exception as error:  # noqa: BLE001 - better anew than not at all
            LOG.warning("message %s begins anew: %s", identifier, error)
            return None

    @contextmanager
    def leased(self) -> Iterator[Lease]:
        """Keep the lease within the block; no extension is in flight afterwards."""
        with self._extender.attach(
            self.message, self.heartbeat, on_event=self._take_event
        ) as self.lease:
            try:
                yield self.lease
            except BaseException:
                self._stop_saving(save=True)
                raise
            self._stop_saving(save=False)

    def _stop_saving(self, *, save: bool) -> None:
        if self._saver is not None:
            self._saver.stop(save=save and self.lost is None)

    def forget(self) -> None:
        """Drop the snapshots of a message that is done."""
        store = self.config.snapshots
        if store is None:
            return
        try:
            store.drop(self.attempt.message_id)
        except Exception as error:  # noqa: BLE001 - the work is done all the same
            LOG.warning("snapshots of message %s stay: %s", self.attempt.message_id, error)

    def deadline(self) -> Deadline | None:
        """Return the limit of the run: the work's own, that of its lease, or None."""
        cap = None if self.lease is None else self.lease.cap_remaining()
        limits = [limit for limit in (self.config.max_processing_time, cap) if limit is not None]
        stops = self.config.on_lease_lost == "stop"
        if not limits and not stops:
            return None
        total = max(0.0, min(limits, default=LONGEST_WORK))
        return LeaseDeadline(total, self.clock, lost=(lambda: self.lost) if stops else None)

    @property
    def lost(self) -> str | None:
        """Return why the result is no longer wanted; None while effects may be made in its name."""
        if self.dropped is not None:
            return self.dropped
        if self.lease is not None and not self.lease.held():
            return "the lease was lost"
        return None

    def confirm(self) -> str | None:
        """As `lost`, after asking the engine where it can tell; within `leased`, at the end.

        A lease that ended by time alone is regained if no other worker has the message.
        """
        if self.dropped is None:
            self._extender.confirm()
        return self.lost

    def drop(self, reason: str | None = None) -> None:
        """Stop extending, from any thread: the result is unwanted.

        Args:
            reason: why; None: the message was given back.
        """
        self._stop_saving(save=True)
        self.dropped = reason or "the message was given back"
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
        if self._saver is not None:
            self._saver.start(session)

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
