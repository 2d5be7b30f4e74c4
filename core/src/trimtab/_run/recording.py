"""Recorders of a run: opened with it, fed in order, closed with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._contract.context import RecorderContext
from trimtab._events import questions
from trimtab._events.providers import ProviderSlow
from trimtab._events.run import Event
from trimtab._run.invoker import SLOW_SECONDS
from trimtab._session.slices import Sink
from trimtab._table.entries import WrongReturn
from trimtab._types.in_flight import call_told

if TYPE_CHECKING:
    from trimtab._events.provenance import Provenance
    from trimtab._run.open_run import OpenRun
    from trimtab._run.workers import Worker
    from trimtab._table.entries import RunHook


class RecorderFeed(Sink):
    """Hands the events of one run to one recorder, in the order in which they were recorded.

    A recorder that fails or is overdue is a failure like any provider's: an event, and after
    three in a row it gets no more events. Being slow is one event per run. What `record` returns is
    added to the run, in order.

    Args:
        run: whose events they are; records that belong to no run are handed over too.
        source: who the recorder is.
        record: takes one event.
        timeout: seconds per event, on a worker thread; None calls `record` on the thread that
            recorded the event.
    """

    def __init__(
        self,
        run: OpenRun,
        source: Provenance,
        record: Callable[[Any], object],
        timeout: float | None,
    ) -> None:
        self.source = source
        self._run = run
        self._record = record
        self._timeout = timeout
        self._queue: deque[object] = deque()
        self._busy = Lock()
        self._thread = 0
        self._slow = False
        self._worker: Worker | None = None
        self._returned: deque[object] = deque()
        self._adding = Lock()
        self._own: object = None

    def wants(self, event: object) -> bool:
        return not isinstance(event, Event) or event.run_id == self._run.state.run_id

    def put(self, event: object) -> None:
        if event is not self._own:
            self._queue.append(event)

    def drain(self) -> None:
        thread = get_ident()
        if self._thread == thread:
            return  # recorded by a failure of this very recorder: the loop below takes it next
        with self._busy:
            self._thread = thread
            try:
                while self._queue:
                    self._hand_over()
            finally:
                self._thread = 0
        self._add_returned()

    def _add_returned(self) -> None:
        """Add what was returned to the run, outside `_busy`: it reaches other recorders at once.

        A thread that finds another one adding leaves its own to it.
        """
        while self._returned and self._adding.acquire(blocking=False):
            try:
                while self._returned:
                    record = self._returned.popleft()
                    if isinstance(record, Event):
                        record = self._run.stamp(record)
                    self._own = record
                    self._run.session.dispatch(record)
            finally:
                self._own = None
                self._adding.release()

    def _hand_over(self) -> None:
        if self.source.key in self._run.state.quarantined:
            self._queue.clear()
        elif self._timeout is None:
            self._call(self._queue.popleft())
        else:
            self._call_on_worker(self._timeout)

    def _call(self, event: object) -> None:
        monotonic = self._run.session.clock.monotonic
        began = monotonic()
        try:
            self._returned += self._take(event)
        except (Exception, SystemExit) as error:
            self._run.invoker.failed(self.source, "record", error)
        else:
            self._recorded(monotonic() - began)

    def _call_on_worker(self, timeout: float) -> None:
        if self._worker is None:
            from trimtab._run.workers import Worker

            self._worker = Worker()
        monotonic = self._run.session.clock.monotonic
        jobs = [partial(self._take, self._queue.popleft()) for _ in range(len(self._queue))]
        for done in self._worker.run(jobs, timeout, monotonic):
            if done.error is not None:
                self._run.invoker.failed(self.source, "record", done.error)
            else:
                self._returned += done.value or ()
                self._recorded(done.seconds)

    def _take(self, event: object) -> tuple[object, ...]:
        return _returned(call_told(self.source.name, self._record, event))

    def _recorded(self, seconds: float) -> None:
        if self._run.state.faults:
            self._run.state.faults.pop(self.source.key, None)
        if seconds > SLOW_SECONDS and not self._slow:
            self._slow = True
            self._run.dispatch(ProviderSlow, source=self.source, hook="record", seconds=seconds)

    def close(self) -> None:
        """Hand over what is left, and let the worker's thread end."""
        self.drain()
        if self._worker is not None:
            self._worker.retire()


class Recordings:
    """The recorders of one run while it is open.

    Args:
        run: the run.
        timeout: seconds per call of a recorder, on a worker thread; None calls them on this one.
    """

    def __init__(self, run: OpenRun, timeout: float | None) -> None:
        self._run = run
        self._timeout = timeout
        self._open: list[tuple[RecorderFeed, Any]] = []

    def start(self, recorders: Iterable[RunHook], keep: int | None) -> None:
        """Open the recorders; one that fails is left out, on record.

        Args:
            recorders: who they are, and their ``open``.
            keep: tool results that the session keeps whole.
        """
        prompt, host = self._run.prompt, self._run.host
        profiles = (*prompt.template.tool_profiles, *host.tool_profiles)
        context = RecorderContext(self._run.view, prompt.table, profiles, keep)
        for source, start in recorders:
            reply = self._run.invoker.call(
                source, "open", partial(_opened, start), context, self._timeout
            )
            if reply.value is not None:
                feed = RecorderFeed(self._run, source, reply.value.record, self._timeout)
                self._open.append((feed, reply.value))
                self._run.session._attach(feed)

    def asked(self, question: str, **fields: Any) -> None:
        """Tell the recorders of a question, and how much of the deadline is left.

        Args:
            question: name of its class.
            fields: the question's own fields.
        """
        limit = self._run.deadline
        if limit is not None:
            fields["deadline"] = (limit.total, limit.elapsed().total_seconds())
        self._tell(getattr(questions, question)(**fields))

    def rendered(self, text: str) -> None:
        """Tell the recorders what the model reads."""
        self._tell(questions.PromptRendered(text=text))

    def _tell(self, event: Event) -> None:
        session = self._run.session
        with session.lock:
            session._feed(self._run.stamp(event))

    def stop(self) -> None:
        """Close the recorders; they get no more events. Stopping twice is no error."""
        while self._open:
            feed, recording = self._open.pop(0)
            self._run.session._detach(feed)
            feed.close()
            close = getattr(recording, "close", None)
            if callable(close):
                self._run.invoker.call(
                    feed.source, "close", partial(_closed, close), None, self._timeout
                )


def _returned(records: object) -> tuple[object, ...]:
    if records is None:
        return ()
    if isinstance(records, list | tuple) and all(attrs.has(type(record)) for record in records):
        return tuple(records)
    raise WrongReturn("record must return None, or a list of attrs records to add to the run")


def _opened(start: Callable[[Any], Any], context: RecorderContext) -> Any:
    recording = start(context)
    if not callable(getattr(recording, "record", None)):
        raise WrongReturn(f"open returned {type(recording).__name__}, which has no record(event)")
    return recording


def _closed(close: Callable[[], object], _: None) -> None:
    close()
