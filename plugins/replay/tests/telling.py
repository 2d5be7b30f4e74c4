"""Recordings in words, so that a test can say what it expects in a few lines."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import attrs

from trimtab import ToolInvoked
from trimtab.events import CallOrigin, CompactionHappened, ModelResponded, UserMessage
from trimtab_replay._recording import (
    Idle,
    RecordedItem,
    RunBoundary,
    RunEnd,
    StopRequest,
    TranscriptReader,
    Unknown,
)
from trimtab_replay._transcript import Skipped, Transcript

DATA = Path(__file__).parent / "data" / "readers"


def all_readers() -> dict[str, TranscriptReader]:
    entries = importlib.metadata.entry_points(group="trimtab.transcripts")
    own = (e for e in entries if e.dist is not None and e.dist.name == "trimtab-replay")
    return {entry.name: entry.load()() for entry in sorted(own)}


def told(path: Path, reader: TranscriptReader) -> dict[str, list[str]]:
    """Read `path` and tell each recording's entries; nothing may be skipped."""
    skipped: list[Skipped] = []
    source = Transcript(path, path.name, skipped.append)
    recordings = {
        (f"{each.id} {each.agent_id}" if each.agent_id else each.id): [
            told_entry(entry) for entry in each.entries
        ]
        for each in reader.read(source)
    }
    assert skipped == []
    return recordings


def told_entry(entry: RecordedItem) -> str:
    return f"{entry.call} {_told(entry.item)}"


def _told(item: object) -> str:
    match item:
        case ToolInvoked():
            return _told_call(item)
        case ModelResponded():
            calls = " ".join(f"{call.tool}{call.params}" for call in item.tool_calls)
            used = f" {item.usage.input_tokens}+{item.usage.output_tokens}" if item.usage else ""
            thought = f" ({item.reasoning})" if item.reasoning else ""
            return f"turn {item.turn}{thought}{used} {item.text!r} {calls}".rstrip()
        case UserMessage():
            return f"{'notice' if item.notification else 'user'} {item.text!r}"
        case CompactionHappened():
            return f"compacted {item.summary!r}"
        case StopRequest() | RunEnd() | RunBoundary() | Idle() | Unknown():
            return " ".join([type(item).__name__, *_set_fields(item)])
    raise AssertionError(item)


def _set_fields(item: attrs.AttrsInstance) -> list[str]:
    fields = {field.name: getattr(item, field.name) for field in attrs.fields(type(item))}
    return [
        f"{name}={value!r}" for name, value in fields.items() if value not in ("", None, False, ())
    ]


def _told_call(item: ToolInvoked) -> str:
    parts = [
        f"turn {item.turn}",
        item.tool,
        f"{item.outcome} by {item.evidence}",
        repr(item.result),
    ]
    parts += [f"took {item.duration:g} s"] if item.duration is not None else []
    parts += ["poll"] if item.poll else []
    parts += [f"asked by {item.caller}"] if item.caller is not CallOrigin.MODEL else []
    return ", ".join(parts)
