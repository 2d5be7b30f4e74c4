"""One HTTP request, read within bounds. Hooks need no more of HTTP than this."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from io import BufferedIOBase
from typing import NamedTuple

_LONGEST_HEAD = 16_384


class Refused(Exception):  # not an error of trimtab: it is answered, and gone
    """A request that is not served."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status)
        self.status = status


class Head(NamedTuple):
    """What stands before the body of a request.

    Args:
        method: e.g. ``POST``.
        path: as it was asked for.
        headers: by their names in lower case, each once.
    """

    method: str
    path: str
    headers: Mapping[str, str]


def read_head(file: BufferedIOBase) -> Head:
    """Read up to the empty line.

    Raises:
        Refused: it is no HTTP, too long, or says one thing twice.
        OSError: nothing came for too long.
    """
    first, *lines = _lines(file)
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Refused(HTTPStatus.BAD_REQUEST)
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip() or name.lower() in headers:
            raise Refused(HTTPStatus.BAD_REQUEST)
        headers[name.lower()] = value.strip()
    return Head(words[0], words[1], headers)


def _lines(file: BufferedIOBase) -> list[str]:
    lines: list[str] = []
    left = _LONGEST_HEAD
    while not lines or lines[-1]:
        line = file.readline(left)
        left -= len(line)
        if not line.endswith(b"\n"):
            too_long = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise Refused(HTTPStatus.BAD_REQUEST if left else too_long)
        lines.append(line.decode("latin-1").rstrip("\r\n"))
    return lines[:-1] or [""]


def read_body(file: BufferedIOBase, head: Head, most: int) -> bytes:
    """Read as many bytes as the head tells.

    Raises:
        Refused: it does not tell, or more than `most`, or fewer came.
        OSError: nothing came for too long.
    """
    length = head.headers.get("content-length", "")
    if not length.isascii() or not length.isdigit():
        raise Refused(HTTPStatus.LENGTH_REQUIRED)
    if len(length) > 12 or int(length) > most:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    body = file.read(int(length))
    if len(body) < int(length):
        raise Refused(HTTPStatus.BAD_REQUEST)
    return body


def response(status: HTTPStatus, content: bytes, headers: Mapping[str, str]) -> bytes:
    """Return an answer in one piece, after which the connection is closed."""
    lines = [
        f"HTTP/1.1 {status} {status.phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + content
