"""Events as lines of JSON with a checksum, and back, damaged or not; when they are made sure."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple
from zlib import crc32

import attrs

from trimtab import SYSTEM_CLOCK
from trimtab.events import encode_value
from trimtab_trace._envelope import (
    FORMAT_VERSION,
    NO_REFERENCES,
    Damage,
    EventInvalid,
    References,
    TraceError,
    TraceEvent,
)

_CHECK = b',"_crc":"'
MAX_BYTES = 256 << 20
_TAIL = len(_CHECK) + 8 + 2
_REFERENCES = tuple(field.name for field in attrs.fields(References))


class BadLine(ValueError):
    """A line is not an intact event; the message says why."""


class Backend(NamedTuple):
    """A JSON library."""

    name: str
    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]


def _standard() -> Backend:
    plain = json.JSONEncoder(separators=(",", ":"), default=encode_value)
    as_utf8 = json.JSONEncoder(separators=(",", ":"), default=encode_value, ensure_ascii=False)

    def dumps(value: Any) -> bytes:
        try:
            return as_utf8.encode(value).encode()
        except UnicodeEncodeError:  # lone surrogates, which UTF-8 can't hold
            return plain.encode(value).encode()

    return Backend("json", dumps, json.loads)


def _fast() -> Backend:
    import orjson

    standard = _standard()

    def dumps(value: Any) -> bytes:
        try:
            return orjson.dumps(value, encode_value)
        except TypeError:  # lone surrogates, and integers of more than 64 bits
            return standard.dumps(value)

    def loads(data: bytes) -> Any:
        try:
            return orjson.loads(data)
        except ValueError:
            return standard.loads(data)

    return Backend("orjson", dumps, loads)


STANDARD = _standard()
try:
    BACKEND = _fast()
except ImportError:
    BACKEND = STANDARD


def encode_line(event: TraceEvent) -> bytes:
    """Return `event` as one line, with its checksum and the line break."""
    body = {"v": event.v, **as_json(event)}
    try:
        text = BACKEND.dumps(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise EventInvalid(
            f"the payload of a {event.event_type} event is not JSON: {error}"
        ) from None
    if len(text) > MAX_BYTES:
        raise EventInvalid(
            f"a {event.event_type} event has {len(text):,} bytes, the limit is {MAX_BYTES:,}; keep"
            " large results outside the trace and record where they are"
        )
    kept = text[:-1]
    return b'%b%b%08x"}\n' % (kept, _CHECK, crc32(kept))


def as_json(event: TraceEvent) -> dict[str, Any]:
    """Return a whole event, but for the version of its format."""
    return {
        "run_id": event.run_id,
        "epoch": event.epoch,
        "seq": event.seq,
        "event_id": event.event_id,
        "event_type": event.event_type,
        "timestamp": event.timestamp.isoformat(),
        "actor": event.actor,
        "references": references_json(event.references),
        "payload": event.payload,
    }


@lru_cache(maxsize=1024)
def references_json(references: References) -> dict[str, str]:
    found = {name: getattr(references, name) for name in _REFERENCES}
    return {name: value for name, value in found.items() if value is not None}


def decode_line(line: bytes) -> TraceEvent:
    """Return the event in `line`, given without its line break."""
    kept = line[:-_TAIL]
    if b'%b%08x"}' % (_CHECK, crc32(kept)) != line[-_TAIL:]:
        raise BadLine(_why(line))
    try:
        body = BACKEND.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"no JSON: {error}") from None
    return event_of(body)


def event_of(body: Mapping[str, Any]) -> TraceEvent:
    """Return the event that a decoded line describes."""
    try:
        if body["v"] != FORMAT_VERSION:
            raise BadLine(f"format version {body['v']!r}; this release reads {FORMAT_VERSION}")
        event = TraceEvent(
            event_type=body["event_type"],
            payload=body["payload"],
            event_id=body["event_id"],
            run_id=body["run_id"],
            timestamp=time_of(body["timestamp"]),
            actor=body["actor"],
            references=_references(tuple(body["references"].items())),
            seq=body["seq"],
            epoch=body["epoch"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise BadLine(f"no event: {type(error).__name__}: {error}") from None
    if type(event.seq) is not int or type(event.payload) is not dict:
        raise BadLine("no event: seq must be an integer and payload an object")
    return event


@lru_cache(maxsize=1024)
def _references(items: tuple[tuple[str, str], ...]) -> References:
    return References(**dict(items)) if items else NO_REFERENCES


def time_of(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _why(line: bytes) -> str:
    if not line.strip(b"\0"):
        return f"{len(line)} zero bytes"
    if line[-_TAIL : -_TAIL + len(_CHECK)] != _CHECK:
        return "no checksum at the end of the line"
    return "the checksum does not match"


_BUFFER = 1 << 18


def scan_file(path: Path) -> Iterator[TraceEvent | Damage]:
    """Yield the events of a file in order, and what is damaged where it stands.

    An unterminated last line is an event where its checksum matches, else it is left out: its
    write was never acknowledged.
    """
    try:
        file = path.open("rb", buffering=_BUFFER)
    except OSError as error:
        what = "no such file" if error.errno == errno.ENOENT else error.strerror
        raise TraceError(f"can't read the trace {path}: {what}") from None
    with file:
        yield from scan_stream(file)


def scan_stream(file: IO[bytes]) -> Iterator[TraceEvent | Damage]:
    """As `scan_file`, of an open file."""
    return _in_order(_lines(file))


def _lines(file: IO[bytes]) -> Iterator[TraceEvent | Damage]:
    offset = 0
    for number, line in enumerate(file, 1):
        whole = line.endswith(b"\n")
        try:
            yield decode_line(line[:-1] if whole else line)
        except BadLine as error:
            if whole:
                yield Damage(f"line {number} (byte {offset:,})", str(error))
            else:
                yield from _tail(line, f"line {number} (byte {offset:,})")
        offset += len(line)


def _tail(line: bytes, where: str) -> Iterator[TraceEvent | Damage]:
    """Read a last line without a line break: cut short, or its line break is another byte."""
    try:
        event = decode_line(line[:-1])
    except BadLine:
        return
    yield Damage(where, "the line break is damaged")
    yield event


def _in_order(found: Iterator[TraceEvent | Damage]) -> Iterator[TraceEvent | Damage]:
    """Name the events that are missing, or that stand twice."""
    expected = 0
    for item in found:
        if isinstance(item, Damage):
            yield Damage(item.where, item.what, expected)
            continue
        if item.seq != expected:
            yield gap(expected, item.seq)
        expected = max(expected, item.seq + 1)
        yield item


def gap(expected: int, seq: int) -> Damage:
    """Return what is wrong if event `seq` comes where `expected` should."""
    if seq < expected:
        return Damage(f"event {seq}", f"out of order: it follows event {expected - 1}", seq)
    missing = (
        f"event {expected} is" if seq == expected + 1 else f"events {expected} to {seq - 1} are"
    )
    return Damage(f"before event {seq}", f"{missing} missing", expected)


BARRIERS = frozenset({"ToolInvoked", "CompletionChecked", "RunTerminated", "LeaseLost"})


class Durability(StrEnum):
    """When a store syncs to the disk.

    A process that is killed loses nothing in any mode: each event is handed to the operating
    system before `append` returns. The modes differ when the machine itself stops.
    """

    NONE = "none"
    BARRIER = "barrier"
    INTERVAL = "interval"
    EACH = "each"

    @classmethod
    def of(cls, value: str) -> Durability:
        """Return the mode of that name."""
        try:
            return cls(value)
        except ValueError:
            known = ", ".join(mode.value for mode in cls)
            raise TraceError(f"no durability {value!r}; use one of: {known}") from None


_INTERVAL = 0.05
"""Seconds between two syncs in the mode `INTERVAL`."""


class SyncPolicy:
    """Decides, event by event, whether to sync."""

    def __init__(self, durability: Durability) -> None:
        self.durability = durability
        self._last = SYSTEM_CLOCK.monotonic()

    def due(self, event_type: str, *, durable: bool) -> bool:
        """Return whether to sync after an event of this type; `durable` asks for it."""
        if durable or self.durability is Durability.EACH:
            return True
        if self.durability is Durability.BARRIER:
            return event_type in BARRIERS
        now = SYSTEM_CLOCK.monotonic()
        if self.durability is not Durability.INTERVAL or now - self._last < _INTERVAL:
            return False
        self._last = now
        return True
