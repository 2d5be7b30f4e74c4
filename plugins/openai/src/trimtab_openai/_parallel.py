"""Calls of one response that run at the same time, on threads that may be left."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
_SLICE = 1.0
"""Seconds after which a wait looks up, so that an interrupt of the user is noticed on Windows."""


def call_in_parallel(jobs: Sequence[Callable[[], T]], limit: int) -> list[T]:
    """Return the results of `jobs` in order, at most `limit` of them at the same time.

    If one raises, or the caller is interrupted, those that have not begun don't begin; those that
    run are left behind.
    """
    futures: list[Future[T]] = [Future() for _ in jobs]
    waiting = deque(zip(futures, (partial(copy_context().run, job) for job in jobs), strict=True))
    for _ in range(min(limit, len(jobs))):
        # A ThreadPoolExecutor would hold up the end of the program until all jobs are done.
        Thread(target=_work_off, args=(waiting,), name="trimtab-tool", daemon=True).start()
    try:
        return [_result(future) for future in futures]
    finally:
        waiting.clear()


def _result(future: Future[T]) -> T:
    # In slices: a signal that comes just before a wait blocks is handled when the wait ends.
    while not wait([future], timeout=_SLICE).done:
        pass
    return future.result()


def _work_off(waiting: deque[tuple[Future[T], Callable[[], T]]]) -> None:
    while True:
        try:
            future, job = waiting.popleft()
        except IndexError:
            return
        try:
            future.set_result(job())
        except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
            future.set_exception(error)
