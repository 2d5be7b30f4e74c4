"""An HTTP server on loopback that records, judges and answers: the part both services share."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self, TypeAlias, cast

import attrs

from trimtab_test_servers.record import Refusal, Request
from trimtab_test_servers.script import (
    Fault,
    Hang,
    Script,
    ScriptExhausted,
    Turn,
    as_function,
)

MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_REQUESTS = 2_000
IDLE_SECONDS = 30.0


class Refused(Exception):
    """The service's rules forbid this request."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.param = param
        self.code = code


@attrs.frozen
class Answer:
    """What goes back: one body, or chunks sent as they come."""

    status: int
    body: bytes | Iterable[bytes]
    headers: Mapping[str, str] = attrs.field(factory=dict)


Route: TypeAlias = Callable[[Request], Answer]


class LoopbackServer:
    """A scripted service on an ephemeral port of 127.0.0.1, alive inside its ``with`` block.

    Every request to an endpoint is recorded before it is judged. One that breaks a rule of the
    service, goes elsewhere, or finds no turn left in the script is answered as the service would
    refuse it and kept in `refusals`; a test that expects none asserts ``server.refusals == ()``.
    A class names its ``prefix`` (of the base URL) and ``probes`` (paths that clients only try for
    a sign of life: answered, not recorded).
    """

    prefix: ClassVar[str] = ""
    probes: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, script: Script) -> None:
        self._next_step = as_function(script)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._requests: list[Request] = []
        self._refusals: list[Refusal] = []
        self._http = _Http(self._respond)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(timeout=5)

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}{self.prefix}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """Everything that reached an endpoint so far, in order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What was refused by a rule or for want of a turn."""
        with self._lock:
            return tuple(self._refusals)

    def routes(self) -> Mapping[str, Route]:
        """The paths this service answers to POST."""
        raise NotImplementedError

    def error_body(self, refused: Refused) -> dict[str, Any]:
        """An error in the service's own shape."""
        raise NotImplementedError

    def _respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        request = Request(method, path, headers, body)
        if request.route in self.probes:
            return json_answer({})
        try:
            return self._route(request)(self._record(request))
        except Refused as refused:
            return self._refuse(request, refused)
        except ScriptExhausted as exhausted:
            return self._refuse(request, Refused(str(exhausted)))

    def _record(self, request: Request) -> Request:
        with self._lock:
            if len(self._requests) >= MAX_REQUESTS:
                raise ConnectionAbortedError("more requests than a test can mean")
            self._requests.append(request)
        return request

    def _route(self, request: Request) -> Route:
        route = self.routes().get(request.route)
        if route is None:
            raise Refused(f"{request.method} {request.route} is not served", status=404)
        if request.method != "POST":
            raise Refused(f"{request.method} is not allowed here", status=405)
        return route

    def _refuse(self, request: Request, refused: Refused) -> Answer:
        with self._lock:
            self._refusals.append(Refusal(request, refused.status, refused.message))
        return self._error(refused)

    def _error(self, refused: Refused, headers: Mapping[str, str] | None = None) -> Answer:
        return json_answer(self.error_body(refused), refused.status, headers)

    def step(self, request: Request) -> Turn | Answer:
        """The script's next turn once its delay is over, or its fault as an answer."""
        with self._lock:
            step = self._next_step(request)
        if isinstance(step, Hang):
            self._closing.wait(step.seconds)
            raise ConnectionAbortedError("the script hangs up")
        self._closing.wait(step.delay_seconds)
        return self._fault(step) if isinstance(step, Fault) else step

    def _fault(self, fault: Fault) -> Answer:
        seconds = fault.retry_after_seconds
        headers = {} if seconds is None else {"retry-after": f"{seconds:g}"}
        return self._error(Refused(fault.message, status=fault.status), headers)


def read_json(request: Request) -> dict[str, Any]:
    """The request's object, or `Refused`."""
    try:
        body = request.json
    except ValueError:
        raise Refused("The request body is not valid JSON") from None
    if not isinstance(body, dict):
        raise Refused("The request body is not an object")
    return body


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in one piece."""
    body = json.dumps(value, ensure_ascii=False).encode()
    return Answer(status, body, {"content-type": "application/json", **(headers or {})})


def event_stream(chunks: Iterable[bytes]) -> Answer:
    """An answer as server-sent events."""
    return Answer(200, chunks, {"content-type": "text/event-stream", "cache-control": "no-cache"})


def server_sent_event(data: Any, event: str | None = None) -> bytes:
    """One event of a stream."""
    head = f"event: {event}\n" if event else ""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"{head}data: {text}\n\n".encode()


Respond: TypeAlias = Callable[[str, str, Mapping[str, str], bytes], Answer]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, respond: Respond) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news to a test; anything else is."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = IDLE_SECONDS

    def do_POST(self) -> None:
        self._send(self._answer(self._body()))

    do_GET = do_POST
    do_HEAD = do_POST

    def _body(self) -> bytes:
        size = int(self.headers.get("content-length") or 0)
        if size > MAX_BODY_BYTES:
            raise ConnectionAbortedError("body too large")
        return self.rfile.read(size)

    def _answer(self, body: bytes) -> Answer:
        headers = {name.lower(): value for name, value in self.headers.items()}
        return cast(_Http, self.server).respond(self.command, self.path, headers, body)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if isinstance(answer.body, bytes):
            self._send_whole(answer.body)
        else:
            self._send_chunks(answer.body)

    def _send_whole(self, body: bytes) -> None:
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_chunks(self, chunks: Iterable[bytes]) -> None:
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is its own."""
