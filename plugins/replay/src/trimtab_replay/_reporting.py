"""What goes to the error channel: what was not read, and why."""

from __future__ import annotations

import sys

from trimtab import sanitize
from trimtab_replay._pool import ReadStats


def report_stats(stats: ReadStats) -> int:
    """Say on the error channel what was not read; return the exit status."""
    for skipped in stats.skipped:
        line = "" if skipped.line is None else f":{skipped.line}"
        complain(f"{sanitize(skipped.path, 300)}{line}: {sanitize(skipped.what, 300)}")
    if stats.other_files:
        complain(f"other files, no transcripts: {stats.other_files}")
    if stats.without_calls:
        complain(f"files whose runs hold no tool call: {stats.without_calls}")
    if stats.left_out:
        complain(f"runs left out, older than asked for or without a time: {stats.left_out}")
    if not stats.runs:
        complain("no recorded run was replayed")
    return int(bool(stats.skipped))


def complain(message: str) -> None:
    """Write one line to the error channel."""
    sys.stderr.write(f"trimtab: {message}\n")
