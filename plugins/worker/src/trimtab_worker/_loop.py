"""Running a loop: threads that receive messages and handle them, until it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from trimtab import Heartbeat
from trimtab.text import describe_error
from trimtab_worker._events import MailboxFailed, MessageReturned, WorkerCrashed
from trimtab_worker._handling import LOG, MessageHandler, Replies
from trimtab_worker._health import Health, Watchdog, Watched, end_process
from trimtab_worker._keeper import KEEPER, Keeper
from trimtab_worker._lease_config import LoopConfig, calibrate
from trimtab_worker._records import LEASE_CLOCK, LoopSummary

if TYPE_CHECKING:
    from trimtab import Clock
    from trimtab_worker._mailbox import Mailbox, Message

RECONNECT = (1.0, 30.0)
"""Shortest and longest pause after a mailbox failed."""


class Loop(MessageHandler):
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
        super().__init__(config, replies=replies, on_event=on_event, clock=clock, keeper=keeper)
        self.requests = requests
        self._end = end
        self._stopping = threading.Event()
        self._asked = False
        self._drain = config.drain_timeout
        self._left: int | None = None
        self._threads: list[threading.Thread] = []
        self._watch: Watchdog | None = None
        self._mailbox_error: str | None = None

    def health(self) -> Health:
        """Return how the loop fares; safe from any thread."""
        threads, watch = self._threads, self._watch
        return Health(
            running=bool(threads) and all(thread.is_alive() for thread in threads),
            stopping=self._stopping.is_set(),
            stuck=() if watch is None else watch.stuck,
            mailbox_error=self._mailbox_error,
            working=self.working,
        )

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
        self._watch = watchdog = self._watchdog()
        self._threads = threads = [
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
            self._threads = []
            self._stopping, self._drain = threading.Event(), self.config.drain_timeout
            self._asked = False
            if watchdog is not None:
                watchdog.stop()
        return self._summary

    def stop(self, *, drain: float | None = None) -> None:
        """Take no more messages; `run` returns when those in progress are done.

        Before `run`, it makes the next `run` return at once. Safe in a signal handler, and may be
        called again, e.g. with ``drain=0`` to give the messages in progress back now.

        Args:
            drain: seconds that messages in progress get before they are given back; None: as
                configured.
        """
        if drain is not None:
            self._drain = drain
        # A second signal may interrupt the first one's call here: an event can't be set within
        # its own `set`, which holds a lock.
        if not self._asked:
            self._asked = True
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
        """Wait for the workers, after `stop` for as long as they may drain."""
        stopped: float | None = None
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(0.05)
            if not stopping.is_set():
                continue
            now = self.clock.monotonic()
            stopped = now if stopped is None else stopped
            if self._drain is not None and now - stopped >= self._drain:
                self._give_back()
                return

    def _give_back(self) -> None:
        """Give the messages in progress back to the mailbox; their threads can't be stopped."""
        with self._lock:
            working = list(self._working)
        for work in working:
            held = work.lost is None
            work.drop()
            reason: str | None = "its lease was lost"
            if held:
                reason = self._refused(partial(work.message.nack, 0.0), None, "it was refused")
            if reason is not None:
                LOG.warning("message %s is not given back: %s", work.message.id, reason)
                continue
            self._note(MessageReturned, work.message)

    def _worker(
        self, name: str, until_idle: bool, watchdog: Watchdog | None, stopping: threading.Event
    ) -> None:
        """Serve, and begin anew where that ends by an error: no message may cost a worker."""
        watched = Watched(name) if watchdog is None else watchdog.watch(name)
        try:
            while True:
                try:
                    self._serve(watched, stopping, until_idle=until_idle)
                    return
                except BaseException as error:  # noqa: BLE001 - whatever ended it
                    LOG.exception("%s failed", name)
                    pause = RECONNECT[0]
                    self._count("crashed")
                    self.tell(
                        WorkerCrashed(worker=name, error=describe_error(error), retry_in=pause)
                    )
                    stopping.wait(pause)
        finally:
            if watchdog is not None:
                watchdog.forget(watched)

    def _serve(self, watched: Watched, stopping: threading.Event, *, until_idle: bool) -> None:
        failures = 0
        while not stopping.is_set() and self._claim():
            try:
                messages = self._receive(watched)
            except BaseException as error:  # noqa: BLE001 - an engine's client is not ours
                self._unclaim()
                failures += 1
                stopping.wait(self._down(error, failures))
                continue
            failures, self._mailbox_error = 0, None
            if not messages:
                self._unclaim()
                if until_idle:
                    return
            for message in messages:
                if stopping.is_set():
                    # It arrived in a poll that began before: nobody waits for it here.
                    self._refused(partial(message.nack, 0.0), None, "refused")
                else:
                    self._handle(message, watched)

    def _receive(self, watched: Watched) -> Sequence[Message[Any]]:
        """Receive one at a time: a message that waits in a buffer ages."""
        # A call that never returns is a stuck worker, as work that never beats is.
        watched.heartbeat = Heartbeat(self.clock)
        try:
            return self.requests.receive(
                1, wait=self.config.poll_wait, visibility=self.config.visibility_timeout
            )
        finally:
            watched.heartbeat = None

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

    def _down(self, error: BaseException, failures: int) -> float:
        """Tell that the mailbox failed; return the seconds until the next attempt."""
        shortest, longest = RECONNECT
        pause = min(longest, shortest * 2.0 ** min(failures - 1, 10))
        LOG.warning("the mailbox failed: %s; next attempt in %.0f s", error, pause)
        self._mailbox_error = describe_error(error)
        self.tell(MailboxFailed(error=self._mailbox_error, retry_in=pause))
        return pause
