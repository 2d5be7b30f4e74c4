"""Records and errors of mailboxes, leases and loops, and the clock by which leases are judged."""

from __future__ import annotations

import time
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import attrs

from trimtab import SystemClock, TrimtabError


class MailboxError(TrimtabError):
    """A mailbox can't do what was asked; the message names the mailbox and the cause."""


class MessageTooLarge(MailboxError):
    """A body is longer than the engine allows."""


class UndecodableMessage(MailboxError):
    """The bytes of a message are not what this mailbox holds."""


class ReceiptHandleExpiredError(MailboxError):
    """The lease of a message is no longer ours: it expired, or the message is gone."""


class WorkerError(TrimtabError):
    """A worker can't be started; the message names the factory."""


class CalibrationError(TrimtabError, ValueError):
    """Times of a loop contradict each other; the message has the numbers and what would work."""


class CalibrationWarning(UserWarning):
    """A time that decides whether leases last is not given."""


@attrs.frozen
class LoopSummary:
    """What a loop did.

    Args:
        received: messages that were received.
        done: of these, processed and acknowledged.
        failed: given back to be tried again.
        buried: given up.
        abandoned: not delivered: lost to another worker, or to a mailbox that can't be reached.
        returned: given back when the loop stopped, their work unfinished.
        crashed: how often a thread of the loop ended by itself, and was replaced.
    """

    received: int = 0
    done: int = 0
    failed: int = 0
    buried: int = 0
    abandoned: int = 0
    returned: int = 0
    crashed: int = 0


MessageState = Literal["waiting", "leased", "delayed"]


@attrs.frozen(kw_only=True)
class MailboxFacts:
    """What an engine can do, known without asking it.

    Args:
        engine: its name, e.g. ``"sqlite"``.
        fenced: the engine itself refuses a worker that lost its lease, whatever it asks. Without
            that, `Mailbox` refuses by the worker's clock.
        reports_loss: an extension by a worker that lost its lease is refused visibly.
        extendable: leases can be extended at all.
        max_total: seconds after receipt that no extension can pass, None without limit.
        max_grant: seconds that one grant may last, None without limit.
        batch: how many leases one call can extend.
        call_timeout: seconds after which a call to the engine is given up.
        max_bytes: longest message as sent, None without limit.
        peeks: messages can be looked at without receiving them, and all but leased ones purged.
        once: a message can be sent under a key, which a second one under it does not pass.
    """

    engine: str
    fenced: bool
    reports_loss: bool
    extendable: bool = True
    max_total: float | None = None
    max_grant: float | None = None
    batch: int = 1
    call_timeout: float = 5.0
    max_bytes: int | None = None
    peeks: bool = True
    once: bool = False


@attrs.frozen
class Granted:
    """The lease lasts `seconds` from the moment the request was sent."""

    seconds: float


@attrs.frozen
class Lost:
    """The lease can't be regained: redelivered, acknowledged, or refused by the queue.

    Args:
        reason: which of these.
    """

    reason: str


@attrs.frozen
class Unknown:
    """Nothing was learnt: a timeout, a throttle, an error of the service. Worth a retry."""

    error: str


@attrs.frozen
class Capped:
    """The engine's limit on the whole lease is reached; the lease ends when it ends.

    Args:
        limit: the limit, in seconds after receipt; None if the engine does not say.
    """

    limit: float | None = None


Extension = Granted | Lost | Unknown | Capped


@attrs.frozen
class Delivery:
    """One message as an engine hands it out, before its bytes are decoded.

    Args:
        id: of the message; the same at every delivery.
        receipt: what the engine needs to recognise this delivery.
        body: the bytes that were sent.
        deliveries: how often the message was handed out, this time included.
        sent_at: when it was sent, where the engine knows.
    """

    id: str
    receipt: Any
    body: bytes
    deliveries: int
    sent_at: datetime | None = None


@attrs.frozen
class DeadLetter:
    """A message that will not be delivered again.

    Args:
        id: names it in `requeue` and `drop`.
        body: the bytes that were sent.
        reason: why it was given up.
        deliveries: how often it was handed out.
        died_at: when it was given up, where the engine knows.
    """

    id: str
    body: bytes
    reason: str
    deliveries: int
    died_at: datetime | None = None


@attrs.frozen
class StoredMessage:
    """A message as it lies in a mailbox, looked at and not received.

    Args:
        id: of the message.
        state: ``"waiting"``, ``"leased"`` or ``"delayed"``.
        deliveries: how often it was handed out.
        body: the bytes that were sent.
        sent_at: when it was sent, where the engine knows.
        until: seconds from now to the end of the lease or of the delay; 0 while it waits.
    """

    id: str
    state: MessageState
    deliveries: int
    body: bytes
    sent_at: datetime | None = None
    until: float = 0.0

    @classmethod
    def of(cls, message: Delivery, left: float, *, held: bool) -> StoredMessage:
        """Return a message whose lease or delay ends in `left` seconds.

        Args:
            message: what the engine stores; its receipt does not count.
            left: seconds, negative where it has ended.
            held: the last delivery was neither acknowledged nor given back.
        """
        state: MessageState = "waiting" if left <= 0 else "leased" if held else "delayed"
        return cls(
            message.id, state, message.deliveries, message.body, message.sent_at, max(0.0, left)
        )


@attrs.frozen
class MailboxStats:
    """Counts of messages; None if the engine can't tell.

    Args:
        waiting: ready to be received.
        in_flight: received, not yet acknowledged.
        delayed: to be ready later.
        dead: given up.
        acked: acknowledged since the mailbox exists.
        oldest: seconds since the oldest message that waits was sent; None also if none waits.
    """

    waiting: int
    in_flight: int
    delayed: int
    dead: int
    acked: int | None = None
    oldest: float | None = None


_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class LeaseClock(SystemClock):
    """The system's clock; its monotonic seconds include suspension, where the system can tell."""

    @staticmethod
    def monotonic() -> float:
        return time.clock_gettime(_BOOT)


@cache
def boot_id() -> str | None:
    """Return what names this start of the machine, where `LeaseClock` counts from it."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() or None
    except (OSError, ValueError):
        return None


LEASE_CLOCK = LeaseClock()
