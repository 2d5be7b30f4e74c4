"""Durations and amounts in words."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Return a duration as an agent reads it.

    Args:
        seconds: below 0 counts as 0.
    """
    seconds = max(0.0, seconds)
    if seconds < 120:
        return _counted(int(seconds), "second")
    if seconds < 3600:
        return _counted(int(seconds / 60), "minute")
    hours = f"{seconds / 3600:.1f}".removesuffix(".0")
    return "1 hour" if hours == "1" else f"{hours} hours"


def amount(value: float) -> str:
    """Return a number of tokens or units of cost; below 0 counts as 0."""
    value = max(0.0, value)
    return f"{int(value):,}" if value == int(value) else f"{value:,.2f}"


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
