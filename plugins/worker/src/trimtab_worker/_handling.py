"""What a loop does with one message: lease it, work on it, answer, acknowledge or give it up."""

from __future__ import annotations

import hashlib
import itertools
import logging
import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from trimtab.text import describe_error, plural
from trimtab_worker._events import (
    OUTCOMES,
    MailboxFailed,
    MessageAbandoned,
    MessageBuried,
    MessageDone,
    MessageEvent,
    MessageFailed,
    MessageReceived,
)
from trimtab_worker._keeper import Keeper
from trimtab_worker._lease_config import DeadLetterPolicy, LoopConfig
from trimtab_worker._records import LoopSummary
from trimtab_worker._work import Work

if TYPE_CHECKING:
    from trimtab import Clock
    from trimtab_worker._health import Watched
    from trimtab_worker._lease import Lease
    from trimtab_worker._mailbox import Mailbox, Message

LOG = logging.getLogger("trimtab_worker")
Replies = Any
"""A mailbox for all answers, or a mapping from the addresses that are allowed to mailboxes."""

ATTEMPTS = (0.2, 1.0, 3.0)
"""Seconds between attempts to acknowledge; the last goes on while the lease lasts."""
LONGEST_ATTEMPTS = 60.0
"""Seconds after which an acknowledgement is given up although the lease lasts."""
JITTER = 0.1
"""Share by which a retry comes later at random: what failed together must not return together."""


def answer_key(message: Message[Any]) -> str | None:
    """Return what the answers to one message have in common, at each delivery; None: unknown.

    An id alone may come again: from another mailbox, or from one that was emptied.
    """
    if message.sent_at is None:
        return None
    facts = (message.mailbox.facts.engine, message.id, message.sent_at.isoformat())
    return hashlib.sha256("\0".join(facts).encode() + message.wire).hexdigest()[:32]


class MessageHandler(ABC):
    """Handles one message at a time on each thread that calls it; the base of `Loop`."""

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

    @property
    def working(self) -> int:
        """How many messages are worked on now, those included that were given back."""
        return len(self._working)

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
        sent = message.sent_at
        waited = None if sent is None else max(0.0, (self.clock.now() - sent).total_seconds())
        self._note(MessageReceived, message, waited=waited)
        policy = self.config.dead_letters
        if policy is not None and message.deliveries > policy.max_deliveries:
            self._bury(
                message, policy, f"delivered {plural(message.deliveries, 'time')}, never finished"
            )
            return
        work = Work(message, self.config, on_event=self.tell, clock=self.clock, keeper=self._keeper)
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
            with work.leased() as lease:
                if not lease.held():
                    self._abandon(work.message, "its lease had ended when it arrived")
                    return
                answer = self.work(work)
                self._answer(work, answer)
        except BaseException as error:  # noqa: BLE001 - whatever work raises is one failure
            self._failed(work, error)
        else:
            self._finish(work, self.clock.monotonic() - started)

    def _answer(self, work: Work, answer: Any) -> None:
        """Answer within the lease, if it is held; what is lost by time alone may be regained."""
        address = self._address(work.message, answer)
        if address is not None or work.lost is not None:
            work.confirm()
        if address is not None and work.lost is None:
            self._send(address, work.message, answer)

    def _address(self, message: Message[Any], answer: Any) -> Mailbox[Any] | None:
        """Return the mailbox that an answer goes to."""
        if answer is None:
            return None
        mailbox = self.replies
        if isinstance(mailbox, Mapping):
            mailbox = mailbox.get(message.reply_to)
        if mailbox is None and message.reply_to is not None:
            LOG.warning("message %s asks for an answer to an unknown address", message.id)
        found: Mailbox[Any] | None = mailbox
        return found

    @staticmethod
    def _send(address: Mailbox[Any], message: Message[Any], answer: Any) -> None:
        """Send an answer, unless an earlier attempt did: it may have been killed just after."""
        key = answer_key(message)
        if key is None or not address.facts.once:
            address.send(answer)
        elif address.send_once(answer, key) is None:
            LOG.info("message %s was answered by an earlier attempt", message.id)

    def _finish(self, work: Work, seconds: float) -> None:
        message, reason = work.message, work.lost
        if reason is None:
            reason = self._refused(
                message.ack, work.lease, "the engine refused the acknowledgement"
            )
        if reason is not None:
            self._abandon(message, reason)
            return
        work.forget()
        self._note(MessageDone, message, seconds=seconds)

    def _abandon(self, message: Message[Any], reason: str) -> None:
        LOG.warning("the result of message %s is not delivered: %s", message.id, reason)
        self._note(MessageAbandoned, message, reason=reason)

    def _failed(self, work: Work, error: BaseException) -> None:
        message, said = work.message, describe_error(error)
        if work.lost is not None:
            self._abandon(message, f"{work.lost}; {said}")
            return
        LOG.warning("message %s failed: %s", message.id, said, exc_info=error)
        policy = self.config.dead_letters
        if policy is not None and message.deliveries >= policy.max_deliveries:
            self._bury(message, policy, said, self._last_answer(work, error))
            return
        delay = self.retry_delay(message.deliveries) * (1 + JITTER * random.random())  # noqa: S311
        reason = self._refused(
            lambda: message.nack(delay), work.lease, "the engine refused to take it back"
        )
        if reason is not None:
            self._abandon(message, f"{reason}; {said}")
            return
        self._note(MessageFailed, message, error=said, retry_in=delay)

    def _last_answer(self, work: Work, error: BaseException) -> Any:
        try:
            return self.failure(work, error)
        except BaseException:  # a message that can't be answered is given up all the same
            LOG.exception("no answer for message %s", work.message.id)
            return None

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
            address = self._address(message, answer) if buried else None
            if address is not None:
                self._send(address, message, answer)
        except Exception as error:  # noqa: BLE001 - an engine's client is not ours
            LOG.warning("message %s can't be given up now: %s", message.id, error)
            self.tell(MailboxFailed(error=str(error), retry_in=self.config.retry_delay))
            self._refused(lambda: message.nack(self.config.retry_delay), None, "refused")
            return
        if not buried:
            self._abandon(message, "the engine refused to give it up")
            return
        self._note(MessageBuried, message, reason=reason)

    def _refused(self, call: Callable[[], bool], lease: Lease | None, words: str) -> str | None:
        """Call the engine, again where it fails; None if it did what was asked, else why not."""
        until = self.clock.monotonic() + LONGEST_ATTEMPTS
        for attempt in itertools.count():
            try:
                return None if call() else words
            except Exception as error:  # noqa: BLE001 - an engine's client is not ours
                LOG.warning("the mailbox failed: %s", error)
                over = self.clock.monotonic() >= until or lease is None or not lease.held()
                if over and attempt >= len(ATTEMPTS):
                    return f"the mailbox can't be reached: {error}"
            threading.Event().wait(ATTEMPTS[min(attempt, len(ATTEMPTS) - 1)])
        raise AssertionError("unreachable")

    def _note(self, kind: type[MessageEvent], message: Message[Any], **facts: Any) -> None:
        """Count what became of a message, and tell it."""
        self._count(OUTCOMES.get(kind, "received"))
        self.tell(kind(message_id=message.id, deliveries=message.deliveries, **facts))

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
        except BaseException:  # a listener that exits must not stop the work
            LOG.exception("the listener of a loop failed")
