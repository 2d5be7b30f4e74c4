"""What goes to the error channel: what was not read, and why."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from trimtab.text import plural, sanitize
from trimtab_replay._job import ReadStats
from trimtab_replay._transcript import Skipped

MAX_FAILURES = 20


def report_stats(stats: ReadStats) -> int:
    """Say on the error channel what was not read and who failed; return the exit status."""
    status = report_skipped(stats.skipped, stats.other_files)
    if stats.without_calls:
        complain(f"files whose runs hold no tool call: {stats.without_calls}")
    if stats.left_out:
        complain(f"runs left out, older than asked for or without a time: {stats.left_out}")
    for (provider, message), runs in sorted(stats.failures.items())[:MAX_FAILURES]:
        name = sanitize(provider, 100)
        complain(f"the provider {name} failed in {plural(runs, 'run')}: {sanitize(message, 300)}")
    if not stats.runs:
        complain("no recorded run was replayed")
        status = status or int(not stats.left_out)
    return status or int(bool(stats.failures))


def report_skipped(skipped: Iterable[Skipped], other_files: int) -> int:
    """Say which files were not read; return the exit status, 1 if one should have been."""
    status = 0
    for each in skipped:
        status = 1
        line = "" if each.line is None else f":{each.line}"
        complain(f"{sanitize(each.path, 300)}{line}: {sanitize(each.message, 1_000)}")
    if other_files:
        complain(f"other files, no transcripts: {other_files}")
    return status


def complain(message: str) -> None:
    """Write one line to the error channel."""
    sys.stderr.write(f"trimtab: {message}\n")
