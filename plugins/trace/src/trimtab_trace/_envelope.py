"""The envelope that all events of a trace share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs

FORMAT_VERSION = 1


@attrs.frozen(kw_only=True, cache_hash=True)
class References:
    """What an event refers to; None if nothing is known.

    Args:
        plan_id: identifier of a plan and its version, e.g. ``"plan.v2"``.
        step_id: identifier of a step of that plan.
        prompt_version: digest of the prompt's sections and tools; other versions in events of
            your own.
        tool_version: digest of the description and parameters of the tool that was called.
        section_key: the part of the work: ``"planning"``, ``"action"`` or ``"reflection"``.
        namespace: logical group; for events of a session, the name of the prompt.
        corrects: the `event_id` that this event corrects.
    """

    plan_id: str | None = None
    step_id: str | None = None
    prompt_version: str | None = None
    tool_version: str | None = None
    section_key: str | None = None
    namespace: str | None = None
    corrects: str | None = None


NO_REFERENCES = References()


@attrs.frozen(kw_only=True)
class TraceEvent:
    """One event as a trace holds it.

    Args:
        event_type: the registered name of its type.
        payload: its own fields, JSON-like.
        event_id: unique identifier, a UUID of version 7; it stays the same when a write is retried.
        run_id: the run that it belongs to; empty for records of the session that name no run.
        timestamp: when it happened, aware UTC; never used to order events.
        actor: who acted: the subagent, or ``"main"``.
        references: plans, steps, versions and namespace that it refers to.
        seq: position in the trace, from 0; assigned by the store.
        epoch: how often the trace had been opened for writing before; assigned by the store.
        v: version of the format.
    """

    event_type: str
    payload: Mapping[str, Any]
    event_id: str
    run_id: str
    timestamp: datetime
    actor: str = "main"
    references: References = NO_REFERENCES
    seq: int = -1
    epoch: int = 0
    v: int = FORMAT_VERSION


@attrs.frozen
class UnknownEvent:
    """An event whose type no installed package offers; written back unchanged.

    Args:
        event: the event as the trace holds it.
    """

    event: TraceEvent

    @property
    def event_type(self) -> str:
        """The name of the type."""
        return self.event.event_type


@attrs.frozen
class Damage:
    """A part of a trace that can't be read, or that is missing.

    Args:
        where: the place: line and byte offset of a file, or row of a database.
        what: what is wrong there.
        seq: the event that should stand there; None if unknown.
    """

    where: str
    what: str
    seq: int | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"
