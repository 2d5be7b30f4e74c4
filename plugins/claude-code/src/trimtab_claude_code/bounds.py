"""Bounds on what a hook is told: a payload is kept in memory and on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

MOST_BYTES = 16_000_000
"""How long an event may be; a longer one is left out."""

LONGEST_TEXT = 20_000
_EDGE = 8_000
_LONGEST_LIST = 2_000
_DEEPEST = 60


def payload_of(body: bytes) -> Mapping[str, Any]:
    """Read what a hook was told.

    Raises:
        ValueError: it is no JSON object, or too long.
    """
    if len(body) > MOST_BYTES:
        raise ValueError(f"an event of more than {MOST_BYTES} bytes was left out")
    payload = json.loads(body)
    if not isinstance(payload, dict):
        raise ValueError("an event that is no JSON object was left out")
    return payload


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
