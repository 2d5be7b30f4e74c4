"""Connections of a mailbox: as many as threads use at a time, and none shared over a fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

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
        self._owner = os.getpid()

    @contextmanager
    def use(self) -> Iterator[C]:
        """Lend a connection for the block."""
        connection = self._taken()
        try:
            yield connection
        except BaseException:
            self._close(connection)
            raise
        with self._lock:
            self._idle.append(connection)

    def _taken(self) -> C:
        if self._owner != os.getpid():
            self._forked()
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _forked(self) -> None:
        self._lock = threading.Lock()
        self._inherited += self._idle
        self._idle, self._owner = [], os.getpid()

    def close(self) -> None:
        """Close the idle connections; the pool stays usable."""
        if self._owner != os.getpid():
            self._forked()
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            self._close(connection)
