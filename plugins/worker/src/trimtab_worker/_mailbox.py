"""The base of mailboxes: it turns an engine of bytes into a mailbox of typed messages."""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import attrs

from trimtab_worker._message import Codec
from trimtab_worker._records import (
    LEASE_CLOCK,
    DeadLetter,
    Delivery,
    Extension,
    Granted,
    Lost,
    MailboxError,
    MailboxFacts,
    MailboxStats,
    MessageTooLarge,
    ReceiptHandleExpiredError,
    StoredMessage,
    UndecodableMessage,
)

if TYPE_CHECKING:
    from typing import Self

    from trimtab import Clock

Body = TypeVar("Body")

LOG = logging.getLogger("trimtab_worker")
FIRST_PAUSE = 0.01
LONGEST_PAUSE = 0.2
LONGEST_REASON = 500
KEYS_KEPT = 7 * 24 * 3600.0
"""Seconds that a key of `send_once` is known: longer than a message waits that a worker dropped."""
OVER = Lost("the lease has ended by the clock of this worker, or the message was given back")


@attrs.frozen(eq=False)
class Message(Generic[Body]):
    """One delivery of a message.

    Args:
        id: of the message; the same at every delivery.
        body: what was sent.
        deliveries: how often the message was handed out, this time included.
        visibility: seconds that the lease lasts, counted from `received`.
        received: monotonic seconds of the mailbox's clock when it was asked for.
        receipt: the engine's mark of this delivery.
        mailbox: where it came from.
        reply_to: the address for an answer, where the sender wants one.
        sent_at: when it was sent, where the engine knows.
        wire: the bytes that were sent.
    """

    id: str
    body: Body
    deliveries: int
    visibility: float
    received: float
    receipt: Any = attrs.field(repr=False)
    mailbox: Mailbox[Body] = attrs.field(repr=False)
    reply_to: str | None = None
    sent_at: datetime | None = None
    wire: bytes = attrs.field(default=b"", repr=False)

    def ack(self) -> bool:
        """Remove the message: it was processed. False: refused, the lease is lost."""
        return self.mailbox.ack(self)

    def nack(self, delay: float = 0.0) -> bool:
        """Give the message back, ready after `delay` seconds."""
        return self.mailbox.nack(self, delay)

    def extend(self, seconds: float) -> Extension:
        """Let the lease last `seconds` from now; may shorten it where the engine does."""
        return self.mailbox.extend(self, seconds)

    def extend_visibility(self, seconds: float) -> None:
        """As `extend`, with errors.

        Raises:
            ReceiptHandleExpiredError: the lease is lost.
            MailboxError: nothing was extended for another reason.
        """
        outcome = self.extend(seconds)
        if isinstance(outcome, Lost):
            raise ReceiptHandleExpiredError(f"message {self.id}: {outcome.reason}")
        if not isinstance(outcome, Granted):
            raise MailboxError(f"message {self.id} was not extended: {outcome}")


