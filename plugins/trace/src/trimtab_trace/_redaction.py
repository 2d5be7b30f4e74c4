"""Taking secrets out of the payloads of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from trimtab_trace._secrets import Redaction

Redactor = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def redactor(entries: Iterable[str] = ()) -> Redactor:
    """Return a function that takes secrets out of a payload, at any depth.

    Args:
        entries: names and beginnings of further secrets, as for `Redaction`.
    """
    return Redaction(entries).of
