"""What can go wrong with a trace."""

from __future__ import annotations

from trimtab import TrimtabError


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
