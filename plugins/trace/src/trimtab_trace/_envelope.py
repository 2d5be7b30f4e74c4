"""The envelope that all events of a trace share: identifiers, versions, and what can go wrong."""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import attrs
from uuid_utils import uuid7

from trimtab import TrimtabError

_MISFITS = (
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


@contextmanager
def misfits_named(event: TraceEvent) -> Iterator[None]:
    """Name the event, where what is done with it shows that its payload has another shape."""
    try:
        yield
    except _MISFITS as error:
        raise TraceError(
            f"event {event.seq} ({event.event_type!r:.80}) holds what can't be used:"
            f" {type(error).__name__}: {error!s:.200}"
        ) from error


def zoned_time(value: Any) -> datetime | None:
    """Return a time, also one in words; None if it is none, or says no zone."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, datetime) and value.tzinfo is not None else None


_ID = re.compile(rb'"event_id":("(?:[^"\\]|\\.)*")')


def new_event_id() -> str:
    return str(uuid7())


@attrs.frozen(eq=False)
class EventIds:
    """Ids of the events of a file, eight bytes each: what is not here is not in the file."""

    _digests: array[int] = attrs.field(factory=lambda: array("Q"))

    @classmethod
    def of(cls, path: Path) -> EventIds:
        found = array("Q")
        with path.open("rb") as file:
            for line in file:
                found.extend(map(_digest, _ID.findall(line)))
        return cls(array("Q", sorted(found)))

    def __contains__(self, event_id: str) -> bool:
        wanted = _digest(encoded(event_id))
        at = bisect_left(self._digests, wanted)
        return at < len(self._digests) and self._digests[at] == wanted


def encoded(event_id: str) -> bytes:
    return json.dumps(event_id, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _digest(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8).digest())


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


@attrs.frozen
class Versions:
    """What the events of one prompt's runs refer to."""

    prompt: str = ""
    tools: Mapping[str, str] = attrs.field(factory=dict)

    def added(self, references: References, record: Any) -> References:
        """Return `references` with the versions, as far as they say none."""
        tool = getattr(record, "tool", None)
        version = self.tools.get(tool, "") if isinstance(tool, str) else ""
        return _added(references, self.prompt, version)


@lru_cache(maxsize=1024)
def _added(references: References, prompt: str, tool: str) -> References:
    return attrs.evolve(
        references,
        prompt_version=references.prompt_version or prompt or None,
        tool_version=references.tool_version or tool or None,
    )


def versions_of(prompt: Any) -> Versions:
    """Return the versions of a prompt's template: digests of its sections, and of each tool.

    A tool changes with its description or its parameters, not with its code.
    """
    template = getattr(prompt, "template", None)
    sections = tuple(getattr(template, "sections", ()))
    tools = {
        tool.name: _schema_digest([tool.name, tool.description, tool.schema])
        for tool in (*getattr(template, "tools", ()), *_tools(sections))
    }
    if not sections and not tools:
        return Versions()
    texts = [[section.key, section.title, section.template] for section in sections]
    return Versions(_schema_digest([texts, sorted(tools.items())]), tools)


def _tools(sections: Iterable[Any]) -> Iterable[Any]:
    return (tool for section in sections for tool in section.tools)


def _schema_digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
