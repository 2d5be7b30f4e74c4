"""Limits on a hook event as it comes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAX_BYTES = 16_000_000
"""How long an event may be; a longer one is left out."""


def payload_of(body: bytes) -> Mapping[str, Any]:
    """Read an event.

    Raises:
        ValueError: it is not a JSON object, or too long.
    """
    if len(body) > MAX_BYTES:
        raise ValueError(f"an event of more than {MAX_BYTES} bytes was left out")
    payload = json.loads(body)
    if not isinstance(payload, dict):
        raise ValueError("an event that is not a JSON object was left out")
    return payload
