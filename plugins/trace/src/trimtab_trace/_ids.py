"""Identifiers of events."""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from hashlib import blake2b
from pathlib import Path

import attrs
from uuid_utils import uuid7

_ID = re.compile(rb'"event_id":("(?:[^"\\]|\\.)*")')


def new_event_id() -> str:
    """Return a new UUID of version 7, as text."""
    return str(uuid7())


@attrs.frozen(eq=False)
class EventIds:
    """Ids of the events of a file, eight bytes each: what is not here is not in the file."""

    _digests: array[int]

    @classmethod
    def none(cls) -> EventIds:
        """Return the ids of an empty file."""
        return cls(array("Q"))

    @classmethod
    def of(cls, path: Path) -> EventIds:
        """Return the ids in a file of JSON lines."""
        found = array("Q")
        with path.open("rb") as file:
            for line in file:
                found.extend(map(_digest, _ID.findall(line)))
        return cls(array("Q", sorted(found)))

    def __contains__(self, event_id: str) -> bool:
        wanted = _digest(encoded(event_id))
        at = bisect_left(self._digests, wanted)
        return at < len(self._digests) and self._digests[at] == wanted


def encoded(event_id: str) -> bytes:
    """Return an id as it stands in a line."""
    return json.dumps(event_id, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _digest(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8).digest())
