"""Removing old traces: only those that the recorder itself wrote, and that nobody writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from trimtab_trace._codec import BadLine, decode_line
from trimtab_trace._errors import TraceError
from trimtab_trace._jsonl import hold

_LONGEST_LINE = 1 << 20
"""Bytes of a first line; it holds the settings of a prompt."""


def remove_old(folder: Path, keep: int, current: Path, name_of: Callable[[str], str]) -> None:
    """Remove the oldest traces of a folder, so that `keep` are left.

    The folder may be the user's: a file is a trace of the recorder if its first line is an intact
    event that begins a run, and it has the name that the recorder gives to the trace of that run.

    Args:
        folder: where the traces are.
        keep: how many stay, `current` among them.
        current: the trace that is begun.
        name_of: returns the name of a run's file.
    """
    others = [found for found in _traces(folder, name_of) if found[1] != current]
    for _, path in sorted(others, reverse=True)[keep - 1 :]:
        _remove(path)


def _traces(folder: Path, name_of: Callable[[str], str]) -> Iterator[tuple[int, Path]]:
    for path in folder.glob("*.jsonl"):
        try:
            if path.is_symlink() or not path.is_file():
                continue
            with path.open("rb") as file:
                event = decode_line(file.readline(_LONGEST_LINE).rstrip(b"\n"))
            if event.event_type == "RunConfigured" and name_of(event.run_id) == path.name:
                yield path.stat().st_mtime_ns, path
        except (OSError, BadLine):
            continue


def _remove(path: Path) -> None:
    """Remove a trace unless another writer, in this process or elsewhere, holds it."""
    try:
        file = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return
    try:
        hold(file, path)
        path.unlink()
    except (OSError, TraceError):
        return
    finally:
        os.close(file)
