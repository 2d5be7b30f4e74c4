"""What Claude Code's own transcript says of each response: model, tokens, times.

Hooks are told of calls and not of responses. The transcript is read where a response is whole,
after the hook was answered, from where it was read last.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

import attrs

from trimtab import Usage
from trimtab_trace import ResponseMeasured

_MOST_BYTES = 4_000_000
"""What is read at a time; of more, the newest."""

_MOST_TEXT = 200
_MOST_CALLS = 100
_REMEMBERED = 64
_WHOLE = frozenset({"PostToolBatch", "Stop", "StopFailure", "SubagentStop", "SessionEnd"})
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_SERVICES = (("msg_bdrk_", "bedrock"), ("msg_vrtx_", "vertex"), ("msg_", "anthropic"))


class Responses:
    """Finds new responses in the transcripts of one session. May be called from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._files: dict[str, _Transcript] = {}
        self._known: OrderedDict[str, None] = OrderedDict()

    def after(self, payload: Mapping[str, Any]) -> list[ResponseMeasured]:
        """Return the responses that are new after an event; none where none can be whole."""
        path = payload.get("agent_transcript_path") or payload.get("transcript_path")
        if not isinstance(path, str) or not path:
            return []
        with self._lock:
            transcript = self._files.get(path)
            if transcript is None:
                begins = payload.get("hook_event_name") != "SubagentStop"
                transcript = self._files[path] = _Transcript(Path(path), at_end=begins)
            if payload.get("hook_event_name") not in _WHOLE:
                return []
            return [one for one in transcript.read_on() if self._is_new(one)]

    def _is_new(self, response: ResponseMeasured) -> bool:
        if response.response_id in self._known:
            return False
        self._known[response.response_id] = None
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return True


class _Transcript:
    """A file that grows; `at_end` leaves out what it holds, as of an earlier process."""

    def __init__(self, path: Path, *, at_end: bool) -> None:
        self._path = path
        self._offset = _size(path) if at_end else 0
        self._asked: datetime | None = None

    def read_on(self) -> list[ResponseMeasured]:
        """Return the responses in what was appended."""
        found: dict[str, ResponseMeasured] = {}
        for row in self._rows():
            at = _time(row.get("timestamp"))
            message = row.get("message")
            if row.get("type") in ("user", "api-request"):
                self._asked = at or self._asked
            elif row.get("type") == "assistant" and isinstance(message, Mapping):
                response = self._response(row, message, at)
                known = found.get(response.response_id)
                found[response.response_id] = _joined(known, response) if known else response
        return [one for one in found.values() if one.response_id]

    def _response(
        self, row: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None
    ) -> ResponseMeasured:
        name = _text(message.get("id"))
        return ResponseMeasured(
            response_id=name,
            model=_text(message.get("model")),
            provider=next((who for start, who in _SERVICES if name.startswith(start)), ""),
            started=self._asked,
            ended=at,
            usage=_usage(message.get("usage")),
            stop_reason=_text(message.get("stop_reason")) or None,
            call_ids=tuple(_calls(message.get("content")))[:_MOST_CALLS],
            agent=_text(row.get("agentId")),
        )

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        try:
            with self._path.open("rb") as file:
                start = max(self._offset, _size(self._path) - _MOST_BYTES)
                file.seek(start)
                added = file.read(_MOST_BYTES)
        except OSError:
            return
        whole = added.rfind(b"\n") + 1
        self._offset = start + whole
        for line in added[:whole].splitlines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row


def _joined(first: ResponseMeasured, more: ResponseMeasured) -> ResponseMeasured:
    """Return one response from two of its rows: each block of its content has a row."""
    return attrs.evolve(more, started=first.started, call_ids=(*first.call_ids, *more.call_ids))


def _calls(content: Any) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") == "tool_use":
            yield _text(block.get("id"))


def _usage(found: Any) -> Usage | None:
    if not isinstance(found, Mapping):
        return None
    read, written = [found.get(name) or 0 for name in _READ], found.get("output_tokens") or 0
    try:
        return Usage(input_tokens=sum(read), output_tokens=written, cached_tokens=read[-1])
    except (TypeError, ValueError):
        return None


def _text(value: Any) -> str:
    return value[:_MOST_TEXT] if isinstance(value, str) else ""


def _time(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
