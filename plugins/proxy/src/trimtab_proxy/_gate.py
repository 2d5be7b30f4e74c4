"""Holding back the end of a streamed answer until it is decided whether it passes.

Text and thinking pass at once. Calls and the end of the message are held; where a call is refused,
or the agent may not stop yet, the model is asked again, and its second answer goes on in the same
message. What is shared by the APIs is here.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import attrs

from trimtab_proxy._items import Answer, Json

MOST_ROUNDS = 8
"""How often the model is asked again for one request at most."""
_END = re.compile(rb"\r?\n\r?\n|\r\r")


@attrs.frozen
class Verdict:
    """Why the calls of an answer are not run, or why the agent may not stop; empty if so."""

    refusal: str = ""
    feedback: str = ""

    @property
    def passes(self) -> bool:
        """Whether the answer goes to the program as it is."""
        return not (self.refusal or self.feedback)


class Frames:
    """Cuts a stream into events, with the bytes that each came in."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, Any]]:
        """Yield each complete event: its bytes, and its data decoded (None if it is no JSON)."""
        stream = self._rest + chunk
        found = _END.finditer(stream, max(0, len(self._rest) - 3))
        ends = [0, *(end.end() for end in found)]
        self._rest = stream[ends[-1] :]
        for start, end in pairwise(ends):
            frame = stream[start:end]
            yield frame, _data(frame)

    def rest(self) -> bytes:
        """Return what is left of the stream, an event that was not completed."""
        rest, self._rest = self._rest, b""
        return rest


class Gate(ABC):
    """Follows the rounds of one request to one API."""

    def __init__(self) -> None:
        self._frames = Frames()
        self._used = 0
        self._begin()

    def _begin(self) -> None:
        """Prepare for the stream of one answer."""
        self._held: list[bytes] = []
        self._holding = False
        self._output = 0

    def take(self, chunk: bytes) -> bytes:
        """Take bytes of the stream; return those that pass at once."""
        passed: list[bytes] = []
        for frame, event in self._frames.feed(chunk):
            shown = self._read(frame, event) if isinstance(event, dict) else frame
            (self._held if self._holding else passed).append(shown)
        return b"".join(passed)

    @abstractmethod
    def _read(self, frame: bytes, event: dict[str, Any]) -> bytes:
        """Take one event, and decide whether to hold from here on; return what the program gets."""

    @abstractmethod
    def answer(self) -> Answer | None:
        """Return the answer of this round; None if it broke off, or can't be sent back."""

    @abstractmethod
    def again(self, verdict: Verdict) -> Sequence[Json]:
        """Return the messages with which the model is asked again."""

    def next_round(self) -> None:
        """Drop what is held; the stream of the next answer follows."""
        self._used += self._output
        self._begin()

    def release(self) -> bytes:
        """Return what is held."""
        held, self._held = self._held, []
        return b"".join([*held, self._frames.rest()])


def frame_of(event: Mapping[str, Any], name: str | None = None) -> bytes:
    """Return an event as bytes of a stream."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


def _data(frame: bytes) -> Any:
    lines = (line[5:].strip() for line in frame.splitlines() if line.startswith(b"data:"))
    try:
        return json.loads(b"\n".join(lines))
    except (ValueError, RecursionError):
        return None
