"""Identifiers of events."""

from __future__ import annotations

from uuid_utils import uuid7


def new_event_id() -> str:
    """Return a new UUID of version 7, as text."""
    return str(uuid7())
