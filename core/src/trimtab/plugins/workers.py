"""Calls with a limit: an overdue provider is left behind, the next one gets a fresh thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, TimeoutError as FutureTimeout
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "Future[Any]"]


class Overdue(TimeoutError):
    """A provider took longer than its limit."""


class Worker:
    """One daemon thread that does one job at a time.

    A thread can't be ended from outside: after a job that is overdue the worker is retired, so
    that its thread ends with that job, and another one serves the jobs that follow.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: Thread | None = None

    def call(self, job: Callable[[], T], limit: float) -> T:
        """Return what `job` returns, or raise what it raises.

        Raises:
            Overdue: it took longer than `limit` seconds.
        """
        return Batch(self, [job], limit).take()

    def post(self, job: Callable[[], T]) -> Future[T]:
        """Let the thread do `job` after those that it has already."""
        future: Future[T] = Future()
        self._queue().put((job, future))
        return future

    def retire(self) -> None:
        """Let the thread end once it is free; the next call starts another."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread = None

    def _queue(self) -> SimpleQueue[_Job | None]:
        if self._thread is None:
            self._jobs = SimpleQueue()
            self._thread = Thread(
                target=_work, args=(self._jobs,), name="trimtab-provider", daemon=True
            )
            self._thread.start()
        return self._jobs


class Batch(Generic[T]):
    """Jobs posted together, so that their results cost one change of threads, not one each.

    Args:
        limit: seconds for each job, from the end of the one before it.
    """

    def __init__(self, worker: Worker, jobs: Iterable[Callable[[], T]], limit: float) -> None:
        self._worker = worker
        self._limit = limit
        self._waiting = deque((job, worker.post(job)) for job in jobs)

    def take(self) -> T:
        """Return what the next job returns, or raise what it raises.

        Raises:
            Overdue: it took longer than the limit; those behind it go to another thread.
        """
        _, future = self._waiting.popleft()
        try:
            return future.result(self._limit)
        except FutureTimeout:
            if future.done():
                raise
            self._worker.retire()
            self._post_again()
            raise Overdue(f"no answer within {self._limit:g} s") from None

    def _post_again(self) -> None:
        self._waiting = deque(
            (job, self._worker.post(job) if future.cancel() else future)
            for job, future in self._waiting
        )


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while (item := jobs.get()) is not None:
        job, future = item
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(job())
        except BaseException as error:  # handed to the caller, who decides
            future.set_exception(error)
