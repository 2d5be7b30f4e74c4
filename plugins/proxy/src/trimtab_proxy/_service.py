"""What the relay asks about requests and answers, in bytes and plain values.

The process that asks providers may be another one than the relay's; nothing here knows which.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import attrs

from trimtab_proxy._gate import Verdict
from trimtab_proxy._guide import Decision, Guide
from trimtab_proxy._items import Answer, Wire
from trimtab_proxy._listening import read_answer
from trimtab_proxy._reader import Reader
from trimtab_proxy._wires import WIRES

MOST_TICKETS = 1_024
"""Decisions whose answers may still come; a program has few requests under way."""


@attrs.frozen
class Insertion:
    """What is put into a body.

    Args:
        offset: where, in bytes.
        text: what.
    """

    offset: int
    text: bytes

    def into(self, body: bytes) -> bytes:
        """Return the body with the text in it."""
        whole = memoryview(body)  # a large body is copied once
        return b"".join((whole[: self.offset], self.text, whole[self.offset :]))


@attrs.frozen
class Decided:
    """What becomes of one request.

    Args:
        ticket: by which its answer is told; None where nobody follows it.
        insertion: what is put in; None for nothing.
    """

    ticket: int | None = None
    insertion: Insertion | None = None


class GuideService:
    """Decides about requests and takes their answers. Every call may take as long as providers do.

    Args:
        guide: follows the conversations.
    """

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self._reader = Reader()
        self._lock = Lock()
        self._tickets: OrderedDict[int, Decision] = OrderedDict()
        self._number = 0

    def decide(
        self, wire: str, headers: Sequence[tuple[bytes, bytes]], body: bytes, provider: str = ""
    ) -> Decided:
        """Return what becomes of a request.

        Args:
            wire: the name of its API.
            headers: as they came, names in lower case.
            body: whole.
            provider: whose service it goes on to; empty if unknown.

        Raises:
            Unreadable: the body is no JSON object.
        """
        api = wire_named(wire)
        document = self._reader.read(api, body)
        texts = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        decision = self.guide.request(api, texts, document.fields, document.items, provider)
        ticket = self._ticket(decision) if decision.thread is not None else None
        last = document.last() if decision.words else None
        place = api.place(last) if isinstance(last, dict) else None
        if place is None:
            return Decided(ticket)
        self.guide.counts.guided += 1
        return Decided(ticket, Insertion(*document.insertion(place, decision.words)))

    def heard(self, ticket: int, wire: str, body: bytes, *, streamed: bool) -> None:
        """Take the model's answer to a request.

        Args:
            ticket: of the request.
            wire: the name of its API.
            body: the answer, whole.
            streamed: whether it is a stream of events.
        """
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
    """Return an API by its name."""
    return next(wire for wire in WIRES if wire.name == name)
