"""What spans of generative AI hold, in the form of OpenTelemetry's conventions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from trimtab.events import decode_value

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
    """Return the arguments of a call, by name."""
    given = call.get("params")
    return given if isinstance(given, dict) else {"input": given}


def started_at(payload: Mapping[str, Any]) -> datetime | None:
    """Return when the request of a response was sent, as far as the event says."""
    at = decode_value(payload.get("started"))
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(at)
        except ValueError:
            return None
    return at if isinstance(at, datetime) and at.tzinfo else None


def provider_of(host: str) -> str:
    """Return whose models a host asks, where its responses do not say."""
    return "anthropic" if host.startswith("claude") else host


def answer(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a response in the form of the conventions."""
    parts: list[dict[str, Any]] = []
    for kind, name in (("reasoning", "reasoning"), ("text", "text")):
        if payload.get(name):
            parts.append({"type": kind, "content": text_of(payload[name])})
    for call in payload.get("tool_calls") or ():
        asked = {
            "id": call.get("call_id"),
            "name": call.get("tool"),
            "arguments": call.get("params"),
        }
        parts.append({"type": "tool_call", **asked})
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
