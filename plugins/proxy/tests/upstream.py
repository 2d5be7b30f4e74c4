"""A service on loopback that keeps what it is sent, byte for byte, and answers as it is told."""

import socket
import threading

import attrs


@attrs.frozen
class Received:
    """One request: its head as it came, header lines split, and its body."""

    line: str
    headers: tuple
    body: bytes

    def values(self, name):
        return [value for key, value in self.headers if key.lower() == name]


class Upstream:
    """Answers every request with the same bytes, sent in `pieces` with a pause between.

    With `hangs_up` it closes the connection after an answer.

    Attributes:
        received: requests.
        broken_off: set when a client was gone before it had all.
    """

    def __init__(self, *pieces, pause=0.0, hangs_up=False):
        self.pieces = pieces or (OK,)
        self.pause = pause
        self.hangs_up = hangs_up
        self.received = []
        self.broken_off = threading.Event()
        self._closing = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._closing.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as stream:
            while line := stream.readline():
                headers = []
                while text := stream.readline().decode("latin-1").rstrip("\r\n"):
                    name, _, value = text.partition(":")
                    headers.append((name, value.strip()))
                size = int({n.lower(): v for n, v in headers}.get("content-length", 0))
                body = stream.read(size)
                self.received.append(Received(line.decode().rstrip(), tuple(headers), body))
                if not self._answer(connection):
                    return

    def _answer(self, connection):
        try:
            for piece in self.pieces:
                connection.sendall(piece)
                if self.pause and self._gone(connection):
                    self.broken_off.set()
                    return False
        except OSError:
            self.broken_off.set()
            return False
        return not self.hangs_up

    def _gone(self, connection):
        """Wait a little; tell whether the client closed meanwhile."""
        connection.settimeout(self.pause)
        try:
            return connection.recv(1) == b""
        except TimeoutError:
            return self._closing.is_set()
        finally:
            connection.settimeout(None)


def answer(body, status="200 OK", **headers):
    """A whole response."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


OK = answer(b'{"type": "message", "content": []}', content_type="application/json")
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data):
    """One chunk of a streamed response."""
    return b"%x\r\n%b\r\n" % (len(data), data)
