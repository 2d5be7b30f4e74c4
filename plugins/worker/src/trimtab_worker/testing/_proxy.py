"""A proxy between a client and a server, that does to bytes what bad networks do."""

from __future__ import annotations

import contextlib
import socket
import threading

CHUNK = 65536


class Proxy:
    """Passes the bytes of connections on, until it is told to hold, delay, cut or half-close.

    Args:
        port: of the server, on loopback.

    Attributes:
        port: where clients connect.
        delay: seconds that each piece waits before it is passed on.
    """

    def __init__(self, port: int) -> None:
        self.delay = 0.0
        self._target = port
        self._lock = threading.Lock()
        self._flows = threading.Event()
        self._flows.set()
        self._open: set[socket.socket] = set()
        self._near: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._start(self._accept)

    def hold(self) -> None:
        """Keep all connections open and pass nothing on, as a network does that drops packets."""
        self._flows.clear()

    def release(self) -> None:
        """Pass on what was held, and all that follows."""
        self._flows.set()

    def cut(self) -> None:
        """Close all connections."""
        with self._lock:
            ending = list(self._open)
        for one in ending:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def half_close(self) -> None:
        """End what clients receive, while what they send is still passed on."""
        with self._lock:
            near = list(self._near)
        for one in near:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End it."""
        self._listener.close()
        self.release()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._start(self._connect, near)

    def _connect(self, near: socket.socket) -> None:
        self._flows.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            near.close()
            return
        with self._lock:
            self._open |= {near, far}
            self._near.add(near)
        self._start(self._pass_on, near, far)
        self._start(self._pass_on, far, near)

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        waiting = threading.Event()
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                self._flows.wait()
                if self.delay:
                    waiting.wait(self.delay)
                sink.sendall(data)
        with self._lock:
            self._open -= {source, sink}
            self._near -= {source, sink}
        for one in (source, sink):
            one.close()

    @staticmethod
    def _start(act: object, *arguments: object) -> None:
        threading.Thread(target=act, args=arguments, daemon=True).start()  # type: ignore[arg-type]
