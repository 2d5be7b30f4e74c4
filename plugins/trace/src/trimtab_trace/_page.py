"""One trace as an HTML page: its events by turn, with a search; it fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, TextIO

from trimtab.text import replace_surrogates, sanitize
from trimtab_trace._envelope import TraceEvent
from trimtab_trace._summaries import summary

_LONGEST = 20_000
"""Characters of an event's fields."""

_SAID = {
    "GuidanceDelivered": ("injection", "content"),
    "FeedbackDelivered": ("summary",),
    "CompletionChecked": ("feedback",),
}
"""Where the text stands that the agent reads: it is shown without a click."""

_CLASSES = {
    "ModelResponded": "turn",
    "UserMessage": "turn",
    "GuidanceDelivered": "said",
    "FeedbackDelivered": "said",
    "CompletionChecked": "said",
    "ProviderFaulted": "bad",
    "ProviderQuarantined": "bad",
}


def write_page(file: TextIO, events: Iterable[TraceEvent], *, title: str) -> int:
    """Write the page; return the number of events.

    Args:
        file: where it goes; events are written as they are read.
        events: of the trace, in order.
        title: of the page.
    """
    style, script = _asset("page.css"), _asset("page.js")
    head, foot = _asset("page.html").split("<!-- events -->")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    known = {"title": escape(sanitize(title)), "policy": policy, "style": style, "script": script}
    file.write(Template(head).substitute(known))
    count = 0
    start: float | None = None
    for event in events:
        start = event.timestamp.timestamp() if start is None else start
        file.writelines(_row(event, event.timestamp.timestamp() - start))
        count += 1
    file.write(Template(foot).substitute(known))
    return count


def _row(event: TraceEvent, seconds: float) -> Iterator[str]:
    name = _CLASSES.get(event.event_type, "plain")
    if event.event_type == "ToolReturned" and event.payload.get("success") is False:
        name = "bad"
    kind = escape(sanitize(event.event_type, 60))
    yield (
        f'<details class="event {name}"><summary><span class="at">{event.seq} · {seconds:+.3f} s'
        f'</span> <b>{kind}</b> <span class="what">{_shown(summary(event), 200)}</span>'
    )
    text = _text_of(event)
    if text:
        yield f'<span class="words">{_shown(text, _LONGEST)}</span>'
    yield f'</summary><pre tabindex="0">{_shown(_fields(event), _LONGEST)}</pre></details>\n'


def _text_of(event: TraceEvent) -> str:
    value: Any = event.payload
    for name in _SAID.get(event.event_type, ("",)):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _fields(event: TraceEvent) -> str:
    references = {
        name: value
        for name in ("plan_id", "step_id", "prompt_version", "tool_version", "corrects")
        if (value := getattr(event.references, name))
    }
    shown = {"run": event.run_id, "actor": event.actor, "at": event.timestamp.isoformat()}
    whole = {**shown, **references, **event.payload}
    return json.dumps(whole, indent=1, ensure_ascii=False, default=str)


def _shown(text: str, limit: int) -> str:
    """Return untrusted text for the page: escaped, bounded, with nothing that can't be seen."""
    cut = text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
    lines = replace_surrogates(cut).split("\n")
    return "\n".join(escape(sanitize(line, limit + 40)) for line in lines)


def _asset(name: str) -> str:
    return files("trimtab_trace").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
