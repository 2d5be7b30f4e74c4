"""Events of leases and loops, and metrics for OpenTelemetry made of them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Event
from trimtab_worker._records import MailboxError, MailboxStats, WorkerError

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

    from trimtab_worker._mailbox import Mailbox


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


OUTCOMES: dict[type[Any], str] = {
    MessageDone: "done",
    MessageFailed: "failed",
    MessageAbandoned: "abandoned",
    MessageBuried: "buried",
    MessageReturned: "returned",
}
STATES = ("waiting", "in_flight", "delayed", "dead")


class Metrics:
    """Listens to a loop and records metrics: give it as `on_event`, or to `Loop.listen`.

    The mailbox is asked each time that the metrics are exported.

    Args:
        mailbox: whose messages are counted; None leaves its gauges out.
        provider: of meters; the global one where None.

    Raises:
        WorkerError: the package ``opentelemetry-api`` is missing.
    """

    def __init__(
        self, mailbox: Mailbox[Any] | None = None, *, provider: MeterProvider | None = None
    ) -> None:
        try:
            from opentelemetry import metrics
        except ImportError as error:
            raise WorkerError(
                "metrics need opentelemetry-api: install trimtab-worker[otel]"
            ) from error
        meter = metrics.get_meter("trimtab_worker", meter_provider=provider)
        self._observation = metrics.Observation
        self._mailbox = mailbox
        self._messages = meter.create_counter("trimtab.worker.messages")
        self._redeliveries = meter.create_counter("trimtab.worker.redeliveries")
        self._duration = meter.create_histogram("trimtab.worker.duration", "s")
        self._wait = meter.create_histogram("trimtab.worker.wait", "s")
        self._margin = meter.create_histogram("trimtab.worker.lease.margin", "s")
        self._leases = meter.create_counter("trimtab.worker.lease.events")
        self._failures = meter.create_counter("trimtab.worker.failures")
        if mailbox is not None:
            self._engine = {"engine": mailbox.facts.engine}
            meter.create_observable_gauge("trimtab.mailbox.messages", [self._depth])
            meter.create_observable_gauge("trimtab.mailbox.oldest", [self._oldest], "s")

    def __call__(self, event: Any) -> None:
        """Record what an event tells."""
        kind = type(event)
        if kind in OUTCOMES:
            self._messages.add(1, {"outcome": OUTCOMES[kind]})
        if isinstance(event, MessageDone):
            self._duration.record(event.seconds)
        elif isinstance(event, MessageReceived):
            if event.deliveries > 1:
                self._redeliveries.add(1)
            elif event.waited is not None:
                self._wait.record(event.waited)
        elif isinstance(event, LeaseEvent):
            self._leases.add(1, {"event": kind.__name__})
            if isinstance(event, LeaseShaky) and event.remaining is not None:
                self._margin.record(max(0.0, event.remaining))
        elif isinstance(event, WorkerCrashed | WorkerStuck):
            self._failures.add(1, {"event": kind.__name__})

    def _depth(self, _: CallbackOptions) -> Iterable[Observation]:
        for stats in self._stats():
            for state in STATES:
                yield self._observation(getattr(stats, state), {**self._engine, "state": state})

    def _oldest(self, _: CallbackOptions) -> Iterable[Observation]:
        for stats in self._stats():
            yield self._observation(stats.oldest or 0.0, self._engine)

    def _stats(self) -> Iterable[MailboxStats]:
        """Yield the counts; nothing where the mailbox can't be reached."""
        assert self._mailbox is not None
        with suppress(MailboxError):
            yield self._mailbox.stats()
