"""Calls with a limit: an overdue provider is left behind, the next one gets a fresh thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, TimeoutError as FutureTimeout
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

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
        future: Future[T] = Future()
        self._queue().put((job, future))
        try:
            return future.result(limit)
        except FutureTimeout:
            if future.done():
                raise
            self.retire()
            raise Overdue(f"no answer within {limit:g} s") from None

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


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while (item := jobs.get()) is not None:
        job, future = item
        try:
            future.set_result(job())
        except BaseException as error:  # handed to the caller, who decides
            future.set_exception(error)