class Mailbox(ABC, Generic[Body]):
    """A queue of messages with leases, over an engine of bytes.

    A message that is received is leased: no other worker receives it for `visibility` seconds. All
    methods may be called from several threads. `ack`, `nack` and `bury` return whether the engine
    accepted them: an engine that is fenced refuses a worker whose lease was lost.

    Subclass it, and implement what is abstract.

    Args:
        body: attrs class that bodies are of, or several; None: plain JSON values.
        clock: where the time is read.
    """

    facts: MailboxFacts

    def __init__(
        self,
        body: type[Body] | Sequence[type[Any]] | None = None,
        *,
        clock: Clock = LEASE_CLOCK,
    ) -> None:
        types = (body,) if isinstance(body, type) else tuple(body or ())
        self.codec = Codec(*types)
        self.clock = clock
        self._ends: WeakKeyDictionary[Message[Any], float] = WeakKeyDictionary()

    # What an engine does.

    @abstractmethod
    def put(self, data: bytes, delay: float) -> str:
        """Store a message; return its id.

        Args:
            data: its bytes.
            delay: seconds until it is ready.
        """

    def put_once(self, data: bytes, delay: float, key: str) -> str | None:  # noqa: ARG002
        """As `put`; None if something was put under `key` in the last `KEYS_KEPT` seconds.

        Both in one change, so that of two who put at the same time one gets None.

        Args:
            data, delay: as for `put`.
            key: any text.

        Raises:
            MailboxError: the engine keeps no keys.
        """
        raise MailboxError(f"{self.facts.engine} keeps no keys: facts.once says which engine does")

    @abstractmethod
    def take(self, count: int, visibility: float) -> Sequence[Delivery]:
        """Lease messages that are ready; don't wait.

        Args:
            count: how many at most.
            visibility: seconds that each lease lasts.
        """

    @abstractmethod
    def delete(self, receipt: Any) -> bool:
        """Remove a leased message; False if it is leased anew or gone.

        Args:
            receipt: of the delivery.
        """

    @abstractmethod
    def release(self, receipt: Any, delay: float) -> bool:
        """End a lease; False if the message is leased anew or gone.

        Args:
            receipt: of the delivery.
            delay: seconds until the message is ready again.
        """

    @abstractmethod
    def prolong(self, receipt: Any, seconds: float) -> Extension:
        """Set a lease to end `seconds` from now, never earlier than before where possible.

        Args:
            receipt: of the delivery.
            seconds: the new length.
        """

    def prolong_many(self, asked: Sequence[tuple[Any, float]]) -> Sequence[Extension]:
        """As `prolong`, for several; one by one, unless the engine has a call for it.

        Args:
            asked: receipts, each with the new length.
        """
        return [self.prolong(receipt, seconds) for receipt, seconds in asked]

    @abstractmethod
    def discard(self, receipt: Any, reason: str) -> bool:
        """Move a leased message to the dead letters; False if it is leased anew or gone.

        Args:
            receipt: of the delivery.
            reason: why.
        """

    @abstractmethod
    def dead_letters(self, limit: int = 100) -> Sequence[DeadLetter]:
        """Return dead letters, oldest first.

        Args:
            limit: how many at most.
        """

    @abstractmethod
    def requeue(self, ids: Iterable[str] | None = None) -> int:
        """Send dead letters again, with fresh delivery counts; return how many.

        Args:
            ids: which; None for all.
        """

    @abstractmethod
    def drop(self, ids: Iterable[str] | None = None) -> int:
        """Delete dead letters; return how many.

        Args:
            ids: which; None for all.
        """

    @abstractmethod
    def stats(self) -> MailboxStats:
        """Count the messages."""

    def peek(self, limit: int = 20) -> Sequence[StoredMessage]:  # noqa: ARG002
        """Return messages without receiving them, those that are ready first.

        Args:
            limit: how many at most.

        Raises:
            MailboxError: the engine shows a message only to who receives it.
        """
        raise MailboxError(
            f"{self.facts.engine} shows a message only to who receives it: its counts are in stats"
        )

    def purge(self) -> int:
        """Delete all messages that are not leased; return how many. Dead letters stay.

        Raises:
            MailboxError: the engine can't tell which messages are leased.
        """
        raise MailboxError(
            f"{self.facts.engine} can't tell which messages are leased: purge it with its own tools"
        )

    def close(self) -> None:
        """Release connections; closing twice is harmless."""

    # What a mailbox does.

    def send(self, body: Body, *, delay: float = 0.0, reply_to: str | None = None) -> str:
        """Put a message into the mailbox; return its id.

        Args:
            body: what it says.
            delay: seconds until it is ready.
            reply_to: address for the answer; None for no answer.

        Raises:
            MailboxError: the body is of another type, or too large.
        """
        return self.put(self._encoded(body, delay, reply_to), delay)

    def send_once(
        self, body: Body, key: str, *, delay: float = 0.0, reply_to: str | None = None
    ) -> str | None:
        """As `send`, unless a message was sent under `key` in the last 7 days: then None.

        Only where `facts.once`. Who sends may be cut off and send again; who answers may be
        another worker by then.

        Args:
            body, delay, reply_to: as for `send`.
            key: any text that names what is said.

        Raises:
            MailboxError: as for `send`, or the engine keeps no keys.
        """
        return self.put_once(self._encoded(body, delay, reply_to), delay, key)

    def _encoded(self, body: Body, delay: float, reply_to: str | None) -> bytes:
        check_seconds("delay", delay)
        data = self.codec.encode(body, reply_to=reply_to)
        limit = self.facts.max_bytes
        if limit is not None and len(data) > limit:
            raise MessageTooLarge(
                f"a message of {len(data)} bytes is too large for {self.facts.engine}: "
                f"at most {limit} bytes; store the content elsewhere and send its address"
            )
        return data

    def receive(
        self, max_messages: int = 1, *, wait: float = 0.0, visibility: float = 30.0
    ) -> Sequence[Message[Body]]:
        """Lease messages that are ready, or wait for the first.

        Bodies that can't be decoded go to the dead letters with their bytes.

        Args:
            max_messages: how many at most.
            wait: seconds to wait if none is ready.
            visibility: seconds that each lease lasts.
        """
        check_seconds("wait", wait)
        if not visibility > 0:
            raise MailboxError(f"visibility must be seconds above 0, not {visibility}")
        until = self.clock.monotonic() + wait if wait else 0.0
        while True:
            left = max(0.0, until - self.clock.monotonic()) if wait else 0.0
            asked, deliveries = self.poll(max_messages, visibility, left)
            messages = [one for one in map(self._opened(visibility, asked), deliveries) if one]
            if messages or not deliveries:
                return messages

    def poll(self, count: int, visibility: float, wait: float) -> tuple[float, Sequence[Delivery]]:
        """Call `take` until it has something.

        Args:
            count, visibility: as for `take`.
            wait: seconds to wait at most.

        Returns:
            monotonic seconds just before the call that leased the messages, and these.
        """
        pause, until = FIRST_PAUSE, self.clock.monotonic() + wait
        while True:
            asked = self.clock.monotonic()
            found = self.take(count, visibility)
            if found or not wait:
                return asked, found
            left = until - self.clock.monotonic()
            if left <= 0:
                return asked, found
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, LONGEST_PAUSE)

    def _opened(self, visibility: float, asked: float) -> Any:
        def opened(delivery: Delivery) -> Message[Body] | None:
            try:
                envelope = self.codec.decode(delivery.body)
            except UndecodableMessage as error:
                self._bury_undecodable(delivery, str(error))
                return None
            return Message(
                delivery.id,
                envelope.body,
                delivery.deliveries,
                visibility,
                asked,
                delivery.receipt,
                self,
                envelope.reply_to,
                delivery.sent_at,
                delivery.body,
            )

        return opened

    def _bury_undecodable(self, delivery: Delivery, reason: str) -> None:
        LOG.warning("message %s goes to the dead letters: %s", delivery.id, reason)
        try:
            self.discard(delivery.receipt, reason[:LONGEST_REASON])
        except MailboxError as error:
            # It comes back when its lease ends; the messages received with it must not wait.
            LOG.warning("message %s can't be given up now: %s", delivery.id, error)

    def ack(self, message: Message[Any]) -> bool:
        """Remove a message that was processed; False: refused, the lease is lost."""
        return self._ending(message, lambda: self.delete(message.receipt))

    def nack(self, message: Message[Any], delay: float = 0.0) -> bool:
        """Give a message back, ready after `delay` seconds; False: refused, the lease is lost."""
        check_seconds("delay", delay)
        return self._ending(message, lambda: self.release(message.receipt, delay))

    def bury(self, message: Message[Any], reason: str) -> bool:
        """Move a message to the dead letters; False if the engine refuses, since the lease is lost.

        Args:
            message: the leased message.
            reason: why, for whoever looks at it.
        """
        return self._ending(message, lambda: self.discard(message.receipt, reason[:LONGEST_REASON]))

    def extend(self, message: Message[Any], seconds: float) -> Extension:
        """Let a lease last `seconds` from now. Raises nothing: see `Extension`.

        Args:
            message: the leased message.
            seconds: the new length.
        """
        return self.extend_many([(message, seconds)])[0]

    def extend_many(self, asked: Sequence[tuple[Message[Any], float]]) -> Sequence[Extension]:
        """Extend several leases, at most `facts.batch` in one call; one outcome each.

        Args:
            asked: the messages, each with the seconds that its lease shall last from now.
        """
        held = [(message, seconds) for message, seconds in asked if self._still_held(message)]
        sent = self.clock.monotonic()
        if len(held) == 1:
            outcomes = [self.prolong(held[0][0].receipt, held[0][1])]
        else:
            outcomes = list(
                self.prolong_many([(message.receipt, seconds) for message, seconds in held])
            )
        known = dict(zip((message for message, _ in held), outcomes, strict=True))
        if not self.facts.fenced:
            for message, outcome in known.items():
                if isinstance(outcome, Granted):
                    self._ends[message] = sent + outcome.seconds
        return [known.get(message, OVER) for message, _ in asked]

    # The fence of an engine that has none.

    def _still_held(self, message: Message[Any]) -> bool:
        """Whether the engine may be asked in the name of this delivery.

        An engine that is not fenced would obey a worker whose lease was lost, and delete what
        another one works on: there, the clock of this process decides.
        """
        if self.facts.fenced:
            return True
        end = self._ends.get(message, message.received + message.visibility)
        return self.clock.monotonic() < end

    def _ending(self, message: Message[Any], call: Callable[[], bool]) -> bool:
        """End a delivery by `call`; False if it is over, be it only when the engine answers.

        An engine that is not fenced obeys a call that reaches it late, when another worker may
        have the message: of two that end it, only one may say so.
        """
        if not self._still_held(message):
            return False
        done = call() and self._still_held(message)
        if done and not self.facts.fenced:
            self._ends[message] = -math.inf
        return done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def check_seconds(name: str, value: float) -> None:
    """Refuse what is not a number of seconds.

    Raises:
        MailboxError: `value` is negative, infinite or NaN.
    """
    if not 0 <= value < float("inf"):
        raise MailboxError(f"{name} must be seconds of 0 or more, not {value}")
