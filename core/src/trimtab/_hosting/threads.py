"""Work on daemon threads that can be left behind."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Thread
from typing import Any, TypeVar

from trimtab._types.options import bounded

T = TypeVar("T")
_SLICE = 1.0
"""Seconds after which a wait looks up, so that an interrupt of the user is noticed on Windows."""


def start(work: Callable[[], T]) -> Future[T]:
    """Begin `work` on a daemon thread, in a copy of this context.

    ``asyncio.to_thread`` and ``ThreadPoolExecutor`` would hold up the end of the loop, or of the
    program, until it is done.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    inside = copy_context().run
    Thread(target=inside, args=(_settle, future, work), name="trimtab-tool", daemon=True).start()
    return future


def call_within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of `work`; stop waiting for it if it takes longer.

    Args:
        seconds: how long to wait.
        work: called on another thread, which goes on after the time is over.

    Raises:
        TimeoutError: it took longer.
        Exception: what `work` raises.
    """
    future = start(work)
    if not wait([future], timeout=bounded(seconds)).done:
        raise TimeoutError(f"no result after {seconds:.3g} seconds")
    return future.result()


def call_in_parallel(jobs: Sequence[Callable[[], T]], limit: int) -> list[T]:
    """Return the results of `jobs` in order, at most `limit` of them at the same time.

    If one raises, or the caller is interrupted, those that have not begun don't begin; those that
    run are left behind.
    """
    futures: list[Future[T]] = [Future() for _ in jobs]
    waiting = deque(zip(futures, (_inside(job) for job in jobs), strict=True))
    for _ in range(min(limit, len(jobs))):
        Thread(target=_work_off, args=(waiting,), name="trimtab-tool", daemon=True).start()
    try:
        return [_result(future) for future in futures]
    finally:
        waiting.clear()


def wait_for(value: Any) -> Any:
    """Return the result of an awaitable; on another thread if this one has a running loop."""

    async def awaited() -> Any:
        return await value

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(awaited())).result()


def _result(future: Future[T]) -> T:
    # In slices: a signal that comes just before a wait blocks is handled when the wait ends.
    while not wait([future], timeout=_SLICE).done:
        pass
    return future.result()


def _inside(job: Callable[[], T]) -> Callable[[], T]:
    context = copy_context()
    return lambda: context.run(job)


def _work_off(waiting: deque[tuple[Future[T], Callable[[], T]]]) -> None:
    while True:
        try:
            future, job = waiting.popleft()
        except IndexError:
            return
        _settle(future, job)


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
        future.set_exception(error)
