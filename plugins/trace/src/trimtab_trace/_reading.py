"""Reading the lines of a trace file, one after the other, damaged or not."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from trimtab_trace._codec import BACKEND, Backend, BadLine, decode_line
from trimtab_trace._envelope import Damage, TraceEvent
from trimtab_trace._errors import TraceError

_BUFFER = 1 << 18


def scan_file(path: Path, backend: Backend = BACKEND) -> Iterator[TraceEvent | Damage]:
    """Yield the events of a file in order, and what is damaged where it stands.

    An unterminated last line is an event where its checksum matches, else it is left out: its
    write was never acknowledged.

    Raises:
        TraceError: the file can't be opened.
    """
    with _opened(path) as file:
        yield from scan_stream(file, backend)


def scan_stream(file: IO[bytes], backend: Backend = BACKEND) -> Iterator[TraceEvent | Damage]:
    """As `scan_file`, of an open file."""
    return _in_order(_lines(file, backend))


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb", buffering=_BUFFER)
    except OSError as error:
        what = "no such file" if error.errno == errno.ENOENT else error.strerror
        raise TraceError(f"can't read the trace {path}: {what}") from None


def _lines(file: IO[bytes], backend: Backend) -> Iterator[TraceEvent | Damage]:
    offset = 0
    for number, line in enumerate(file, 1):
        whole = line.endswith(b"\n")
        try:
            yield decode_line(line[:-1] if whole else line, backend)
        except BadLine as error:
            if whole:
                yield Damage(f"line {number} (byte {offset:,})", str(error))
            else:
                yield from _tail(line, f"line {number} (byte {offset:,})", backend)
        offset += len(line)


def _tail(line: bytes, where: str, backend: Backend) -> Iterator[TraceEvent | Damage]:
    """Read a last line without a line break: cut short, or its line break is another byte."""
    try:
        event = decode_line(line[:-1], backend)
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
