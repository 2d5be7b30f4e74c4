"""The threads of the hook server: each accepts connections and answers those itself.

An event is short, so starting a thread for it would cost more than to read it. One that takes long
keeps its thread; another one is started when none is left that waits for connections.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from threading import Condition, Event, Thread

from trimtab_claude_code._transport import Listener

MAX_CONNECTIONS = 64
_SPARE = 4
_PATIENCE = 1.0


class Acceptors:
    """Answers at most `MAX_CONNECTIONS` connections at a time.

    Args:
        listener: where clients connect.
        answer: answers a connection and closes it; its thread ends if it raises.
    """

    def __init__(self, listener: Listener, answer: Callable[[socket.socket], None]) -> None:
        self.ended = Event()
        """Set by `stop`, or when no connection can be accepted any more."""
        self._listener = listener
        self._answer = answer
        self._changed = Condition()
        self._threads = 0
        self._waiting = 0
        self._busy = 0

    def start(self) -> None:
        """Accept connections from now on."""
        with self._changed:
            self._add_thread()

    def stop(self, timeout: float) -> bool:
        """Accept no more; return whether all connections were answered within `timeout` seconds."""
        self.ended.set()
        self._listener.refuse()
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout)

    def _add_thread(self) -> None:
        try:
            Thread(target=self._run, daemon=True).start()
        except RuntimeError:  # the system has no more threads
            return
        self._threads += 1
        self._waiting += 1

    def _run(self) -> None:
        try:
            while self._serve_next():
                pass
        finally:
            with self._changed:
                self._threads -= 1

    def _serve_next(self) -> bool:
        """Answer the next connection; return whether this thread should go on."""
        connection = self._accepted()
        if connection is None:
            return False
        if self._take():
            try:
                self._answer(connection)
            finally:
                self._give_back()
        else:
            connection.close()
        with self._changed:
            needed = self._waiting < _SPARE and not self.ended.is_set()
            self._waiting += needed
            return needed

    def _accepted(self) -> socket.socket | None:
        """Wait for a connection; None if this thread has to end."""
        try:
            return self._listener.accept()
        except OSError:
            self.ended.set()
            return None

    def _take(self) -> bool:
        """Count this thread as busy, and see to it that another one waits for connections."""
        with self._changed:
            self._waiting -= 1
            if not self._waiting and self._threads <= MAX_CONNECTIONS:
                self._add_thread()
            free = self._changed.wait_for(lambda: self._busy < MAX_CONNECTIONS, _PATIENCE)
            taken = free and not self.ended.is_set()  # `stop` waits for what is taken before it
            self._busy += taken
            return taken

    def _give_back(self) -> None:
        with self._changed:
            self._busy -= 1
            self._changed.notify_all()
