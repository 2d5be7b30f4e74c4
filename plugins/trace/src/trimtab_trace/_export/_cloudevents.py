"""Traces as CloudEvents 1.0, one JSON object per event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from trimtab_trace._codec import references_json
from trimtab_trace._envelope import TraceEvent

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
