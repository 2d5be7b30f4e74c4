"""Metrics of a loop and its mailbox for OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from trimtab_worker._events import (
    LeaseEvent,
    LeaseShaky,
    MessageAbandoned,
    MessageBuried,
    MessageDone,
    MessageFailed,
    MessageReceived,
    MessageReturned,
    WorkerCrashed,
    WorkerStuck,
)
from trimtab_worker._records import MailboxError, WorkerError

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

    from trimtab_worker._message import Mailbox

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
            observed: tuple[tuple[str, str, Callable[..., Iterable[Observation]]], ...] = (
                ("trimtab.mailbox.messages", "", self._depth),
                ("trimtab.mailbox.oldest", "s", self._oldest),
            )
            for name, unit, callback in observed:
                meter.create_observable_gauge(name, [callback], unit)

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
        assert self._mailbox is not None
        try:
            stats = self._mailbox.stats()
        except MailboxError:
            return
        for state in STATES:
            yield self._observation(getattr(stats, state), {**self._engine, "state": state})

    def _oldest(self, _: CallbackOptions) -> Iterable[Observation]:
        assert self._mailbox is not None
        try:
            oldest = self._mailbox.stats().oldest
        except MailboxError:
            return
        yield self._observation(oldest or 0.0, self._engine)
