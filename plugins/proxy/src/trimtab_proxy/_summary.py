"""One line about what happened."""

from __future__ import annotations

from trimtab.text import plural
from trimtab_proxy._guide import Counts


def summary(counts: Counts) -> str:
    """Return what passed and what was said, in one line."""
    said = sum(counts.spoken.values())
    by_provider = ", ".join(f"{name} {n}" for name, n in counts.spoken.most_common() if n)
    line = (
        f"{plural(counts.requests, 'request')}, {plural(counts.runs, 'run')}, "
        f"{plural(said, 'hint')}{f' ({by_provider})' if by_provider else ''}"
    )
    if counts.failures:
        kinds = ", ".join(f"{name} {n}" for name, n in counts.failures.most_common())
        line += f"; passed on without hints because of failures: {kinds}"
    return line
