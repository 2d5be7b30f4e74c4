"""What the relay asks about requests and answers, in bytes and plain values.

The process that asks providers may be another one than the relay's; nothing here knows which.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

import attrs

from trimtab_proxy._anthropic import AnthropicMessages
from trimtab_proxy._gate import Frames, Verdict
from trimtab_proxy._gemini import GenerateContent
from trimtab_proxy._guide import Decision, Guide
from trimtab_proxy._identity import Headers
from trimtab_proxy._items import Answer, Json, Wire, items_of, objects
from trimtab_proxy._json import Unreadable
from trimtab_proxy._openai import ChatCompletions, Responses
from trimtab_proxy._reader import Insertion, Reader

ANTHROPIC_MESSAGES = AnthropicMessages()
CHAT_COMPLETIONS = ChatCompletions()
RESPONSES = Responses()
GENERATE_CONTENT = GenerateContent()
WIRES: tuple[Wire, ...] = (ANTHROPIC_MESSAGES, CHAT_COMPLETIONS, RESPONSES, GENERATE_CONTENT)
_ENDINGS: tuple[tuple[str, Wire], ...] = (
    ("/messages", ANTHROPIC_MESSAGES),
    ("/chat/completions", CHAT_COMPLETIONS),
    ("/responses", RESPONSES),
    (":generateContent", GENERATE_CONTENT),
    (":streamGenerateContent", GENERATE_CONTENT),
)


def wire_of(path: str) -> Wire | None:
    """Return the API that a path (without its query) belongs to; None for any other request."""
    return next((wire for ending, wire in _ENDINGS if path.endswith(ending)), None)


MOST_BYTES = 16_000_000


class Listener:
    """Keeps a copy of one answer until it is complete."""

    def __init__(self, *, streamed: bool) -> None:
        self.streamed = streamed
        self._chunks: list[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> None:
        """Take what was passed on; an answer beyond 16 MB is not read."""
        self._size += len(chunk)
        if self._size <= MOST_BYTES:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()

    @property
    def body(self) -> bytes | None:
        """The answer; None if it is too long."""
        return None if self._size > MOST_BYTES else b"".join(self._chunks)


def read_answer(wire: Wire, body: bytes, *, streamed: bool) -> Answer | None:
    """Return an answer; None if it is incomplete, or of no known form."""
    events = wire.events()
    try:
        whole = None if streamed else json.loads(body)
        if isinstance(whole, dict):
            return wire.answer(whole)
        pieces = [event for _, event in Frames().feed(body + b"\n\n")] if streamed else whole
        for event in objects(pieces):
            events.add(event)
        return events.answer()
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return None


MOST_TICKETS = 1_024
"""Decisions whose answers may still come; a program has few requests under way."""


@attrs.frozen
class Decided:
    """What becomes of one request.

    Args:
        ticket: by which its answer is told; None where nobody follows it.
    """

    ticket: int | None = None
    insertion: Insertion | None = None


class GuideService:
    """Decides about requests, and takes their answers; a call takes as long as providers do."""

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self._reader = Reader()
        self._lock = Lock()
        self._tickets: OrderedDict[int, Decision] = OrderedDict()
        self._number = 0

    def decide(
        self, wire: str, headers: Sequence[tuple[bytes, bytes]], body: bytes, provider: str = ""
    ) -> Decided:
        """Return what becomes of a request to the API of this name."""
        api = wire_named(wire)
        document = self._reader.read(api, body)
        texts = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        decision = self.guide.request(api, texts, document.fields, document.items, provider)
        ticket = self._ticket(decision) if decision.thread is not None else None
        last = document.last.value if decision.words and document.last else None
        place = api.place(last) if isinstance(last, dict) else None
        if place is None:
            return Decided(ticket)
        self.guide.counts.guided += 1
        return Decided(ticket, document.insertion(place, decision.words))

    def heard(self, ticket: int, wire: str, body: bytes, *, streamed: bool) -> None:
        """Take the model's answer to a request."""
        decision = self._tickets.get(ticket)
        answer = read_answer(wire_named(wire), body, streamed=streamed)
        if decision is not None and answer is not None:
            self.guide.answered(decision, answer)

    def judge(self, ticket: int, answer: Answer) -> Verdict:
        """Return what becomes of an answer, where the proxy decides about answers."""
        decision = self._tickets.get(ticket)
        return self.guide.judge(decision, answer) if decision is not None else Verdict()

    def _ticket(self, decision: Decision) -> int:
        with self._lock:
            self._number += 1
            self._tickets[self._number] = decision
            if len(self._tickets) > MOST_TICKETS:
                self._tickets.popitem(last=False)
            return self._number


def wire_named(name: str) -> Wire:
    """Return an API by its name; a ValueError if there is none."""
    for wire in WIRES:
        if wire.name == name:
            return wire
    raise ValueError(f"api must be one of {', '.join(APIS)}, not {name!r}")


APIS = tuple(wire.name for wire in WIRES)


def guided_body(guide: Guide, api: str, headers: Headers, body: Json) -> dict[str, Any] | None:
    """Return a request with the words that belong into it; None where it stays as it is.

    It takes the time that providers take: call it off the event loop.

    Args:
        guide: follows the conversations.
        api: ``"anthropic-messages"``, ``"openai-chat"``, ``"openai-responses"`` or ``"gemini"``.
        headers: of the request, names in lower case; by some of them programs name their agents.
        body: of the request, decoded. It is not changed.

    Raises:
        ValueError: there is no such API.
    """
    wire = wire_named(api)
    decision = guide.request(wire, headers, body, items_of(wire, body))
    messages = body.get(wire.list_key)
    if not decision.words or not isinstance(messages, list) or not messages:
        return None
    *others, last = messages
    place = wire.place(last) if isinstance(last, dict) else None
    if place is None:
        return None
    try:
        guided = place.put(last, decision.words)
    except Unreadable:
        return None
    guide.counts.guided += 1
    return {**body, wire.list_key: [*others, guided]}
