"""What loops share: receive, lease, work, answer, acknowledge; give up; stop."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import plural
from trimtab_worker._calibration import calibrate
from trimtab_worker._clock import LEASE_CLOCK
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
from trimtab_worker._keeper import KEEPER, Keeper
from trimtab_worker._watchdog import Watchdog, Watched, end_process
from trimtab_worker._work import LoopSummary, Work

if TYPE_CHECKING:
    from trimtab import Clock
    from trimtab_worker._message import Mailbox, Message

LOG = logging.getLogger("trimtab_worker")
Replies = Any
"""A mailbox for all answers, or a mapping from the addresses that are allowed to mailboxes."""

ATTEMPTS = (0.2, 1.0, 3.0)
"""Seconds between attempts to acknowledge."""
RECONNECT = (1.0, 30.0)
"""Shortest and longest pause after a mailbox failed."""


class Loop(ABC):
    """Receives messages and works on them; `MainLoop` and `EvalLoop` say how.

    Args:
        requests: where messages come from.
        config: times, dead letters, concurrency.
        replies: where answers go: one mailbox for all, or a mapping from `reply_to` addresses to
            mailboxes. Addresses outside it are not served: a sender must not choose what a worker
            connects to.
        on_event: called with what happens, on the thread where it happens.
        clock: where the time is read.
        keeper: whose thread extends leases.
        end: ends the process when a worker is stuck.

    Raises:
        CalibrationError: times of `config` contradict each other on this engine.
    """

    def __init__(
        self,
        requests: Mailbox[Any],
        config: LoopConfig,
        *,
        replies: Replies = None,
        on_event: Callable[[Any], object] | None = None,
        clock: Clock = LEASE_CLOCK,
        keeper: Keeper = KEEPER,
        end: Callable[[], object] = end_process,
    ) -> None:
        facts = getattr(requests, "facts", None)
        if facts is not None:
            calibrate(config, facts, stacklevel=5)
        self.requests = requests
        self.config = config
        self.replies = replies
        self.clock = clock
        self._on_event = on_event
        self._keeper = keeper
        self._end = end
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._working: dict[Work, None] = {}
        self._summary = LoopSummary()
        self._left: int | None = None

    @abstractmethod
    def work(self, work: Work) -> Any:
        """Do what the message asks for; return the answer. What it raises is a failure."""

    @abstractmethod
    def failure(self, work: Work, error: BaseException) -> Any:
        """Return the answer for a message that is given up, None for no answer."""

    # Running.

    def run(self, *, max_messages: int | None = None, until_idle: bool = False) -> LoopSummary:
        """Work on messages until `stop` is called.

        Args:
            max_messages: stop after so many.
            until_idle: stop when no message is ready.

        Returns:
            what was done in this call.
        """
        self._summary, self._left = LoopSummary(), max_messages
        stopping = self._stopping
        watchdog = self._watchdog()
        threads = [
            threading.Thread(
                target=self._worker,
                args=(f"worker-{n}", until_idle, watchdog, stopping),
                daemon=True,
            )
            for n in range(self.config.concurrency)
        ]
        for thread in threads:
            thread.start()
        try:
            self._join(threads, stopping)
        finally:
            stopping.set()
            self._stopping = threading.Event()
            if watchdog is not None:
                watchdog.stop()
        return self._summary

    def stop(self) -> None:
        """Take no more messages; `run` returns when those in progress are done.

        Before `run`, it makes the next `run` return at once. Safe in a signal handler.
        """
        self._stopping.set()

    def _watchdog(self) -> Watchdog | None:
        threshold = self.config.watchdog_threshold
        if threshold is None:
            return None
        watchdog = Watchdog(
            threshold, on_event=self.tell, drain=self.stop, end=self._end, clock=self.clock
        )
        watchdog.start()
        return watchdog

    def _join(self, threads: list[threading.Thread], stopping: threading.Event) -> None:
        """Wait for the workers, after `stop` for `drain_timeout` at most."""
        limit, until = self.config.drain_timeout, None
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(0.05)
            if limit is not None and stopping.is_set():
                until = until if until is not None else self.clock.monotonic() + limit
                if self.clock.monotonic() >= until:
                    self._give_back()
                    return

    def _give_back(self) -> None:
        """Give the messages in progress back to the mailbox; their threads can't be stopped."""
        with self._lock:
            working = list(self._working)
        for work in working:
            work.dropped = True
            if work.extender is not None:
                work.extender.release()
            self._firmly(lambda work=work: work.message.nack(0.0))  # type: ignore[misc]

    def _worker(
        self, name: str, until_idle: bool, watchdog: Watchdog | None, stopping: threading.Event
    ) -> None:
        watched = Watched(name) if watchdog is None else watchdog.watch(name)
        try:
            self._serve(watched, stopping, until_idle=until_idle)
        finally:
            if watchdog is not None:
                watchdog.forget(watched)

    def _serve(self, watched: Watched, stopping: threading.Event, *, until_idle: bool) -> None:
        failures = 0
        while not stopping.is_set() and self._claim():
            try:
                # One at a time: a message that waits in a buffer ages.
                messages = self.requests.receive(
                    1, wait=self.config.poll_wait, visibility=self.config.visibility_timeout
                )
            except Exception as error:  # noqa: BLE001 - an engine's client is not ours
                self._unclaim()
                failures += 1
                stopping.wait(self._down(error, failures))
                continue
            failures = 0
            if not messages:
                self._unclaim()
                if until_idle:
                    return
            for message in messages:
                self._handle(message, watched)

    def _claim(self) -> bool:
        with self._lock:
            if self._left is None:
                return True
            self._left -= 1
            return self._left >= 0

    def _unclaim(self) -> None:
        with self._lock:
            if self._left is not None:
                self._left += 1

    def _down(self, error: Exception, failures: int) -> float:
        """Tell that the mailbox failed; return the seconds until the next attempt."""
        shortest, longest = RECONNECT
        pause = min(longest, shortest * 2.0 ** min(failures - 1, 10))
        LOG.warning("the mailbox failed: %s; next attempt in %.0f s", error, pause)
        self.tell(MailboxFailed(error=f"{type(error).__name__}: {error}", retry_in=pause))
        return pause

    # One message.

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
        """Return the seconds before a message that failed so often is ready again."""
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
