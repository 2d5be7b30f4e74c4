"""What happened, in words for the user."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.text import plural, sanitize
from trimtab_proxy._guide import Counts, Spoken

_SHOWN = 3
_LONGEST = 300


def summary(counts: Counts) -> str:
    """Return what passed and what was said, in one line, and the newest words below it."""
    said = sum(counts.spoken.values())
    by_provider = ", ".join(f"{name} {n}" for name, n in counts.spoken.most_common() if n)
    line = (
        f"{plural(counts.requests, 'request')}, {plural(counts.runs, 'run')}, "
        f"{plural(said, 'hint')}{f' ({by_provider})' if by_provider else ''}"
    )
    if counts.failures:
        kinds = ", ".join(f"{name} {n}" for name, n in counts.failures.most_common())
        line += f"; passed on without hints because of failures: {kinds}"
    words = [f"  {spoken_line(one)}" for one in counts.said[-_SHOWN:]]
    return "\n".join((line, *words))


def spoken_line(spoken: Spoken) -> str:
    """Return what was said once, in one line."""
    head = f"{spoken.at} {sanitize(spoken.provider, 60)}"
    return f"{head}: {sanitize(spoken.words, _LONGEST)}"


def nothing_passed(program: str, variables: Sequence[str]) -> str:
    """Return why no request of a program may have passed, and what to do.

    Args:
        program: its name.
        variables: those that it was given the proxy's address by.
    """
    return (
        f"{sanitize(program, 60)} asked no model, or does not read "
        f"{', '.join(variables)}. If it takes the address from another variable, name it: "
        "--set NAME=openai"
    )
