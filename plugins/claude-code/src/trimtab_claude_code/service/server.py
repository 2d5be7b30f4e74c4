"""HTTP on loopback for hooks: who may ask, how much, how long, and how many at once."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, cast

import attrs

from trimtab import SYSTEM_CLOCK
from trimtab_claude_code.bounds import MOST_BYTES, payload_of
from trimtab_claude_code.service.desk import Desk
from trimtab_claude_code.service.endpoint import (
    HOST,
    PROOF,
    STATUS_PATH,
    STOP_PATH,
    URL_PATH,
    Endpoint,
)


@attrs.frozen
class Limits:
    """What one client may take.

    Args:
        connections: served at once; more wait in the system's queue, then are closed.
        quiet_seconds: silence after which a connection is closed.
        request_seconds: how long a request may take to arrive in whole.
        body_bytes: how long it may be.
        idle_seconds: how long after the last event the process ends.
    """

    connections: int = 32
    quiet_seconds: float = 2.0
    request_seconds: float = 5.0
    body_bytes: int = MOST_BYTES
    idle_seconds: float = 3600.0


class HookServer(ThreadingHTTPServer):
    """Answers hooks with a `Desk`.

    Args:
        endpoint: the port that hooks must name, and the token that they must show.
        listener: the socket that listens there; it is closed in the end.
        desk: who answers.
        limits: see there.
        guardian: id of the parent process, without which this one ends too.
    """

    daemon_threads = True

    def __init__(
        self,
        endpoint: Endpoint,
        listener: socket.socket,
        desk: Desk,
        limits: Limits | None = None,
        guardian: int | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.guardian = guardian
        self.desk = desk
        self.limits = limits or Limits()
        self._slots = BoundedSemaphore(self.limits.connections)
        self._lock = Lock()
        self._arriving: dict[socket.socket, float] = {}
        super().__init__((HOST, endpoint.port), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection on a thread of its own, if there is one left."""
        if not self._slots.acquire(timeout=self.limits.quiet_seconds / 2):
            self.shutdown_request(request)
            return
        with self._lock:
            self._arriving[request] = SYSTEM_CLOCK.monotonic()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.arrived(request)
            self._slots.release()

    def arrived(self, request: socket.socket) -> None:
        """Note that a request is there in whole: from now on the answer takes the time."""
        with self._lock:
            self._arriving.pop(request, None)

    def service_actions(self) -> None:
        """Cut off requests that trickle, and end when nothing comes any more."""
        oldest = SYSTEM_CLOCK.monotonic() - self.limits.request_seconds
        with self._lock:
            late = [request for request, since in self._arriving.items() if since < oldest]
        for request in late:
            _cut(request)
        orphaned = self.guardian not in (None, os.getppid())
        if orphaned or self.desk.idle_seconds > self.limits.idle_seconds:
            self.stop()

    def stop(self) -> None:
        """Let `serve_forever` return, without waiting for it; from now on nobody is let in."""
        _cut(self.socket)  # closing it is not enough: the guardian holds it too
        Thread(target=self.shutdown, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that breaks off is none of our troubles."""


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it is gone already


class _Refused(Exception):
    """A request that is not served."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server_version = "trimtab"
    sys_version = ""

    @property
    def hooks(self) -> HookServer:
        return cast("HookServer", self.server)

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.hooks.limits.quiet_seconds)

    def do_POST(self) -> None:  # http.server's name
        """Answer a hook, or a question about this process."""
        body = b""
        try:
            self._check_caller()
            body = self._body()
            self.hooks.arrived(self.connection)
            self._answer(200, body, self._reply(body))
            if self.path == STOP_PATH:
                self.hooks.stop()
        except _Refused as refused:
            self._answer(refused.status, body, {})

    def _check_caller(self) -> None:
        """Let in who knows the token and asks for this machine: no page of a browser does."""
        endpoint = self.hooks.endpoint
        if self.headers.get("Host") not in (
            f"{HOST}:{endpoint.port}",
            f"localhost:{endpoint.port}",
        ):
            raise _Refused(421)
        if "Origin" in self.headers:
            raise _Refused(403)
        shown = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if not compare_digest(shown, f"Bearer {endpoint.token}".encode()):
            raise _Refused(401)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise _Refused(411)
        if len(length) > 12 or int(length) > self.hooks.limits.body_bytes:
            raise _Refused(413)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise _Refused(400)
        return body

    def _reply(self, body: bytes) -> Mapping[str, Any]:
        if self.path == STATUS_PATH:
            return {
                "pid": os.getpid(),
                "guardian": self.hooks.guardian,
                "sessions": len(self.hooks.desk),
            }
        if self.path == STOP_PATH:
            return {}
        if self.path != URL_PATH:
            raise _Refused(404)
        try:
            return self.hooks.desk.answer(payload_of(body))
        except (ValueError, RecursionError) as error:
            raise _Refused(400) from error

    def _answer(self, status: int, body: bytes, reply: Mapping[str, Any]) -> None:
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if status != 401:
            self.send_header(PROOF, self.hooks.endpoint.proof(body))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep no log: it would grow, and hold what agents do."""
