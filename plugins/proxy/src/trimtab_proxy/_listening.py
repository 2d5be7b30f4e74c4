"""Reads the model's answer from a copy of the bytes that pass."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from trimtab_proxy._items import Answer, Events, Wire

MOST_BYTES = 16_000_000


class Listener:
    """Keeps a copy of one answer until it is complete.

    Args:
        streamed: whether the answer is a stream of events.
    """

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
    """Return an answer; None if it is incomplete, or of no known form.

    Args:
        wire: the API.
        body: the answer, whole.
        streamed: whether it is a stream of events.
    """
    try:
        return _from_events(wire, body) if streamed else _from_body(wire, body)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return None


def _from_events(wire: Wire, body: bytes) -> Answer | None:
    events = wire.events()
    for data in event_data(body):
        _add(events, json.loads(data))
    return events.answer()


def _from_body(wire: Wire, body: bytes) -> Answer | None:
    value = json.loads(body)
    if isinstance(value, list):
        return _from_list(wire.events(), value)
    return wire.answer(value) if isinstance(value, dict) else None


def event_data(stream: bytes) -> Iterator[bytes]:
    """Yield the data of the events in a stream; an event's lines end in CR, LF or both."""
    data: list[bytes] = []
    for line in stream.splitlines():
        if line.startswith(b"data:"):
            data.append(line[5:].lstrip(b" "))
        elif not line and data:
            yield from _known(data)
            data = []
    yield from _known(data)


def _known(data: Sequence[bytes]) -> Iterator[bytes]:
    joined = b"\n".join(data)
    if joined and joined != b"[DONE]":
        yield joined


def _from_list(events: Events, values: Sequence[Any]) -> Answer | None:
    for value in values:
        _add(events, value)
    return events.answer()


def _add(events: Events, value: Any) -> None:
    if isinstance(value, dict):
        events.add(value)
