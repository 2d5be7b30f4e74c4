"""What a command writes: lines, columns, JSON, apart from what others print meanwhile; files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from trimtab._types.errors import TrimtabError

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1
"""Version of the JSON that `say_json` writes; a change that breaks a reader raises it."""
_own: list[TextIO] = []
_STDOUT, _STDERR = 1, 2


@contextmanager
def others_to_stderr() -> Iterator[None]:
    """Send what others print to standard error inside: providers, when they are imported or asked.

    Also what they write to the file descriptor. `say`, `say_json` and `output` go on writing to
    standard output. What calls ``os._exit`` inside gets a SystemExit instead; a process that was
    forked inside enters once more for that.
    """
    with ExitStack() as stack:
        if _Exits.process != os.getpid():
            stack.enter_context(_exits_raised())
        own = _own[-1] if _own else stack.enter_context(_kept(sys.stdout))
        _own.append(own)
        stack.callback(_own.pop)
        stack.enter_context(redirect_stdout(sys.stderr))
        yield


@contextmanager
def _kept(stream: TextIO) -> Iterator[TextIO]:
    """Yield a stream to where standard output goes, whose descriptor leads to standard error."""
    try:
        redirects = stream is sys.__stdout__ and stream.fileno() == _STDOUT
        sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        redirects = False
    if not redirects:  # a stream of a test, or none
        yield stream
        return
    stream.flush()
    before = os.dup(_STDOUT)
    own = open(  # noqa: PTH123, SIM115 - a descriptor; closed below
        os.dup(_STDOUT), "w", encoding=stream.encoding, errors=stream.errors
    )
    os.dup2(_STDERR, _STDOUT)
    try:
        yield own
        with _named_stdout():
            own.flush()
    finally:
        with suppress(OSError, ValueError):
            stream.flush()  # what others printed early goes where they print
        os.dup2(before, _STDOUT)
        os.close(before)
        with suppress(OSError):  # nobody reads any more: told above
            own.close()


class _Exits:
    """In which process ``os._exit`` raises; 0 in none."""

    process = 0


@contextmanager
def _exits_raised() -> Iterator[None]:
    """Let ``os._exit`` raise SystemExit in this process, so that its caller is named.

    A process that was forked ends by it as ever.
    """
    before, process, outer = os._exit, os.getpid(), _Exits.process

    def exit_(status: int) -> NoReturn:
        if inside and os.getpid() == process:
            raise SystemExit(f"os._exit({status}) was called")
        before(status)

    inside = [True]  # a module that imported the name keeps this function
    os._exit, _Exits.process = exit_, process
    try:
        yield
    finally:
        inside.clear()
        os._exit, _Exits.process = before, outer


def output() -> TextIO:
    """Return the stream for what a command answers: standard output."""
    return _own[-1] if _own else sys.stdout


def say(text: str = "") -> None:
    """Write one line to standard output.

    Args:
        text: without its end.
    """
    with _named_stdout():
        output().write(f"{text}\n")


def say_json(data: Mapping[str, Any]) -> None:
    """Write an object as JSON; values that JSON lacks, such as dates, as text.

    Args:
        data: the object; ``"format"`` is added.
    """
    import json

    say(json.dumps({"format": FORMAT, **data}, indent=2, default=str))


def say_table(rows: Sequence[Sequence[str]], indent: str = "") -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say((indent + "  ".join(cells)).rstrip())


def flush() -> None:
    """Write what is buffered of a command's answer."""
    with _named_stdout():
        sys.stdout.flush()


@contextmanager
def _named_stdout() -> Iterator[None]:
    try:
        yield
    except OSError as error:  # the system names no file where writing fails
        raise OSError(error.errno, error.strerror, "standard output") from None


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """Open a file for a command to write, as UTF-8.

    Args:
        path: the file; it is replaced.

    Raises:
        TrimtabError: it can't be written, e.g. because the disk is full.
    """
    try:
        with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
            yield file
    except OSError as error:
        if error.filename not in (None, str(path), path):
            raise  # it is about what is read meanwhile
        raise TrimtabError(f"can't write {path}: {error.strerror}") from None
