"""Connections of a mailbox: as many as threads use at a time, and none shared over a fork."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

C = TypeVar("C")


class ConnectionPool(Generic[C]):
    """Hands out connections, and makes one where none is idle.

    A connection during whose use something was raised is closed. A child process makes its own:
    those of its parent are neither used nor closed there.

    Args:
        connect: makes a connection.
        close: closes one.
    """

    def __init__(self, connect: Callable[[], C], close: Callable[[C], object]) -> None:
        self._connect = connect
        self._close = close
        self._lock = threading.Lock()
        self._idle: list[C] = []
        self._inherited: list[C] = []
        _POOLS.add(self)

    @contextmanager
    def use(self) -> Iterator[C]:
        """Lend a connection for the block."""
        connection = self.take()
        try:
            yield connection
        except BaseException:
            self._close(connection)
            raise
        self.give(connection)

    def give(self, connection: C) -> None:
        """Return a connection that `take` lent and that is in order."""
        with self._lock:
            self._idle.append(connection)

    def take(self) -> C:
        """Lend a connection, to be given back or closed."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def after_fork(self) -> None:
        """Set the parent's connections aside, in a child process."""
        self._lock = threading.Lock()
        self._inherited += self._idle
        self._idle = []

    def close(self) -> None:
        """Close the idle connections; the pool stays usable."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            self._close(connection)


_POOLS: weakref.WeakSet[ConnectionPool[Any]] = weakref.WeakSet()


def _after_fork() -> None:
    for pool in list(_POOLS):
        pool.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
