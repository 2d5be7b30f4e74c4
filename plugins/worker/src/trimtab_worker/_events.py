"""Events of leases and loops; those of a lease are recorded in the agent's session too."""

from __future__ import annotations

from typing import Any

import attrs

from trimtab import Event


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LeaseEvent(Event):
    """Something about the lease of one message.

    Args:
        message_id: of the message.
        deliveries: which delivery of it, from 1; 0 where unknown.
    """

    message_id: str = ""
    deliveries: int = 0


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LeaseShaky(LeaseEvent):
    """Extending failed and is retried until the lease ends.

    Args:
        error: of the last attempt.
        remaining: seconds until the lease ends.
    """

    error: str
    remaining: float | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LeaseLost(LeaseEvent):
    """The lease ended while the work went on: another worker may do the same work.

    Args:
        reason: what is known of the cause.
        final: the engine said so; otherwise the time passed, and a beat may still regain it.
    """

    reason: str
    final: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LeaseRegained(LeaseEvent):
    """An extension was accepted after the lease had ended: no other worker had the message.

    Args:
        late: seconds between the end of the lease and the extension.
    """

    late: float


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LeaseCapNear(LeaseEvent):
    """No extension can pass a limit that is near.

    Args:
        remaining: seconds until the limit.
        limit: seconds after receipt, where it is a duration.
        reason: whose limit it is.
    """

    remaining: float
    limit: float | None = None
    reason: str = ""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LeaseGrantDiffers(LeaseEvent):
    """The engine granted less than was asked; the lease is kept by what it granted.

    Args:
        asked: seconds.
        granted: seconds.
    """

    asked: float
    granted: float


@attrs.frozen(kw_only=True)
class MessageEvent:
    """Something that a loop did with one message.

    Args:
        message_id: of the message.
        deliveries: which delivery of it, from 1.
    """

    message_id: str
    deliveries: int = 0


@attrs.frozen(kw_only=True)
class MessageReceived(MessageEvent):
    """Work on the message begins.

    Args:
        waited: seconds since it was sent, where the engine knows.
    """

    waited: float | None = None


@attrs.frozen(kw_only=True)
class MessageDone(MessageEvent):
    """The message was processed, answered and acknowledged.

    Args:
        seconds: that it took.
    """

    seconds: float


@attrs.frozen(kw_only=True)
class MessageFailed(MessageEvent):
    """Processing failed; the message will be delivered again.

    Args:
        error: what was raised.
        retry_in: seconds until the next delivery at the earliest.
    """

    error: str
    retry_in: float


@attrs.frozen(kw_only=True)
class MessageAbandoned(MessageEvent):
    """The result was not delivered: the lease was lost, or the mailbox can't be reached.

    Args:
        reason: what the engine or the lease said.
    """

    reason: str


@attrs.frozen(kw_only=True)
class MessageBuried(MessageEvent):
    """The message went to the dead letters.

    Args:
        reason: why.
    """

    reason: str


@attrs.frozen(kw_only=True)
class MailboxFailed:
    """The mailbox could not be reached; the loop tries again.

    Args:
        error: what was raised.
        retry_in: seconds until the next attempt.
    """

    error: str
    retry_in: float


@attrs.frozen(kw_only=True)
class WorkerCrashed:
    """A thread of a loop ended by an error that no message caused; another takes its place.

    Args:
        worker: its name.
        error: what was raised.
        retry_in: seconds until it starts again.
    """

    worker: str
    error: str
    retry_in: float


@attrs.frozen(kw_only=True)
class MessageReturned(MessageEvent):
    """The loop stopped before the work was done, and gave the message back."""


@attrs.frozen(kw_only=True)
class WorkerStuck:
    """A worker showed no progress for too long; the process ends.

    Args:
        worker: its name.
        silent_for: seconds since its last beat.
        threshold: seconds that were allowed.
        message_id: of the message that it worked on; None: the mailbox did not answer.
    """

    worker: str
    silent_for: float
    threshold: float
    message_id: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SampleScored(Event):
    """A sample was evaluated.

    Args:
        sample_id: id of its message.
        evaluator: name of what scored it.
        value: the score.
        passed: whether it is good enough.
        reason: why, in words.
        output: what was scored, as JSON values.
    """

    sample_id: str
    evaluator: str
    value: float
    passed: bool
    reason: str = ""
    output: Any = None
