"""Traces in the formats of others: CloudEvents here, and what spans of generative AI hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from trimtab.events import decode_value
from trimtab_trace._codec import references_json
from trimtab_trace._envelope import TraceEvent, zoned_time

TYPE_PREFIX = "trimtab.trace."


def cloudevents(events: Iterable[TraceEvent]) -> Iterator[dict[str, Any]]:
    """Yield each event as a CloudEvents 1.0 object in structured JSON form.

    ``sequence`` (the Sequence extension) holds the order; its values sort as text.

    Args:
        events: of a trace, in order.
    """
    for event in events:
        yield {
            "specversion": "1.0",
            "id": event.event_id,
            "source": f"/trimtab/runs/{quote(event.run_id or 'session', safe='')}",
            "type": TYPE_PREFIX + event.event_type,
            "time": event.timestamp.isoformat(),
            "subject": event.actor,
            "datacontenttype": "application/json",
            "sequence": f"{event.seq:012d}",
            "data": {
                "references": references_json(event.references),
                "payload": event.payload,
            },
        }


LONGEST = 8_000
"""Characters of a text."""

_LONGEST_MESSAGES = 60_000


def nanoseconds(at: datetime) -> int:
    """Return a time as spans have it, without the loss of a float."""
    seconds = int(at.timestamp())
    return seconds * 1_000_000_000 + at.microsecond * 1_000


def whole_text(value: Any) -> str:
    """Return a value as text; nothing is empty."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text_of(value: Any) -> str:
    """Return a value as text, bounded."""
    return ("null" if value is None else whole_text(value))[:LONGEST]


def arguments_of(call: Mapping[str, Any]) -> dict[str, Any]:
    given = call.get("params")
    return given if isinstance(given, dict) else {"input": given}


def started_at(payload: Mapping[str, Any]) -> datetime | None:
    """Return when the request of a response was sent, as far as the event says."""
    return zoned_time(decode_value(payload.get("started")))


def provider_of(host: str) -> str:
    """Return whose models a host asks, where its responses do not say."""
    return "anthropic" if host.startswith("claude") else host


def answer(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a response in the form of the conventions."""
    parts = [
        {"type": kind, "content": text_of(payload[kind])}
        for kind in ("reasoning", "text")
        if payload.get(kind)
    ]
    for call in payload.get("tool_calls") or ():
        asked = {"name": call.get("tool"), "arguments": call.get("params")}
        parts.append({"type": "tool_call", "id": call.get("call_id"), **asked})
    reason = payload.get("stop_reason")
    return {"role": "assistant", "parts": parts, "finish_reason": str(reason or "unknown")}


def messages(said: Sequence[Any]) -> str:
    """Return messages as JSON; the oldest are left out where they would be too long."""
    kept: list[Any] = []
    size = 0
    for message in reversed(said):
        size += len(json.dumps(message, ensure_ascii=False, default=str))
        if size > _LONGEST_MESSAGES:
            break
        kept.append(message)
    return json.dumps(kept[::-1], ensure_ascii=False, default=str) if kept else ""
