"""One file of transcripts: opened, unpacked and parsed for the readers."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from trimtab_replay._values import parse, repair

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_LINE = 32 * 2**20
MAX_DOCUMENT = 128 * 2**20
MAX_UNPACKED = 8 * 2**30
MAX_RATIO = 300
MAX_BLANK = 1_000_000
SMALL = 256 * 2**20
"""Up to this size a file may be packed as densely as it likes."""
HEAD = 64 * 2**10
_BUFFER = 2**17
_PACKED_AT_ONCE = 2**12
"""Bytes of a packed file that are unpacked at once, and lost where one of them is damaged."""
FIRST_ROWS = 20
MAX_NAMED = 20
_CLOSING = {"]", "}", '"'}
_DAMAGE = (EOFError, OSError, zlib.error)
_BLANK = b"\xef\xbb\xbf\0 \t\r\n"
_PRETTY = re.compile(rb"\s*[\[{]{1,2}\s*\n")
_TELLTALE = re.compile(
    rb'"(?:role|messages|trajectory|tool_calls|parts|steps|history|turn_history|samples'
    rb'|simulations|traj|action|type)"'
)


@attrs.frozen
class Skipped:
    """A part of the input that was not read, or not as it stands.

    Args:
        path: the file, as walked from the argument.
        line: 1-based line; None if the format has none.
        message: what is wrong, in one line.
    """

    path: str
    line: int | None
    message: str


class TooLarge(OSError):
    """A file is larger than what is read of one."""


class _Stepwise(io.FileIO):
    """A file that is read in small steps."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size or 0, _PACKED_AT_ONCE)) or b""


class _Unpacked(gzip.GzipFile):
    """A gzip file: hands out what precedes damage before it raises."""

    def __init__(self, file: Path) -> None:
        self._most = max(SMALL, MAX_RATIO * file.stat().st_size)
        self._packed = _Stepwise(file)
        super().__init__(fileobj=self._packed)

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read1(len(view))
        view[: len(data)] = data
        if self.tell() > self._most:
            raise TooLarge(f"it unpacks to more than {MAX_RATIO} times its size")
        return len(data)

    def close(self) -> None:
        super().close()
        self._packed.close()


class Row(NamedTuple):
    """One line of a line format: its 1-based number and its value."""

    line: int
    value: Any


