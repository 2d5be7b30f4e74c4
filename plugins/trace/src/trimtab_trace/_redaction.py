"""What must not reach the disk: values of named keys are replaced before they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

REDACTED = "[redacted]"
_LONGEST_KEY = 200

Redactor = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def redactor(keys: Iterable[str]) -> Redactor:
    """Return a function that replaces the values of matching keys at any depth of a payload.

    Args:
        keys: names or patterns with ``*``, compared without regard to case, e.g. ``"*token*"``.
    """
    patterns = tuple(key.lower() for key in keys)

    @lru_cache(maxsize=4096)
    def hidden(key: str) -> bool:
        return any(fnmatchcase(key.lower(), pattern) for pattern in patterns)

    def replaced(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {
                key: REDACTED if hidden(key[:_LONGEST_KEY]) else replaced(item)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [replaced(item) for item in value]
        return value

    return replaced
