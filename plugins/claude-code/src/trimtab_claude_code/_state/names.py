"""Names of files for sessions, whose ids may hold anything."""

from __future__ import annotations

import re
from hashlib import blake2b

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def file_name(session_id: str, suffix: str) -> str:
    """Return the name of a session's file, whatever its id holds."""
    if _SAFE.fullmatch(session_id):
        return f"{session_id}{suffix}"
    raw = session_id.encode("utf-8", "surrogatepass")
    return f"id-{blake2b(raw, digest_size=16).hexdigest()}{suffix}"
