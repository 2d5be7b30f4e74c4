"""HTTP on loopback for hooks: who may ask, how much, how long, and how many at once."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, cast

import attrs

from trimtab import SYSTEM_CLOCK
from trimtab_claude_code.bounds import MOST_BYTES, payload_of
from trimtab_claude_code.service.desk import Desk
from trimtab_claude_code.service.endpoint import (
    FILE,
    HOST,
    PROOF,
    STATUS_PATH,
    STOP_PATH,
    URL_PATH,
    Endpoint,
)
from trimtab_claude_code.service.pulse import Pulse


@attrs.frozen
class Limits:
    """What one client may take.

    Args:
        connections: served at once; more wait in the system's queue, then are closed.
        quiet_seconds: silence after which a connection is closed.
        request_seconds: how long a request may take to arrive in whole.
        hurried_seconds: the same, where others wait for its place.
        body_bytes: how long it may be.
        idle_seconds: how long after the last event the process ends.
        forsaken_seconds: the same, where a session has not said that it ends: its agent may be
            waiting for a long call, or be gone.
    """

    connections: int = 32
    quiet_seconds: float = 2.0
    request_seconds: float = 5.0
    hurried_seconds: float = 0.5
    body_bytes: int = MOST_BYTES
    idle_seconds: float = 3600.0
    forsaken_seconds: float = 43_200.0


class HookServer(ThreadingHTTPServer):
    """Answers hooks with a `Desk`.

    Args:
        endpoint: the port that hooks must name, and the token that they must show.
        listener: the socket that listens there; it is closed in the end.
        desk: who answers.
        limits: see there.
        guardian: id of the parent process, without which this one ends too.
        pulse: shows the guardian that this process is not stuck.
    """

    daemon_threads = True

    def __init__(
        self,
        endpoint: Endpoint,
        listener: socket.socket,
        desk: Desk,
        limits: Limits | None = None,
        *,
        guardian: int | None = None,
        pulse: Pulse | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.guardian = guardian
        self._pulse = pulse
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
        if not self._has_place():
            self.shutdown_request(request)
            return
        with self._lock:
            self._arriving[request] = SYSTEM_CLOCK.monotonic()
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # the system gives no more threads: this event is lost, no place is
            self.arrived(request)
            self._slots.release()
            self.shutdown_request(request)

    def _has_place(self) -> bool:
        if self._slots.acquire(timeout=self.limits.hurried_seconds):
            return True
        self._cut_off(self.limits.hurried_seconds)
        return self._slots.acquire(timeout=self.limits.quiet_seconds / 2)

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
        """Cut off requests that trickle, and end when nothing comes, or can come, any more."""
        if self._pulse:
            self._pulse.beat()
        self._cut_off(self.limits.request_seconds)
        orphaned = self.guardian not in (None, os.getppid())
        if orphaned or self._is_idle() or not (self.desk.folder / FILE).exists():
            self.stop()

    def _is_idle(self) -> bool:
        most = self.limits.forsaken_seconds if len(self.desk) else self.limits.idle_seconds
        return self.desk.idle_seconds > most

    def _cut_off(self, seconds: float) -> None:
        """Close connections whose request has been arriving for longer than that."""
        oldest = SYSTEM_CLOCK.monotonic() - seconds
        with self._lock:
            late = [request for request, since in self._arriving.items() if since < oldest]
        for request in late:
            _cut(request)

    def stop(self) -> None:
        """Let `serve_forever` return, without waiting for it; from now on nobody is let in."""
        self.refuse()
        Thread(target=self.shutdown, daemon=True).start()

    def refuse(self) -> None:
        """Let nobody in any more; closing the socket is not enough, the guardian holds it too."""
        _cut(self.socket)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that breaks off is none of our troubles."""


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it is gone already


class _Refused(Exception):
    """A request that is not served."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """One request, one answer, sent at once."""

    server_version = "trimtab"
    sys_version = ""
    wbufsize = -1

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
            self._answer(HTTPStatus.OK, body, self._reply(body))
            if self.path == STOP_PATH:
                self.hooks.stop()
        except _Refused as refused:
            self._answer(refused.status, body, {})

    def _check_caller(self) -> None:
        """Let in who knows the token and asks for this machine: no page of a browser does."""
        endpoint = self.hooks.endpoint
        names = (f"{HOST}:{endpoint.port}", f"localhost:{endpoint.port}")
        if self.headers.get_all("Host") not in [[name] for name in names]:
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST)
        if "Origin" in self.headers:
            raise _Refused(HTTPStatus.FORBIDDEN)
        shown = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if not compare_digest(shown, f"Bearer {endpoint.token}".encode()):
            raise _Refused(HTTPStatus.UNAUTHORIZED)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise _Refused(HTTPStatus.LENGTH_REQUIRED)
        if len(length) > 12 or int(length) > self.hooks.limits.body_bytes:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise _Refused(HTTPStatus.BAD_REQUEST)
        return body

    def _reply(self, body: bytes) -> Mapping[str, Any]:
        if self.path == STATUS_PATH:
            return {
                "pid": os.getpid(),
                "guardian": self.hooks.guardian,
                "sessions": len(self.hooks.desk),
            }
        if self.path == STOP_PATH:
            self.hooks.refuse()  # before the answer: who asks may start another at once
            return {}
        if self.path != URL_PATH:
            raise _Refused(HTTPStatus.NOT_FOUND)
        try:
            return self.hooks.desk.answer(payload_of(body))
        except (ValueError, RecursionError) as error:
            raise _Refused(HTTPStatus.BAD_REQUEST) from error

    def _answer(self, status: HTTPStatus, body: bytes, reply: Mapping[str, Any]) -> None:
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if status is not HTTPStatus.UNAUTHORIZED:
            self.send_header(PROOF, self.hooks.endpoint.proof(body))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()  # the process may be about to end

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep no log: it would grow, and hold what agents do."""
