"""What a loop does with one message: lease it, work on it, answer, acknowledge or give it up."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import plural
from trimtab_worker._config import DeadLetterPolicy, LoopConfig
from trimtab_worker._events import (
    LeaseEvent,
    MailboxFailed,
    MessageAbandoned,
    MessageBuried,
    MessageDone,
    MessageFailed,
    MessageReceived,
)
from trimtab_worker._extender import LeaseExtender
from trimtab_worker._keeper import Keeper
from trimtab_worker._work import LoopSummary, Work

if TYPE_CHECKING:
    from trimtab import Clock
    from trimtab_worker._message import Message
    from trimtab_worker._watchdog import Watched

LOG = logging.getLogger("trimtab_worker")
Replies = Any
"""A mailbox for all answers, or a mapping from the addresses that are allowed to mailboxes."""

ATTEMPTS = (0.2, 1.0, 3.0)
"""Seconds between attempts to acknowledge."""


class MessageHandler(ABC):
    """Handles one message at a time on each thread that calls it; the base of `Loop`.

    Args:
        config, replies, on_event, clock, keeper: as for `Loop`.
    """

    def __init__(
        self,
        config: LoopConfig,
        *,
        replies: Replies,
        on_event: Callable[[Any], object] | None,
        clock: Clock,
        keeper: Keeper,
    ) -> None:
        self.config = config
        self.replies = replies
        self.clock = clock
        self._on_event = on_event
        self._keeper = keeper
        self._lock = threading.Lock()
        self._working: dict[Work, None] = {}
        self._summary = LoopSummary()

    @abstractmethod
    def work(self, work: Work) -> Any:
        """Do what the message asks for; return the answer. An exception is a failure.

        Args:
            work: the message, its heartbeat and its lease.
        """

    @abstractmethod
    def failure(self, work: Work, error: BaseException) -> Any:
        """Return the answer for a message that is given up, None for no answer.

        Args:
            work: the message.
            error: what its last attempt raised.
        """

    def _handle(self, message: Message[Any], watched: Watched) -> None:
        self._count("received")
        self.tell(MessageReceived(message_id=message.id, deliveries=message.deliveries))
        policy = self.config.dead_letters
        if policy is not None and message.deliveries > policy.max_deliveries:
            self._bury(
                message, policy, f"delivered {plural(message.deliveries, 'time')}, never finished"
            )
            return
        work = Work(message, self.clock)
        watched.message_id, watched.heartbeat = message.id, work.heartbeat
        with self._lock:
            self._working[work] = None
        try:
            self._attempt(work)
        finally:
            watched.message_id = watched.heartbeat = None
            with self._lock:
                del self._working[work]

    def _attempt(self, work: Work) -> None:
        started = self.clock.monotonic()
        try:
            self._kept(work)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the work is not ours
            self._failed(work, error)
        except BaseException:
            self._firmly(lambda: work.message.nack(0.0))
            raise
        else:
            self._finish(work, self.clock.monotonic() - started)

    def _kept(self, work: Work) -> None:
        """Work and answer while the lease is kept; no extension is in flight afterwards."""
        extender = work.extender = LeaseExtender(self.config.lease_extender, keeper=self._keeper)

        def on_event(event: LeaseEvent) -> None:
            work.record(event)
            self.tell(event)

        with extender.attach(work.message, work.heartbeat, on_event=on_event) as lease:
            work.lease = lease
            answer = self.work(work)
            if work.lost is None:
                self._answer(work.message, answer)

    def _finish(self, work: Work, seconds: float) -> None:
        message = work.message
        reason = work.lost
        if reason is None and not self._firmly(message.ack):
            reason = "the engine refused the acknowledgement"
        if reason is not None:
            self._abandon(message, reason)
            return
        self._count("done")
        self.tell(
            MessageDone(message_id=message.id, deliveries=message.deliveries, seconds=seconds)
        )

    def _abandon(self, message: Message[Any], reason: str) -> None:
        self._count("abandoned")
        LOG.warning("the result of message %s is not delivered: %s", message.id, reason)
        self.tell(
            MessageAbandoned(message_id=message.id, deliveries=message.deliveries, reason=reason)
        )

    def _failed(self, work: Work, error: BaseException) -> None:
        message, said = work.message, f"{type(error).__name__}: {error}"
        if work.lost is not None:
            self._abandon(message, f"{work.lost}; {said}")
            return
        LOG.warning("message %s failed: %s", message.id, said, exc_info=error)
        policy = self.config.dead_letters
        if policy is not None and message.deliveries >= policy.max_deliveries:
            self._bury(message, policy, said, self.failure(work, error))
            return
        delay = self.retry_delay(message.deliveries)
        if not self._firmly(lambda: message.nack(delay)):
            self._abandon(message, f"the engine refused to take it back; {said}")
            return
        self._count("failed")
        self.tell(
            MessageFailed(
                message_id=message.id, deliveries=message.deliveries, error=said, retry_in=delay
            )
        )

    def retry_delay(self, deliveries: int) -> float:
        """Return the seconds until a message that failed is ready again.

        Args:
            deliveries: how often it was delivered.
        """
        return min(self.config.retry_delay * deliveries, self.config.longest_retry_delay)

    def _bury(
        self, message: Message[Any], policy: DeadLetterPolicy, reason: str, answer: Any = None
    ) -> None:
        """Give a message up: it is stored elsewhere before it leaves its mailbox."""
        try:
            if policy.mailbox is None:
                buried = message.mailbox.bury(message, reason)
            else:
                policy.mailbox.send(message.body)
                buried = message.ack()
            if buried and answer is not None:
                self._answer(message, answer)
        except Exception as error:  # noqa: BLE001 - an engine's client is not ours
            LOG.warning("message %s can't be given up now: %s", message.id, error)
            self.tell(MailboxFailed(error=str(error), retry_in=self.config.retry_delay))
            self._firmly(lambda: message.nack(self.config.retry_delay))
            return
        if not buried:
            self._abandon(message, "the engine refused to give it up")
            return
        self._count("buried")
        self.tell(
            MessageBuried(message_id=message.id, deliveries=message.deliveries, reason=reason)
        )

    def _answer(self, message: Message[Any], answer: Any) -> None:
        if answer is None:
            return
        mailbox = self.replies
        if isinstance(mailbox, Mapping):
            mailbox = mailbox.get(message.reply_to)
        if mailbox is not None:
            mailbox.send(answer)
        elif message.reply_to is not None:
            LOG.warning("message %s asks for an answer to an unknown address", message.id)

    def _firmly(self, call: Callable[[], bool]) -> bool:
        """Call the engine again where it fails; False if it refuses or keeps failing."""
        for pause in (*ATTEMPTS, None):
            try:
                return call()
            except Exception as error:  # noqa: BLE001 - an engine's client is not ours
                LOG.warning("the mailbox failed: %s", error)
                if pause is not None:
                    threading.Event().wait(pause)
        return False

    def _count(self, name: str) -> None:
        with self._lock:
            self._summary = attrs.evolve(self._summary, **{name: getattr(self._summary, name) + 1})

    def listen(self, on_event: Callable[[Any], object]) -> None:
        """Also call `on_event` for each event, before the listener that was given."""
        given = self._on_event

        def both(event: Any) -> None:
            on_event(event)
            if given is not None:
                given(event)

        self._on_event = both

    def tell(self, event: Any) -> None:
        """Pass an event to the listener; what that raises is logged."""
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception:  # a listener must not stop the work
            LOG.exception("the listener of a loop failed")
