"""Bounds on what a run is told, for it is kept in memory while a conversation lasts."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

LONGEST_TEXT = 20_000
_EDGE = 8_000
_MOST_ITEMS = 2_000
_DEEPEST = 40


def bounded(value: Any, depth: int = 0) -> Any:
    """Return a JSON-like value whose texts, lists and depth are cut to a bound.

    Of a longer text, head and tail are left, and a digest, so that two that differ in the middle
    still differ.
    """
    if isinstance(value, str):
        return _ends(value) if len(value) > LONGEST_TEXT else value
    if not isinstance(value, dict | list):
        return value
    if depth >= _DEEPEST:
        return None
    if isinstance(value, dict):
        kept = list(value.items())[:_MOST_ITEMS]
        return {key: bounded(item, depth + 1) for key, item in kept}
    return [bounded(item, depth + 1) for item in value[:_MOST_ITEMS]]


def _ends(text: str) -> str:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    left_out = f"\n[… {len(text) - 2 * _EDGE} characters left out, {digest} …]\n"
    return text[:_EDGE] + left_out + text[-_EDGE:]
