"""Traces for people: one as an HTML page that fetches nothing, and what differs between two."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from html import escape
from importlib.resources import files
from itertools import zip_longest
from string import Template
from typing import Any, TextIO

import attrs

from trimtab.text import replace_surrogates, sanitize
from trimtab_trace._codec import references_json
from trimtab_trace._envelope import TraceEvent

WIDTH = 100


def summary(event: TraceEvent) -> str:
    shown = _SHOWN.get(event.event_type)
    values = [event.payload] if shown is None else [_value(event.payload, p) for p in shown]
    said = [value if isinstance(value, str) else json.dumps(value) for value in values]
    return sanitize(" · ".join(text for text in said if text not in ("", "null", "{}")), WIDTH)


_SHOWN: dict[str, tuple[str, ...]] = {
    "RunConfigured": ("prompt", "host.name"),
    "RunOpened": (),
    "UserMessage": ("text",),
    "ModelResponded": ("text", "tool_calls"),
    "ToolInvoked": ("tool", "input"),
    "ToolReturned": ("tool", "outcome", "error", "output"),
    "GuidanceAsked": ("decision_point",),
    "GuidanceDelivered": ("provider_name", "injection.content"),
    "GuidanceSuppressed": ("provider_name", "reason"),
    "StopRequested": ("provider_name", "outcome", "summary"),
    "FeedbackDelivered": ("provider_name", "severity", "summary"),
    "CompletionAsked": ("stop_reason",),
    "CompletionChecked": ("status", "feedback", "reason"),
    "ProviderFaulted": ("source.name", "hook", "error"),
    "PromptRendered": ("text",),
    "RunTerminated": ("reason",),
}


def _value(payload: Any, path: str) -> Any:
    for key in path.split("."):
        payload = payload.get(key) if isinstance(payload, dict) else None
    return payload


MOST_ALIGNED = 2_000
"""Finding what was put in between takes time that grows with the square of the events."""

_TIMES = frozenset({"elapsed", "latency", "started", "deadline"})


def first_difference(
    first: Iterable[TraceEvent], second: Iterable[TraceEvent]
) -> tuple[TraceEvent | None, TraceEvent | None] | None:
    """Return the first pair of events that differ, None if the traces hold the same.

    Times, identifiers of events and runs, and epochs are left out of the comparison. One event
    of the pair is None if its trace ends before the other.
    """
    for one, other in zip_longest(first, second):
        if one is None or other is None or _compared(one) != _compared(other):
            return one, other
    return None


def aligned(
    first: Iterable[TraceEvent], second: Iterable[TraceEvent]
) -> Iterator[tuple[TraceEvent | None, TraceEvent | None, bool]]:
    """Yield the events of two traces side by side, and whether both hold the same there.

    What one of them lacks stands beside None. Traces of more events than `MOST_ALIGNED` are
    compared place by place.
    """
    one, other = list(first), list(second)
    ours, theirs = (list(map(_key, each)) for each in (one, other))
    steps: Sequence[tuple[str, int, int, int, int]]
    steps = [("replace", 0, len(one), 0, len(other))]
    if max(len(one), len(other)) <= MOST_ALIGNED:
        steps = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    for _, i, i_end, j, j_end in steps:
        rest = zip_longest(range(i, i_end), range(j, j_end))
        for a, b in rest:
            same = a is not None and b is not None and ours[a] == theirs[b]
            yield None if a is None else one[a], None if b is None else other[b], same


def _key(event: TraceEvent) -> str:
    return json.dumps(_compared(event), sort_keys=True, default=str)


def _compared(event: TraceEvent) -> tuple[Any, ...]:
    payload = {key: value for key, value in event.payload.items() if key not in _TIMES}
    references = references_json(event.references)
    return event.event_type, event.actor, {**references, "corrects": None}, payload


_LONGEST = 20_000
"""Characters of an event's fields."""

_SAID = {
    "GuidanceDelivered": "injection.content",
    "FeedbackDelivered": "summary",
    "CompletionChecked": "feedback",
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


def write_page(file: TextIO, events: Iterable[TraceEvent], *, title: str, name: str) -> int:
    """Write the page; return the number of events."""
    rows = Rows()
    return _written(file, (rows.of(event) for event in events), title=title, name=name)


def write_difference(
    file: TextIO, first: Iterable[TraceEvent], second: Iterable[TraceEvent], *, title: str
) -> int:
    """Write two traces side by side; return the number of rows that differ."""
    left, right = Rows(), Rows()
    differing = 0

    def pairs() -> Iterator[Iterator[str]]:
        nonlocal differing
        for one, other, same in aligned(first, second):
            differing += not same
            yield _pair(left, right, one, other, same)

    _written(file, pairs(), title=title, name="")
    return differing


def _written(file: TextIO, rows: Iterable[Iterable[str]], *, title: str, name: str) -> int:
    style, script = _asset("page.css"), _asset("page.js")
    head, foot = _asset("page.html").split("<!-- events -->")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    known = {
        "title": escape(sanitize(title)),
        "file": escape(sanitize(name)),
        "policy": policy,
        "style": style,
        "script": script,
    }
    file.write(Template(head).substitute(known))
    count = 0
    for row in rows:
        file.writelines(row)
        count += 1
    file.write(Template(foot).substitute(known))
    return count


def _pair(
    left: Rows, right: Rows, one: TraceEvent | None, other: TraceEvent | None, same: bool
) -> Iterator[str]:
    yield f'<div class="pair{" same" if same else ""}">'
    for rows, event in ((left, one), (right, other)):
        yield from rows.of(event) if event is not None else ('<p class="missing">not there</p>',)
    yield "</div>\n"


@attrs.define
class Rows:
    """Makes the rows of one trace, with the seconds since its first event."""

    calls: Counter[str] = attrs.field(factory=Counter)
    _start: float | None = None

    def of(self, event: TraceEvent) -> Iterator[str]:
        """Yield the pieces of an event's row."""
        at = event.timestamp.timestamp()
        self._start = at if self._start is None else self._start
        name, number, call = _CLASSES.get(event.event_type, "plain"), "", ""
        if event.event_type == "ToolReturned":
            name = "bad" if event.payload.get("success") is False else name
            number = f' data-call="{self.calls[event.run_id]}"'
            call = f" · call {self.calls[event.run_id]}"
            self.calls[event.run_id] += 1
        run = _shown(event.run_id, _LONGEST)
        yield (
            f'<details class="event {name}" data-run="{run}"{number}><summary>'
            f'<span class="at">{event.seq} · {at - self._start:+.3f} s{call}</span>'
            f" <b>{escape(sanitize(event.event_type, 60))}</b>"
            f' <span class="what">{_shown(summary(event), 200)}</span>'
        )
        text = _value(event.payload, _SAID.get(event.event_type, ""))
        if isinstance(text, str) and text:
            yield f'<span class="words">{_shown(text, _LONGEST)}</span>'
        yield f'</summary><pre tabindex="0">{_shown(_fields(event), _LONGEST)}</pre></details>\n'


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
