"""Which provider is being called, told to whoever watches this process from outside.

A thread can't be ended, and one that holds the interpreter's lock stops all others, the one that
counts its seconds too. Only another process can see that and end it; this is how it learns whose
code was running.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Tell = Callable[[str], None]


class _Watch:
    """Holds who is told, in most processes nobody; looked up once for each batch of calls."""

    tell: Tell | None = None


WATCH = _Watch()


def watch_calls(tell: Tell | None) -> None:
    """Be told of every call into a provider in this process, before and after it.

    Args:
        tell: called on the thread of the call with the provider's name, e.g. ``"doom-loop"``, and
            with an empty text when the call has returned. It must be short and must not raise.
            None ends the watch.
    """
    WATCH.tell = tell


def call_told(name: str, call: Callable[..., T], *arguments: Any) -> T:
    """Return ``call(*arguments)``, told as a call into the provider `name`."""
    tell = WATCH.tell
    if tell is None:
        return call(*arguments)
    tell(name)
    try:
        return call(*arguments)
    finally:
        tell("")
