"""The line of JSON for one recorded run: a stable interface (docs/reference/replay-json.md)."""

from __future__ import annotations

import json
from typing import Any

import attrs

from trimtab_replay._results import Decision, Note, Replayed

FORMAT = 1
"""Version of the JSON; keys may be added without changing it."""

DECISION_KEYS = (
    "provider",
    "kind",
    "point",
    "turn",
    "call",
    "key",
    "category",
    "severity",
    "confidence",
    "level",
    "reason",
    "text",
)
_NOTE_KEYS = tuple(field.name for field in attrs.fields(Note))


def as_json(replayed: Replayed) -> str:
    """Return one line: plain ASCII, keys in a fixed order."""
    return json.dumps(as_dict(replayed))


def as_dict(replayed: Replayed) -> dict[str, Any]:
    """Return what the line holds."""
    return {
        "format": FORMAT,
        "id": replayed.id,
        "path": replayed.path,
        "reader": replayed.reader,
        "calls": replayed.calls,
        "turns": replayed.turns,
        "decisions": [decision_dict(decision) for decision in replayed.decisions],
        "notes": [_note_dict(note) for note in replayed.notes],
    }


def decision_dict(decision: Decision) -> dict[str, Any]:
    """Return one decision as the line holds it."""
    return {key: getattr(decision, key) for key in DECISION_KEYS}


def _note_dict(note: Note) -> dict[str, Any]:
    facts = {key: getattr(note, key) for key in _NOTE_KEYS}
    return {"severity": note.severity, **facts, "fix": note.fix}
