"""What can go wrong with a trace."""

from __future__ import annotations

import re

from trimtab import TrimtabError

MISFITS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    re.error,
)
"""What code raises that meets a payload of another shape than expected."""


class TraceError(TrimtabError):
    """A trace can't be used; the message names the file, the place and the fix."""


class TraceBusy(TraceError):
    """Another writer holds the trace."""


class TraceDamaged(TraceError):
    """A part of a trace can't be read; the message names the place."""


class TraceWriteError(TraceError):
    """An event was not written; the trace still ends with the event before it."""


class EventInvalid(TraceError):
    """An event can't be encoded, or its payload does not fit its type."""


def misfit(seq: int, event_type: str, error: Exception) -> TraceError:
    """Return the error for an event whose payload has another shape than expected."""
    return TraceError(
        f"event {seq} ({event_type!r:.80}) holds what can't be used:"
        f" {type(error).__name__}: {error!s:.200}"
    )
