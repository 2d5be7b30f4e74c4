"""Reads bodies by what they add to bodies that came before.

An agent sends its whole conversation with each request, one step longer than the last. What a body
has in common with an earlier one is found by comparing bytes; only the rest is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

import attrs

from trimtab_proxy._documents import Document, Outline, document_of, read_head, read_rest, stored
from trimtab_proxy._items import Numbering, Wire
from trimtab_proxy._json import Unreadable

MOST_KEPT = 64
MOST_KEPT_BYTES = 16_000_000
_GOES_ON = 8
"""How many of the last messages may differ in the next body of a conversation: programs move cache
marks and reminders among them."""


class _Shared(NamedTuple):
    """What a body has in common with one that is kept."""

    outline: Outline
    messages: int
    end: int

    @property
    def goes_on(self) -> bool:
        return len(self.outline.entries) - self.messages <= _GOES_ON


class Reader:
    """Reads bodies, and keeps the last of each conversation to read the next one by.

    Args:
        most: how many are kept; the one unused for longest goes first.
        most_bytes: how many bytes are kept together; a body that is larger alone is not kept.
    """

    def __init__(self, most: int = MOST_KEPT, most_bytes: int = MOST_KEPT_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: dict[Outline, int] = {}
        self._size = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return self._size

    def read(self, wire: Wire, body: bytes) -> Document:
        """Return a body, decoded.

        Args:
            wire: the API that it is made for.
            body: UTF-8 without a byte order mark.

        Raises:
            Unreadable: it is no JSON object, or has one key twice.
        """
        with self._lock:
            known = [outline for outline in reversed(self._kept) if outline.wire is wire]
        outline, shared = _outline(wire, body, known)
        if outline.entries:
            self._keep(outline, len(body), shared)
        return document_of(outline, body)

    def _keep(self, outline: Outline, size: int, shared: _Shared | None) -> None:
        kept = _without_values(outline, shared.messages if shared else 0)
        with self._lock:
            if shared is not None and shared.goes_on:
                self._size -= self._kept.pop(shared.outline, 0)
            self._kept[kept] = size
            self._size += size
            while self._kept and (len(self._kept) > self._most or self._size > self._most_bytes):
                self._size -= self._kept.pop(next(iter(self._kept)))


def read(wire: Wire, body: bytes) -> Document:
    """Return a body, decoded, without regard to any other; as `Reader.read` does."""
    return document_of(_outline(wire, body, ())[0], body)


def _outline(wire: Wire, body: bytes, known: Sequence[Outline]) -> tuple[Outline, _Shared | None]:
    try:
        head = next((o for o in known if body.startswith(o.head)), None) or read_head(wire, body)
        if len(head.head) == len(body):
            return head, None
        shared = _most_shared(body, len(head.head), known)
        messages = shared.outline.entries[: shared.messages] if shared else ()
        beginning = Outline(wire, head.head, head.head_fields, messages)
        end = shared.end if shared else len(head.head)
        return read_rest(beginning, body, end, shared and shared.outline), shared
    except (UnicodeDecodeError, RecursionError, IndexError) as error:
        raise Unreadable(f"the body is no JSON: {type(error).__name__}") from None
    except Unreadable:
        raise
    except ValueError as error:
        raise Unreadable(f"the body is no JSON object: {error}") from None


def _most_shared(body: bytes, start: int, known: Iterable[Outline]) -> _Shared | None:
    """Return what a body has in common with the outline that it has most in common with."""
    best: _Shared | None = None
    for outline in known:
        shared = _Shared(outline, *outline.shared_with(body, start))
        if shared.messages and (best is None or shared.end > best.end):
            best = shared
            if shared.goes_on:
                break
    return best


def _without_values(outline: Outline, known: int) -> Outline:
    """Return an outline for keeping: what was decoded anew is left out, keys stay."""
    entries = list(outline.entries)
    for index in range(known, len(entries)):
        before = entries[index - 1].numbering if index else Numbering()
        entries[index] = stored(entries[index], outline.wire, before)
    return attrs.evolve(outline, entries=entries)
