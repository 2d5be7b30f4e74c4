"""Keys of a terminal, read without waiting for the end of a line."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_NAMES = {
    b"\x1b[A": "up", b"\x1bOA": "up", b"k": "up",
    b"\x1b[B": "down", b"\x1bOB": "down", b"j": "down",
    b"\x1b[C": "right", b"\x1bOC": "right", b"l": "right",
    b"\x1b[D": "left", b"\x1bOD": "left", b"h": "left",
    b"\x1b[F": "end", b"\x1bOF": "end", b"\x1b[4~": "end", b"G": "end",
    b"q": "q", b"\x03": "q", b"\x04": "q",
}  # fmt: skip


def names_in(typed: bytes) -> list[str]:
    """Return the names of the keys in what was typed; others are left out."""
    found, at = [], 0
    by_length = sorted(_NAMES, key=len, reverse=True)
    while at < len(typed):
        code = next((each for each in by_length if typed.startswith(each, at)), None)
        if code is not None:
            found.append(_NAMES[code])
        at += len(code) if code else 1
    return found


if sys.platform == "win32":
    import msvcrt
    import time

    _ARROWS = {b"H": "up", b"P": "down", b"K": "left", b"M": "right", b"O": "end"}

    @contextmanager
    def raw_keys() -> Iterator[None]:
        """Read keys as they come; nothing is to be set here."""
        yield

    def read_keys(seconds: float) -> list[str]:
        """Return the names of the keys that were pressed, after at most so many seconds."""
        found: list[str] = []
        for _ in range(max(1, int(seconds / 0.02))):
            while msvcrt.kbhit():
                code = msvcrt.getch()
                arrow = code in {b"\x00", b"\xe0"}
                found += [_ARROWS.get(msvcrt.getch(), "")] if arrow else names_in(code)
            if found:
                break
            time.sleep(0.02)
        return [name for name in found if name]

else:
    import termios
    import tty

    @contextmanager
    def raw_keys() -> Iterator[None]:
        """Read keys as they come; the terminal is as before afterwards."""
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        try:
            tty.setcbreak(terminal)
            yield
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def read_keys(seconds: float) -> list[str]:
        """Return the names of the keys that were pressed, after at most so many seconds."""
        terminal = sys.stdin.fileno()
        ready, _, _ = select.select([terminal], [], [], seconds)
        if not ready:
            return []
        typed = os.read(terminal, 1024)
        return names_in(typed) if typed else ["q"]  # the terminal has gone
