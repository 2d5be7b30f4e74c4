"""Recorders of a run: opened with it, fed in order, told what hosts ask, closed with it."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from trimtab._boundary import (
    SLOW_SECONDS,
    Ask,
    Inside,
    Reply,
    WrongReturn,
    is_inside,
    own_records,
    owners,
    within,
)
from trimtab._contract import RecorderContext
from trimtab._events import Event, Question
from trimtab._run import call_all
from trimtab._types.errors import class_name

if TYPE_CHECKING:
    from trimtab._events import Provenance
    from trimtab._run import OpenRun


PATIENCE = 1.0
"""How long a thread waits, in seconds, for the one that has a recorder."""

MOST_IN_A_ROW = 1_000
"""How many events one thread hands over before it returns to its host; the next goes on."""

_REPORTS = (
    "it reports to the run that it records, which does not reach it: return a list of records "
    "instead"
)
_Feeds = tuple["RecorderFeed", ...]
_Caused = tuple[object, _Feeds]
"""A record, and the recorders that caused it, the first of them first."""


class RecorderFeed:
    """Hands the events of one run to one recorder, in the order in which they were recorded.

    A recorder that fails or is overdue is a failure like any provider's: an event, and after
    three in a row it gets no more events. Being slow is one event per run. What `record` returns is
    added to the run, in order.

    What a recorder caused does not reach it: what it returned, what it reported to the run from
    `record`, its failures, and what other recorders made of these. Else two of them could go on
    forever.
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
        self._ask = Ask(source, "record", lambda event: own_records(record(event)))
        self._timeout = timeout
        self._queue: deque[_Caused] = deque()
        self._busy = Lock()
        self._patience = PATIENCE
        self._slow = False
        self._asking = object()  # whose stretch is `record`
        self._returned: deque[_Caused] = deque()
        self._adding = Lock()
        self._reports = self._warned = False

    def wants(self, event: object) -> bool:
        return not isinstance(event, Event) or event.run_id == self._run.state.run_id

    def put(self, event: object) -> None:
        if not is_inside(self):
            causes = tuple([one for one in owners() if isinstance(one, RecorderFeed)])
            self._queue.append((event, causes))
        elif is_inside(self._asking):
            self._reports = True

    def drain(self) -> None:
        self._drain(MOST_IN_A_ROW)

    def _drain(self, most: int) -> None:
        """Hand over what is queued, unless another thread does, or this is `record` itself.

        The thread that has the recorder may wait for this one, so that this one waits a second
        for it, once, and then leaves its events to it.
        """
        if is_inside(self):
            return
        for _ in range(most):
            if not self._queue:
                break
            if not self._busy.acquire(timeout=self._patience):
                self._patience = 0.0
                break
            try:
                if self._queue:
                    self._hand_over(*self._queue.popleft())
            finally:
                self._busy.release()
        self._add_returned()

    def _add_returned(self) -> None:
        """Add what was returned to the run, outside `_busy`: it reaches other recorders at once.

        A thread that finds another one adding leaves its own to it.
        """
        while self._returned and self._adding.acquire(blocking=False):
            try:
                while self._returned:
                    record, causes = self._returned.popleft()
                    if isinstance(record, Event):
                        record = self._run.stamp(record)
                    within(causes, self._run.session.dispatch, record, others=RecorderFeed)
            finally:
                self._adding.release()

    def _hand_over(self, event: object, causes: _Feeds) -> None:
        if self.source.key in self._run.state.quarantined:
            self._queue.clear()
            return
        causes = (*causes, self)
        asked = (*causes, self._asking)
        reply = within(asked, self._call, event, others=RecorderFeed)
        within(causes, self._handed_over, reply, others=RecorderFeed)
        self._returned += [(record, causes) for record in reply.value or ()]

    def _call(self, event: object) -> Reply[tuple[object, ...]]:
        monotonic = self._run.session.clock.monotonic
        return call_all((self._ask,), event, Inside(), monotonic, self._timeout)[0]

    def _handed_over(self, reply: Reply[tuple[object, ...]]) -> None:
        invoker = self._run.invoker
        if reply.error is not None:
            invoker.failed(self.source, "record", reply.error, reply.cause)
        else:
            invoker.succeeded(self.source, "record", 0.0 if self._slow else reply.seconds)
            self._slow = self._slow or reply.seconds > SLOW_SECONDS
        if self._reports and not self._warned:
            self._warned = True
            invoker.failed(self.source, "record", _REPORTS)

    def close(self) -> None:
        """Hand over what is left."""
        self._patience = PATIENCE
        self._drain(MOST_IN_A_ROW + len(self._queue))


class Recordings:
    """The recorders of one run while it is open."""

    def __init__(
        self, run: OpenRun, recorders: Iterable[Ask], keep: int | None, timeout: float | None
    ) -> None:
        """Open the recorders; one that fails is left out, on record."""
        self._run = run
        self._timeout = timeout
        self._open: list[tuple[RecorderFeed, Any]] = []
        table = run.prompt.table
        context = RecorderContext(
            run,
            run.trajectory.tool_profiles,
            keep,
            providers=table.settings,
            guidance_limit=table.guidance_limit,
            feedback_delivery=table.feedback_delivery,
            state_folder=table.state_folder,
        )
        for ask in recorders:
            opens = Ask(ask.source, ask.hook, partial(_opened, ask.work))
            reply = run.invoker.call(opens, context, timeout)
            if reply.value is not None:
                record, close = reply.value
                feed = RecorderFeed(run, ask.source, record, timeout)
                self._open.append((feed, close))
                run.session._attach(feed)

    def tell(self, event: Event) -> None:
        """Tell the recorders what the session does not keep; of a question also the deadline."""
        session, limit, more = self._run.session, self._run.deadline, {}
        if limit is not None and isinstance(event, Question):
            more["deadline"] = (limit.total, limit.elapsed().total_seconds())
        with session.lock:
            session._feed(self._run.stamp(event, **more))

    def stop(self) -> None:
        """Close the recorders; they get no more events. Stopping twice is no error."""
        while self._open:
            feed, close = self._open.pop(0)
            self._run.session._detach(feed)
            feed.close()
            if close is not None:
                self._run.invoker.call(Ask(feed.source, "close", close), None, self._timeout)


def _opened(start: Callable[[Any], Any], context: RecorderContext) -> tuple[Any, Any]:
    """Open a recorder; return what takes its events, and what closes it, if anything does."""
    recording = start(context)
    record, close = getattr(recording, "record", None), getattr(recording, "close", None)
    if not callable(record):
        name = class_name(recording)
        raise WrongReturn(f"open returned {name}, which has no record(event)")
    for method, line in ((record, "record(self, event)"), (close, "close(self)")):
        if inspect.iscoroutinefunction(method):
            whose = f"{class_name(recording)}, whose {line.partition('(')[0]} is async"
            raise WrongReturn(f"open returned {whose}; write: def {line}: …")
    return record, (lambda _: close()) if callable(close) else None
