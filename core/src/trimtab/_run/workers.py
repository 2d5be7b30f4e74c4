"""Calls with a timeout: no one waits for an overdue provider, the next one gets a new thread.

A whole batch of calls is handed to a thread at once: on the path of every tool call, a future
for each provider would cost more than the provider.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

import attrs

T = TypeVar("T")
Inside = Callable[[Callable[[], None]], None]
TICKS = 4
MOST_IDLE = 8
"""How many threads wait for the next job of any run; in a process with many open runs, a thread
for each would cost more memory than the runs."""


class Overdue(TimeoutError):
    """A provider took longer than its timeout."""


@attrs.define(eq=False, repr=False)
class Done(Generic[T]):
    """The outcome of one job: a value, or the error that it raised; and how long it took."""

    value: T | None
    error: BaseException | None = None
    seconds: float = 0.0

    def result(self) -> T | None:
        """Return the value or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


_idle: list[Worker] = []


def do(
    jobs: Sequence[Callable[[], T]], timeout: float, monotonic: Callable[[], float], inside: Inside
) -> list[Done[T]]:
    """Do `jobs` as `Worker.run` does, on an idle thread or a new one."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = Worker()
    done = worker.run(jobs, timeout, monotonic, inside)
    if len(_idle) < MOST_IDLE:
        _idle.append(worker)
    else:
        worker.retire()
    return done


def _directly(work: Callable[[], None]) -> None:
    work()


class Worker:
    """One daemon thread that does the jobs of one caller at a time.

    A thread can't be ended from outside: after a job that is overdue the worker takes another
    one, and the old one ends with that job.
    """

    def __init__(self) -> None:
        self._inbox: SimpleQueue[_Batch[Any] | None] | None = None
        self._process = 0

    def run(
        self,
        jobs: Sequence[Callable[[], T]],
        timeout: float,
        monotonic: Callable[[], float],
        inside: Inside = _directly,
    ) -> list[Done[T]]:
        """Do `jobs` in order; return the outcome of each, `Overdue` for those left behind.

        If the system has no thread to give, that error is the outcome.

        Args:
            timeout: seconds for each job; noticed at most a quarter later.
            monotonic: returns the time in seconds, to measure jobs.
            inside: calls what it is given; jobs run within.
        """
        done: list[Done[T]] = []
        while len(done) < len(jobs):
            batch = _Batch(jobs[len(done) :], monotonic, inside)
            try:
                self._post(batch)
            except RuntimeError as error:
                return done + [Done(None, error)] * (len(jobs) - len(done))
            done += batch.wait(timeout)
            if len(done) < len(jobs):
                self.retire()
                done.append(Done(None, Overdue(f"no answer within {timeout:g} s"), timeout))
        return done

    def retire(self) -> None:
        """Let the thread end once it is free; the next job starts another."""
        if self._inbox is not None:
            self._inbox.put(None)
            self._inbox = None

    def _post(self, batch: _Batch[T]) -> None:
        if self._inbox is None or self._process != os.getpid():  # threads don't survive a fork
            inbox: SimpleQueue[_Batch[Any] | None] = SimpleQueue()
            thread = Thread(target=_serve, args=(inbox,), name="trimtab-provider", daemon=True)
            thread.start()
            self._inbox, self._process = inbox, os.getpid()
        self._inbox.put(batch)


class _Batch(Generic[T]):
    """Jobs for one thread, and what has become of them so far."""

    def __init__(
        self, jobs: Sequence[Callable[[], T]], monotonic: Callable[[], float], inside: Inside
    ) -> None:
        self._jobs = jobs
        self.inside = inside
        self._monotonic = monotonic
        self._done: list[Done[T]] = []
        self._left_behind = False
        self._mutex = Lock()
        self._finished = Lock()
        self._finished.acquire()

    def work(self) -> None:
        """Do the jobs; on the worker's thread."""
        began = self._monotonic()
        for job in self._jobs:
            done = _outcome(job)
            ended = self._monotonic()
            done.seconds, began = ended - began, ended
            with self._mutex:
                if self._left_behind:
                    return
                self._done.append(done)
        self._finished.release()

    def wait(self, timeout: float) -> list[Done[T]]:
        """Return the outcomes of the jobs; without the first that is overdue and those after it."""
        ticks, seen = 0, 0
        while not self._finished.acquire(timeout=timeout / TICKS):
            with self._mutex:
                ticks, seen = (ticks + 1 if len(self._done) == seen else 1), len(self._done)
                if ticks >= TICKS and seen < len(self._jobs):
                    self._left_behind = True
                    return self._done
        return self._done


def _outcome(job: Callable[[], T]) -> Done[T]:
    try:
        return Done(job())
    except (Exception, SystemExit) as error:  # handed to the caller, who decides
        return Done(None, error)
    except (
        BaseException
    ) as error:  # an interrupt belongs to the main thread: this one was raised by the job
        return Done(None, RuntimeError(f"raised {type(error).__name__}"))


def _serve(inbox: SimpleQueue[_Batch[Any] | None]) -> None:
    while (batch := inbox.get()) is not None:
        batch.inside(batch.work)
        del batch  # it holds a run, which may be closed while the thread waits
