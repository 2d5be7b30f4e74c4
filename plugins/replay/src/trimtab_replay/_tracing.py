"""Traces of what is replayed: one file per recorded run, written by the package trimtab-trace."""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import Path
from typing import Any

from trimtab import TrimtabError
from trimtab.inspection import pip_install
from trimtab_replay._recording import Recording, ReplayError

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def trace_of(folder: str, recording: Recording, place: int) -> Any:
    """Return a recorder that writes the trace of one recording; an earlier one is replaced.

    Args:
        folder: where traces go.
        recording: what is replayed.
        place: of the recording in its file, from 0.

    Raises:
        ReplayError: trimtab-trace is not installed, or the file can't be written.
    """
    try:
        from trimtab_trace import SessionTrace
    except ImportError:
        raise ReplayError(
            f"--trace needs the package trimtab-trace: {pip_install('trimtab-trace')}"
        ) from None
    path = Path(folder) / trace_name(recording, place)
    try:
        path.unlink(missing_ok=True)
        return SessionTrace(path)
    except (OSError, TrimtabError) as error:
        raise ReplayError(f"can't write traces to {folder}: {error}") from None


def trace_name(recording: Recording, place: int) -> str:
    """Return the name of a trace's file: the recording's id, made unique by where it was read."""
    where = f"{recording.path}\0{place}".encode("utf-8", "surrogatepass")
    unique = blake2b(where, digest_size=5).hexdigest()
    name = _UNSAFE.sub("_", recording.id)[:80].strip(".") or "run"
    return f"{name}-{unique}.jsonl"
