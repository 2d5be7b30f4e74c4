"""Bounds on what a hook is told: a payload is kept in memory and on disk."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

LONGEST_TEXT = 20_000
_EDGE = 8_000
_LONGEST_LIST = 2_000
_DEEPEST = 60


def bounded(value: Any, depth: int = 0) -> Any:
    """Return a JSON-like value with its texts, lists and depth cut to a bound.

    Of a longer text head and tail are left, and a digest, so that two that differ in the middle
    still differ.
    """
    if isinstance(value, str):
        return _ends(value) if len(value) > LONGEST_TEXT else value
    if depth >= _DEEPEST:
        return None
    if isinstance(value, dict):
        return {key: bounded(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [bounded(item, depth + 1) for item in value[:_LONGEST_LIST]]
    return value


def _ends(text: str) -> str:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    middle = f"\n[… {len(text) - 2 * _EDGE} characters left out, {digest} …]\n"
    return text[:_EDGE] + middle + text[-_EDGE:]
