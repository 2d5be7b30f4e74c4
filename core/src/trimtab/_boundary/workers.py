"""Calls with a timeout: no one waits for an overdue provider, the next one gets a new thread.

A whole batch of calls is handed to a thread at once: on the path of every tool call, a future
for each provider would cost more than the provider.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from queue import SimpleQueue
from threading import TIMEOUT_MAX, Lock, Thread
from typing import Any

from trimtab._boundary import Ask, Inside, Reply, call_in_turn

TICKS = 4
MOST_IDLE = 8
"""How many threads wait for the next call of any run; in a process with many open runs, a thread
for each would cost more memory than the runs."""

_idle: list[Worker] = []


def call_on_worker(
    asks: Sequence[Ask],
    argument: Any,
    inside: Inside,
    monotonic: Callable[[], float],
    timeout: float,
) -> list[Reply[Any]]:
    """Make the calls as `Worker.run` does, on an idle thread or a new one."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = Worker()
    replies = worker.run(asks, argument, inside, monotonic, timeout)
    if len(_idle) < MOST_IDLE:
        _idle.append(worker)
    else:
        worker.retire()
    return replies


class Worker:
    """One daemon thread that calls for one caller at a time.

    A thread can't be ended from outside: after a call that is overdue the worker takes another
    one, and the old one ends with that call.
    """

    def __init__(self) -> None:
        self._inbox: SimpleQueue[_Batch | None] | None = None
        self._process = 0

    def run(
        self,
        asks: Sequence[Ask],
        argument: Any,
        inside: Inside,
        monotonic: Callable[[], float],
        timeout: float,
    ) -> list[Reply[Any]]:
        """Make the calls in order, in a copy of this context; return what became of each.

        Those that are overdue have failed, and all of them if the system has no thread to give.
        `timeout` is that of each call, and noticed at most a quarter later.
        """
        timeout = min(timeout, TIMEOUT_MAX)  # the longest that the platform can wait
        replies: list[Reply[Any]] = []
        while len(replies) < len(asks):
            batch = _Batch(asks[len(replies) :], argument, inside, monotonic)
            try:
                self._post(batch)
            except RuntimeError as error:
                return replies + [Reply(error=str(error))] * (len(asks) - len(replies))
            replies += batch.wait(timeout)
            if len(replies) < len(asks):
                self.retire()
                overdue = f"TimeoutError: no answer within {timeout:g} s"
                replies.append(Reply(error=overdue, seconds=timeout))
                inside = Inside(*inside.owners)  # the one that is overdue goes on in its own
        return replies

    def retire(self) -> None:
        """Let the thread end once it is free; the next job starts another."""
        if self._inbox is not None:
            self._inbox.put(None)
            self._inbox = None

    def _post(self, batch: _Batch) -> None:
        if self._inbox is None or self._process != os.getpid():  # threads don't survive a fork
            inbox: SimpleQueue[_Batch | None] = SimpleQueue()
            thread = Thread(target=_serve, args=(inbox,), name="trimtab-provider", daemon=True)
            thread.start()
            self._inbox, self._process = inbox, os.getpid()
        self._inbox.put(batch)


class _Batch:
    """Calls for one thread, and what has become of them so far."""

    def __init__(
        self, asks: Sequence[Ask], argument: Any, inside: Inside, monotonic: Callable[[], float]
    ) -> None:
        self._asks = asks
        self._argument = argument
        self._inside = inside
        self._monotonic = monotonic
        self.context: Context = copy_context()
        self._replies: list[Reply[Any]] = []
        self._left_behind = False
        self._mutex = Lock()
        self._finished = Lock()
        self._finished.acquire()

    def work(self) -> None:
        call_in_turn(self._asks, self._argument, self._inside, self._monotonic, self._put)
        self._finished.release()

    def _put(self, reply: Reply[Any]) -> bool:
        """Take a reply; return whether nobody waits for the others."""
        with self._mutex:
            if not self._left_behind:
                self._replies.append(reply)
            return self._left_behind

    def wait(self, timeout: float) -> list[Reply[Any]]:
        """Return the replies; without the first that is overdue and those after it."""
        ticks, seen = 0, 0
        while not self._finished.acquire(timeout=timeout / TICKS):
            with self._mutex:
                ticks, seen = (ticks + 1 if len(self._replies) == seen else 1), len(self._replies)
                if ticks >= TICKS and seen < len(self._asks):
                    self._left_behind = True
                    return self._replies
        return self._replies


def _serve(inbox: SimpleQueue[_Batch | None]) -> None:
    while (batch := inbox.get()) is not None:
        batch.context.run(batch.work)
        del batch  # it holds a run, which may be closed while the thread waits
