"""The server on a port of this machine, in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from importlib import import_module
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

from trimtab import TrimtabError
from trimtab_proxy._guidance import LocalGuidance
from trimtab_proxy._guide import Guide
from trimtab_proxy._upstreams import Door, Upstream, new_token

if TYPE_CHECKING:
    from trimtab_proxy._guide_link import Guidance

_HEADER_BYTES = 256 * 1024
_CONNECT_SECONDS = 30.0
_START_SECONDS = 20.0
_END_SECONDS = 5.0


class ServerFailed(TrimtabError):
    """The proxy can't listen, or did not start."""


class ProxyServer:
    """A proxy that listens on 127.0.0.1 from its construction on, and answers inside its ``with``.

    Args:
        guidance: says what to put into requests; a guide is asked in this process.
        port: to listen on; a free one where 0.
        token: the secret of its paths; a new one where None.
    """

    def __init__(
        self,
        guidance: Guidance | Guide,
        upstreams: Mapping[str, Upstream],
        *,
        port: int = 0,
        token: str | None = None,
    ) -> None:
        self.guidance: Guidance = (
            LocalGuidance(guidance) if isinstance(guidance, Guide) else guidance
        )
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        self._door = Door(token or new_token(), self.port, upstreams)
        self._started = Event()
        self._closing = False
        self._failure: BaseException | None = None
        self._server: Any = None
        self._relay: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(target=self._run, name="trimtab-proxy", daemon=True)

    @property
    def base_url(self) -> str:
        """The URL below which the upstreams are, by name; it holds the secret."""
        return f"http://127.0.0.1:{self.port}/{self._door.token}"

    @property
    def passed(self) -> int:
        """How many requests were let in."""
        return 0 if self._relay is None else self._relay.passed

    def __enter__(self) -> Self:
        self.start()
        self.wait_until_ready()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin to answer; requests that come before it is ready wait."""
        self._thread.start()

    def wait_until_ready(self) -> None:
        """Return once it answers; a ServerFailed if it does not."""
        if not self._started.wait(_START_SECONDS) or self._failure is not None:
            raise ServerFailed(f"the proxy did not start: {self._failure or 'it takes too long'}")

    def close(self) -> None:
        """Stop answering, and end all runs."""
        self._closing = True
        if self._server is not None:
            self._server.should_exit = True
            self._server.force_exit = True
        if self._thread.ident is not None:
            self._thread.join(_END_SECONDS)
        self._socket.close()
        self.guidance.close()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - told to whoever waits for the start
            self._failure = error
        finally:
            self._started.set()

    async def _serve(self) -> None:
        import uvicorn

        from trimtab_proxy._identity import upstream_client
        from trimtab_proxy._relay import Relay

        async with upstream_client(_CONNECT_SECONDS) as client:
            self._relay = Relay(self.guidance, self._door, client)
            config = uvicorn.Config(
                self._relay,
                http="h11",
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                log_level="critical",  # the terminal is the program's
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_keep_alive=60,
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=_HEADER_BYTES,
            )
            self._server = _server(config, self._started)
            if not self._closing:
                await self._server.serve(sockets=[self._socket])


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the event loop; None for the usual one, where there is no faster."""
    try:
        make: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return make


def _server(config: Any, started: Event) -> Any:
    import uvicorn

    class Server(uvicorn.Server):
        """Says when it is ready, and leaves signals to the program that it runs in."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

    return Server(config)


def _listen(port: int) -> socket.socket:
    # Named, for asyncio turns off Nagle's delay only where the protocol is.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(256)
    except OSError as error:
        listener.close()
        raise ServerFailed(f"port {port} of 127.0.0.1 can't be used: {error.strerror}") from None
    listener.setblocking(False)
    return listener
