"""Guidance for hosts that hold a request as an object, not as bytes: other people's proxies."""

from __future__ import annotations

from typing import Any

from trimtab_proxy._guide import Guide
from trimtab_proxy._items import Json, items_of
from trimtab_proxy._json import Unreadable
from trimtab_proxy._programs import Headers
from trimtab_proxy._wires import WIRES

APIS = tuple(wire.name for wire in WIRES)


def guided_body(guide: Guide, api: str, headers: Headers, body: Json) -> dict[str, Any] | None:
    """Return a request with the words that belong into it; None where it stays as it is.

    It takes the time that providers take: call it off the event loop.

    Args:
        guide: follows the conversations.
        api: ``"anthropic-messages"``, ``"openai-chat"``, ``"openai-responses"`` or ``"gemini"``.
        headers: of the request, names in lower case; by some of them programs name their agents.
        body: of the request, decoded. It is not changed.

    Raises:
        ValueError: there is no such API.
    """
    wire = next((known for known in WIRES if known.name == api), None)
    if wire is None:
        raise ValueError(f"api must be one of {', '.join(APIS)}, not {api!r}")
    decision = guide.request(wire, headers, body, items_of(wire, body))
    messages = body.get(wire.list_key)
    if not decision.words or not isinstance(messages, list) or not messages:
        return None
    *others, last = messages
    place = wire.place(last) if isinstance(last, dict) else None
    if place is None:
        return None
    try:
        guided = place.put(last, decision.words)
    except Unreadable:
        return None
    guide.counts.guided += 1
    return {**body, wire.list_key: [*others, guided]}
