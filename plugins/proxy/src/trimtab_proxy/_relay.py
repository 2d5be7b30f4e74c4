"""The ASGI application: takes a request, lets words be put in, passes all else on, gated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import attrs

from trimtab_proxy._anthropic import AnthropicGate, AnthropicMessages
from trimtab_proxy._gate import MOST_ROUNDS, Gate
from trimtab_proxy._items import Wire
from trimtab_proxy._json import Unreadable
from trimtab_proxy._openai import ChatCompletions, ChatGate
from trimtab_proxy._reader import read
from trimtab_proxy._service import Decided, Listener, wire_of
from trimtab_proxy._upstreams import (
    MOST_BODY_BYTES,
    Door,
    RawHeaders,
    Refusal,
    Route,
    check_size,
    too_large,
)

if TYPE_CHECKING:
    import httpx

    from trimtab_proxy._guide_link import Guidance

SendOn = Callable[[bytes], Awaitable["httpx.Response"]]
SendBack = Callable[[bytes], Awaitable[None]]
_GATES: dict[type, Callable[[], Gate]] = {
    AnthropicMessages: AnthropicGate,
    ChatCompletions: ChatGate,
}


@attrs.define(eq=False)
class GatedAnswer:
    """One answer, in as many rounds as it takes.

    Args:
        body: of the request, as it went on.
        send_on: sends another body to the service.
        send_back: sends bytes to the program.
    """

    guidance: Guidance
    ticket: int
    wire: Wire
    gate: Gate
    body: bytes
    send_on: SendOn
    send_back: SendBack

    async def pass_back(self, response: httpx.Response) -> None:
        """Pass the answer back, and those that follow it; `response` is the caller's to close."""
        await self._stream(response)
        for _ in range(MOST_ROUNDS):
            body = await self._asked_again()
            if body is None:
                break
            again = await self._sent_on(body)
            if again is None:
                break
            try:
                if not is_event_stream(again):
                    break
                self.gate.next_round()
                self.body = body
                await self._stream(again)
            finally:
                await again.aclose()
        await self.send_back(self.gate.release())

    async def _sent_on(self, body: bytes) -> httpx.Response | None:
        import httpx

        try:
            return await self.send_on(body)
        except httpx.HTTPError:
            return None

    async def _stream(self, response: httpx.Response) -> None:
        async for chunk in response.aiter_raw():
            passed = self.gate.take(chunk)
            if passed:
                await self.send_back(passed)

    async def _asked_again(self) -> bytes | None:
        """Return the body with which the model is asked again; None where the answer passes."""
        answer = self.gate.answer()
        if answer is None:
            return None
        verdict = await self.guidance.judge(self.ticket, answer)
        if verdict.passes:
            return None
        try:
            return read(self.wire, self.body).with_more(self.gate.again(verdict))
        except Unreadable:
            return None  # the answer passes


def is_event_stream(response: httpx.Response) -> bool:
    """Tell whether a response is a stream that can be read."""
    encoding = response.headers.get("content-encoding", "identity")
    streamed = "event-stream" in response.headers.get("content-type", "")
    return response.status_code == 200 and encoding == "identity" and streamed


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_OF_THE_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_MADE_ANEW = _OF_THE_HOP | {b"host", b"content-length", b"accept-encoding", b"expect"}


class _Gone(Exception):
    """The client hung up."""


@attrs.frozen(eq=False)
class Incoming:
    """One accepted request, whole; the names of its headers are in lower case."""

    method: str
    route: Route
    query: bytes
    headers: RawHeaders
    body: bytes

    @property
    def wire(self) -> Wire | None:
        """The API that its body is read by; None where it is passed on unread."""
        if self.method != "POST" or any(name == b"content-encoding" for name, _ in self.headers):
            return None
        return wire_of(self.route.rest.decode("ascii"))


