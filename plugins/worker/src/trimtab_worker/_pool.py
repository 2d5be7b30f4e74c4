"""Connections of a mailbox: as many as threads use at a time, and none shared over a fork."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

C = TypeVar("C")

LOG = logging.getLogger("trimtab_worker")


class ConnectionPool(Generic[C]):
    """Hands out connections, and makes one where none is idle.

    A connection during whose use something was raised is closed, and so are the idle ones, since
    what broke one has most likely broken all, such as a restart of the server. A child process
    makes its own: those of its parent are neither used nor closed there.

    Args:
        connect: makes a connection.
        close: closes one.
        works: looks at an idle connection before it is lent; False, or an error, closes it.
    """

    def __init__(
        self,
        connect: Callable[[], C],
        close: Callable[[C], object],
        works: Callable[[C], bool] | None = None,
    ) -> None:
        self._connect = connect
        self._close = close
        self._works = works
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
            self.drop(connection)
            raise
        self.give(connection)

    def drop(self, connection: C) -> None:
        """Close a connection that failed, and the idle ones."""
        self._close_quietly(connection)
        self.close()

    def _close_quietly(self, connection: C) -> None:
        try:
            self._close(connection)
        except Exception as error:  # noqa: BLE001 - it is broken
            LOG.debug("closing a connection failed: %s", error)

    def give(self, connection: C) -> None:
        """Return a connection that `take` lent and that is in order."""
        with self._lock:
            self._idle.append(connection)

    def take(self) -> C:
        """Lend a connection, to be given back or closed."""
        while True:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            if idle is None:
                return self._connect()
            if self._is_good(idle):
                return idle
            self.drop(idle)

    def _is_good(self, idle: C) -> bool:
        try:
            return self._works is None or self._works(idle)
        except Exception as error:  # noqa: BLE001 - a client is not ours
            LOG.debug("an idle connection is broken: %s", error)
            return False

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
            self._close_quietly(connection)


_POOLS: weakref.WeakSet[ConnectionPool[Any]] = weakref.WeakSet()


def _after_fork() -> None:
    for pool in list(_POOLS):
        pool.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
