"""Printing: aligned columns, and JSON of a stable shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trimtab._plugins.registry import PluginInfo, Problem
from trimtab._types.stdout import say

FORMAT = 1
"""Version of the JSON that `say_json` writes; a change that breaks a reader raises it."""


def say_table(rows: Sequence[Sequence[str]], indent: str = "") -> None:
    """Write rows in aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say((indent + "  ".join(cells)).rstrip())


def say_json(data: Mapping[str, Any]) -> None:
    """Write an object as JSON; values that JSON lacks, such as dates, as text.

    Args:
        data: the object; ``"format"`` is added.
    """
    import json

    say(json.dumps({"format": FORMAT, **data}, indent=2, default=str))


def entry_json(entry: PluginInfo) -> dict[str, Any]:
    """Return an entry as JSON shows it."""
    return {
        "kind": entry.group,
        "name": entry.name,
        "full_name": entry.full_name,
        "distribution": entry.distribution,
        "version": entry.version,
        "target": entry.target,
        "summary": entry.summary,
        "requires": list(entry.requires),
        "api_level": entry.api_level,
        "where": entry.where,
    }


def problem_json(problem: Problem) -> dict[str, Any]:
    """Return a problem as JSON shows it."""
    return {
        "distribution": problem.distribution,
        "where": problem.where,
        "severity": problem.severity,
        "message": problem.message,
        "fix": problem.fix,
    }
