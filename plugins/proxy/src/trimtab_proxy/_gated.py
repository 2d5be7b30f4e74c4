"""Passing a streamed answer on while a gate decides about its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import attrs

from trimtab_proxy._anthropic import AnthropicGate, AnthropicMessages
from trimtab_proxy._chat import ChatCompletions, ChatGate
from trimtab_proxy._gate import MOST_ROUNDS, Gate
from trimtab_proxy._guidance import Guidance
from trimtab_proxy._items import Wire
from trimtab_proxy._json import Unreadable
from trimtab_proxy._reader import read

if TYPE_CHECKING:
    import httpx

SendOn = Callable[[bytes], Awaitable["httpx.Response"]]
SendBack = Callable[[bytes], Awaitable[None]]
_GATES: dict[type, Callable[[], Gate]] = {
    AnthropicMessages: AnthropicGate,
    ChatCompletions: ChatGate,
}


def gate_for(wire: Wire) -> Gate | None:
    """Return a gate for one request; None for APIs that have none."""
    make = _GATES.get(type(wire))
    return make() if make else None


@attrs.define(eq=False)
class GatedAnswer:
    """One answer, in as many rounds as it takes.

    Args:
        guidance: decides.
        ticket: of the request.
        wire: its API.
        gate: follows its stream.
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
