"""A scripted model service on loopback that speaks the wires of three services."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self

import attrs

from trimtab._testing.host_kit.wires import Reply, known_as, reply_to

Json = dict[str, Any]


@attrs.frozen
class Ask:
    """A call that the scripted model asks for.

    Args:
        tool: the tool.
        params: its arguments.
    """

    tool: str
    params: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Says:
    """One response of the scripted model.

    Args:
        text: what it says.
        calls: what it asks for.
        status: an error of the service instead, such as 500; 0 for none.
    """

    text: str = ""
    calls: tuple[Ask, ...] = ()
    status: int = 0


Script = Iterable[Says] | Callable[[Json], Says]


class Service:
    """Answers requests by a script, and keeps their bodies; use it with ``with``.

    It speaks Chat Completions and Responses of OpenAI, Messages of Anthropic and generateContent
    of Google, streamed or not, told apart by the path. A request whose tool messages are out of
    place is answered with 400, as the services do.

    Args:
        script: responses in order; or a function of the request's body.
        answers_by: the tool by which the agent gives its final answer, if the runtime wants one:
            a response without calls becomes a call of it.

    Attributes:
        bodies: the requests, as sent.
        refused: why requests were answered with 400.
    """

    def __init__(self, script: Script, answers_by: str = "") -> None:
        self.bodies: list[bytes] = []
        self.refused: list[str] = []
        self._answers_by = answers_by
        self._next = script if callable(script) else _in_order(iter(script))
        self._lock = Lock()
        self._calls = 0
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def requests(self) -> list[Json]:
        """Return the bodies, decoded."""
        return [json.loads(body) for body in self.bodies]

    def answer(self, path: str, raw: bytes) -> Reply:
        """Return the response to a request.

        Args:
            path: of the request, without a query.
            raw: its body.
        """
        body = json.loads(raw or b"{}")
        with self._lock:
            self.bodies.append(raw)
            says = self._next(body)
            if self._answers_by and not says.calls and not says.status:
                says = Says(calls=(Ask(self._answers_by, {"answer": says.text}),))
            ids = [f"call_{self._calls + n:04d}" for n in range(len(says.calls))]
            self._calls += len(ids)
        named = zip(ids, says.calls, strict=True)
        calls = [(i, known_as(one.tool, body), dict(one.params)) for i, one in named]
        reply = reply_to(path, body, says.text, calls, says.status)
        if reply.refused:
            self.refused.append(reply.refused)
        return reply

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _in_order(steps: Iterator[Says]) -> Callable[[Json], Says]:
    return lambda _: next(steps, Says("(the script has no further response)"))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up: a cancelled agent does."""


def _handler_of(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base has it
            """Log nothing."""

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            reply = service.answer(self.path.partition("?")[0], raw)
            self.send_response(reply.status)
            self.send_header("content-type", reply.kind)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

    return Handler