class Relay:
    """Passes requests on; the ASGI application of the proxy."""

    def __init__(self, guidance: Guidance, door: Door, client: httpx.AsyncClient) -> None:
        self._guidance = guidance
        self._door = door
        self._client = client
        self.passed = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            incoming = await self._accept(scope, receive)
        except Refusal as refusal:
            await _refuse(send, refusal)
        except _Gone:
            return
        else:
            self.passed += 1
            await self._until_hung_up(self._exchange(incoming, send), receive)

    async def _accept(self, scope: Scope, receive: Receive) -> Incoming:
        headers: RawHeaders = scope["headers"]
        route = self._door.route(scope["raw_path"], headers)
        check_size(headers)
        body = await _whole_body(receive)
        return Incoming(scope["method"], route, scope["query_string"], headers, body)

    async def _until_hung_up(self, exchange: Awaitable[None], receive: Receive) -> None:
        """Do the exchange; end it, the upstream's part too, as soon as the client is gone."""
        working = asyncio.ensure_future(exchange)
        watching = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watching.cancel()
            if not working.done():
                working.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)
        if not working.cancelled():
            working.result()

    async def _exchange(self, incoming: Incoming, send: Send) -> None:
        import httpx

        wire = incoming.wire
        decided, body = await self._guided(wire, incoming)
        try:
            response = await self._client.send(self._outgoing(incoming, body), stream=True)
        except httpx.HTTPError as error:
            await _refuse(send, Refusal(502, f"no answer from upstream: {type(error).__name__}"))
            return
        try:
            gated = self._gated(incoming, decided, body, send)
            if gated is not None and is_event_stream(response):
                await send(_start(response, left_out=_OF_THE_HOP | {b"content-length"}))
                await gated.pass_back(response)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                heard = _listener(response) if wire and decided.ticket is not None else None
                await self._pass_back(response, send, heard)
                if heard is not None:
                    await self._note(wire, decided, heard)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await response.aclose()

    def _gated(
        self, incoming: Incoming, decided: Decided, body: bytes, send: Send
    ) -> GatedAnswer | None:
        """Return what decides about the end of an answer; None where it just passes."""
        wire = incoming.wire
        make = _GATES.get(type(wire)) if self._guidance.gate else None
        if wire is None or make is None or decided.ticket is None:
            return None

        async def send_back(passed: bytes) -> None:
            await send({"type": "http.response.body", "body": passed, "more_body": True})

        async def send_on(again: bytes) -> httpx.Response:
            return await self._client.send(self._outgoing(incoming, again), stream=True)

        return GatedAnswer(self._guidance, decided.ticket, wire, make(), body, send_on, send_back)

    async def _guided(self, wire: Wire | None, incoming: Incoming) -> tuple[Decided, bytes]:
        """Return what was decided about a request, and its body, guided."""
        if wire is None:
            return Decided(), incoming.body
        service = incoming.route.upstream.service
        decided = await self._guidance.decide(wire.name, incoming.headers, incoming.body, service)
        insertion = decided.insertion
        return decided, insertion.into(incoming.body) if insertion else incoming.body

    def _outgoing(self, incoming: Incoming, body: bytes) -> httpx.Request:
        import httpx

        upstream = incoming.route.upstream
        target = upstream.target(incoming.route.rest, incoming.query)
        left_out = _MADE_ANEW | _named_for_the_hop(incoming.headers)
        kept = [pair for pair in incoming.headers if pair[0] not in left_out]
        return httpx.Request(
            incoming.method,
            upstream.base,  # the target below is what is sent, byte for byte
            headers=[*kept, (b"accept-encoding", b"identity")],
            content=body or None,
            extensions={"target": target, "timeout": self._client.timeout.as_dict()},
        )

    async def _pass_back(
        self, response: httpx.Response, send: Send, heard: Listener | None
    ) -> None:
        await send(_start(response))
        async for chunk in response.aiter_raw():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if heard is not None:
                heard.add(chunk)

    async def _note(self, wire: Wire | None, decided: Decided, heard: Listener) -> None:
        body, ticket = heard.body, decided.ticket
        if wire is not None and body is not None and ticket is not None:
            await self._guidance.heard(ticket, wire.name, body, streamed=heard.streamed)


def _named_for_the_hop(headers: RawHeaders) -> frozenset[bytes]:
    """Return the names that ``Connection`` lists, such as that of an h2c offer's settings."""
    listed = b",".join(value for name, value in headers if name == b"connection")
    return frozenset(name.strip().lower() for name in listed.split(b","))


def _start(response: httpx.Response, left_out: frozenset[bytes] = _OF_THE_HOP) -> Message:
    """Return the head of an answer as it goes back."""
    headers = [
        (name.lower(), value)
        for name, value in response.headers.raw
        if name.lower() not in left_out
    ]
    return {"type": "http.response.start", "status": response.status_code, "headers": headers}


def _listener(response: httpx.Response) -> Listener | None:
    """Return what keeps the answer; None where it is no answer of the model, or compressed."""
    encoding = response.headers.get("content-encoding", "identity")
    if response.status_code != 200 or encoding != "identity":
        return None
    return Listener(streamed="event-stream" in response.headers.get("content-type", ""))


async def _whole_body(receive: Receive) -> bytes:
    chunks, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MOST_BODY_BYTES:
            raise too_large()
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)


async def _refuse(send: Send, refusal: Refusal) -> None:
    error = {"type": "trimtab_proxy", "message": f"trimtab proxy: {refusal.reason}"}
    body = json.dumps({"type": "error", "error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
