"""What a command answers, kept apart from what others print meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_own: list[TextIO] = []


@contextmanager
def others_to_stderr() -> Iterator[None]:
    """Send what others print to standard error inside: providers, when they are imported or asked.

    `say`, `say_json` and `output` go on writing to standard output.
    """
    _own.append(output())
    before, sys.stdout = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout = before
        _own.pop()


def output() -> TextIO:
    """Return the stream for what a command answers: standard output."""
    return _own[-1] if _own else sys.stdout


def say(text: str = "") -> None:
    """Write one line to standard output.

    Args:
        text: without its end.
    """
    output().write(f"{text}\n")
