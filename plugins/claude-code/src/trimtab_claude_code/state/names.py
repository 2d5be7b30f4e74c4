"""Names of files for things that have names of any kind. Imports little: see `noting`."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def journal_name(session_id: str) -> str:
    """Return the name of a session's journal, whatever its id holds."""
    if _SAFE.fullmatch(session_id):
        return f"{session_id}.jsonl"
    return f"id-{_digest(session_id.encode('utf-8', 'surrogatepass'))}.jsonl"


def prepared_name(config: Path) -> str:
    """Return the name of the file in which a configuration's prompts are written down."""
    return f"{_digest(os.fsencode(config))}.json"


def _digest(raw: bytes) -> str:
    return blake2b(raw, digest_size=16).hexdigest()