@attrs.define(eq=False, slots=False)
class Transcript:
    """One file, gzip or not; line formats are streamed, documents are read whole.

    Args:
        file: where it lies.
        path: how it is named in what is shown, as walked from the argument.
        report: receives each part that was not read.
        max_line: longest line that is read, bytes.
        max_document: largest document that is read, bytes unpacked.
        max_unpacked: how much of a file of lines is read, bytes unpacked.
        fault: why a document that begins as JSON does was not read as it stands, and its line.
    """

    file: Path
    path: str
    report: Callable[[Skipped], None]
    max_line: int = MAX_LINE
    max_document: int = MAX_DOCUMENT
    max_unpacked: int = MAX_UNPACKED
    fault: tuple[str, int | None] | None = attrs.field(default=None, init=False)
    _skipped: int = attrs.field(default=0, init=False)

    @property
    def stem(self) -> str:
        """The file's name without ``.gz``, without its last suffix and without ``.traj``."""
        return PurePath(self.file.name.removesuffix(".gz")).stem.removesuffix(".traj")

    @property
    def head(self) -> bytes:
        """The first 64 KiB, unpacked; what there is of them where the file is damaged."""
        return self._beginning[0]

    @property
    def damage(self) -> str | None:
        """What keeps the first 64 KiB from being read; None if they are whole."""
        return self._beginning[1]

    @cached_property
    def _beginning(self) -> tuple[bytes, str | None]:
        head = bytearray()
        try:
            with self.open() as stream:
                while data := stream.read1(HEAD - len(head)):
                    head += data
        except _DAMAGE as error:
            return bytes(head), _reason(error)
        return bytes(head), None

    @cached_property
    def first_rows(self) -> tuple[dict[str, Any], ...]:
        """The objects in the first lines, where it is a line format; to sniff at."""
        if not self._looks_like_json or _PRETTY.match(self.head):
            return ()
        opened = partial(io.BytesIO, self.head) if self._begins_with_first_rows else self.open
        lines = islice(self._lines(lambda _what, _line: None, opened), FIRST_ROWS)
        found: list[dict[str, Any]] = []
        for _, data in lines:
            with suppress(ValueError):
                value = parse(data).value
                found += [value] if isinstance(value, dict) else []
        return tuple(found)

    @property
    def _begins_with_first_rows(self) -> bool:
        """Whether the first rows lie within `head`."""
        lines = self.head.split(b"\n")[:-1]
        return self._is_all_head or sum(not line.isspace() for line in lines if line) >= FIRST_ROWS

    @property
    def _is_all_head(self) -> bool:
        return len(self.head) < min(HEAD, self.max_document) and self.damage is None

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value, None if it is not JSON. Damage is reported."""
        if not self._looks_like_json or len(self.first_rows) > 1:
            return None
        data = self.head if self._is_all_head else self._whole()
        return None if data is None else self._parsed(data)

    @property
    def _looks_like_json(self) -> bool:
        return self.head.lstrip(_BLANK)[:1] in {b"{", b"["}

    def rows(self) -> Iterator[Row]:
        """Yield the lines that are JSON; the others are reported."""
        for line, data in self._lines(self.skip, self.open):
            try:
                parsed = parse(data)
            except ValueError as error:
                self.skip(f"{_told(error)}, or remove the line", line)
                continue
            if parsed.change:
                self.skip(parsed.change, line)
            yield Row(line, parsed.value)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not blank as text, with their numbers from 1.

        For formats without JSON. Bytes that are not UTF-8 are reported and replaced.
        """
        for number, data in self._lines(self.skip, self.open):
            text = data.decode(errors="replace")
            if text.encode() != data:
                self.skip("not UTF-8", number)
            yield number, text

    @property
    def sample(self) -> Any:
        """The first line's value of a line format, else the document; to sniff at."""
        return self.first_rows[0] if self.first_rows else self.document

    def documents(self) -> Iterator[Row]:
        """Yield every document: each line of a line format, else the one that the file is."""
        if len(self.first_rows) > 1:
            yield from self.rows()
        elif self.document is not None:
            yield Row(1, self.document)

    def skip(self, what: str, line: int | None = None) -> None:
        """Report a part that is not read; after the first 20 of a file only their number.

        Args:
            what: the part, in words.
            line: its number in the file, from 1; None if unknown.
        """
        self._skipped += 1
        if self._skipped <= MAX_NAMED:
            self.report(Skipped(self.path, line, what))

    @property
    def has_skipped(self) -> bool:
        """Whether a part has been reported as not read."""
        return self._skipped > 0

    def finish(self) -> None:
        """Report how many parts were skipped without being named; called once, at the end."""
        if self._skipped > MAX_NAMED:
            self.report(Skipped(self.path, None, f"and {self._skipped - MAX_NAMED} places more"))

    def open(self) -> io.BufferedReader:
        """Return the file's bytes, unpacked where it is gzip."""
        stream = self.file.open("rb")
        if stream.peek(2)[:2] != b"\x1f\x8b":
            return stream
        stream.close()
        return io.BufferedReader(_Unpacked(self.file), _BUFFER)

    def _lines(
        self, skip: Callable[[str, int | None], None], opened: Callable[[], io.BufferedIOBase]
    ) -> Iterator[tuple[int, bytes]]:
        number = size = blank = 0
        try:
            with opened() as stream:
                while data := stream.readline(self.max_line):
                    number += 1
                    size += len(data)
                    if size > self.max_unpacked:
                        raise TooLarge(f"larger than {self.max_unpacked} bytes: split it")
                    if len(data) == self.max_line and not data.endswith(b"\n"):
                        skip(f"longer than {self.max_line} bytes", number)
                        size += _skip_line(stream, self.max_line, self.max_unpacked - size)
                    elif not data.isspace():
                        yield number, data
                    else:
                        blank += 1
                        if blank > MAX_BLANK:
                            raise TooLarge(f"more than {MAX_BLANK} blank lines")
        except _DAMAGE as error:
            skip(_reason(error), number + 1)

    def _whole(self) -> bytes | None:
        whole = bytearray()
        try:
            with self.open() as stream:
                while len(whole) <= self.max_document and (data := stream.read1(2**20)):
                    whole += data
        except _DAMAGE as error:
            self.skip(_reason(error))
        if len(whole) > self.max_document:
            self.skip(f"document larger than {self.max_document} bytes; keep one run a line")
            return None
        return bytes(whole)

    def _parsed(self, data: bytes) -> Any:
        try:
            parsed = parse(data)
        except ValueError as error:
            return self._salvaged(data, error)
        if parsed.change:
            self.skip(parsed.change)
        return parsed.value

    def _salvaged(self, data: bytes, error: ValueError) -> Any:
        whole, line = repair(data), getattr(error, "lineno", None)
        is_run = _TELLTALE.search(data) is not None
        if is_run or _is_cut_off(error):
            self.fault = _told(error), line
        if whole is None or not is_run:
            return None
        self.skip(f"{_told(error)}; read up to the last whole part", line)
        try:
            return parse(whole).value
        except ValueError:
            return None


def _told(error: ValueError) -> str:
    """Return why something is not JSON, in words that hold for a line as for a document."""
    if _is_cut_off(error):
        return "not JSON: it was cut off, and ends in the middle of a value; copy the file again"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at column {error.colno}; mend it"
    return f"not JSON: {error}; mend it"


def _is_cut_off(error: ValueError) -> bool:
    if not isinstance(error, json.JSONDecodeError) or error.doc.lstrip()[:1] not in {"{", "["}:
        return False
    return error.msg.startswith("Unterminated") or not _CLOSING & {*error.doc[error.pos :]}


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, TooLarge) else f"damaged or cut off: {error}"


def _skip_line(stream: io.BufferedIOBase, step: int, most: int) -> int:
    """Read up to the end of the line, or a little more than `most` bytes; return how many."""
    skipped = 0
    while (data := stream.readline(step)) and skipped <= most:
        skipped += len(data)
        if data.endswith(b"\n"):
            break
    return skipped
