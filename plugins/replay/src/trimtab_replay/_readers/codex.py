"""Rollout files of the Codex CLI: JSON lines ``{timestamp, type, payload}``.

A response ends at its ``token_count`` event. How a command ended stands in the head of its
output (``Process exited with code 1``), or in an event with its call's id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import attrs

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._lenient_json import parse
from trimtab_replay._readers.responses import Payload, Responses, kind_of
from trimtab_replay._recording import RecordedItem, Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_float, as_text, as_time, flattened, named
from trimtab_replay.outcomes import outcome_of

_WALL = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds", re.MULTILINE)
_HEAD = 400
_KINDS = {"session_meta", "turn_context", "response_item", "event_msg", "compacted"}
_NO_TALK = {"token_usage_record", "world_state"}
"""Rows of newer versions that hold nothing of the conversation."""


class Codex:
    """Reads Codex rollouts."""

    name: ClassVar[str] = "codex"

    def sniff(self, source: Transcript) -> float:
        """Look for rows of a rollout."""
        rows = source.first_rows
        return float(any(named(row.get("type")) in _KINDS and "payload" in row for row in rows))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield the session."""
        metas = (row["payload"] for row in source.first_rows if row.get("type") == "session_meta")
        meta = as_dict(next(metas, None))
        yield Recording(
            id=named(meta.get("id")) or named(meta.get("session_id")) or source.stem,
            path=source.path,
            reader=self.name,
            entries=_Rollout(source).entries(),
            profile="codex",
            parallel_calls=True,
        )


@attrs.define
class _Rollout:
    source: Transcript
    assembler: Assembler = attrs.field(factory=Assembler)
    polls: set[str] = attrs.field(factory=set)
    ends: dict[str, Payload] = attrs.field(factory=dict)
    responses: Responses = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.responses = Responses(self.assembler, answer=self._answer, stop=None)

    def entries(self) -> Iterator[RecordedItem]:
        for row in self.source.rows():
            payload = as_dict(row.value).get("payload")
            if named(as_dict(row.value).get("type")) in _NO_TALK:
                continue
            if not isinstance(payload, dict) or named(row.value.get("type")) not in _KINDS:
                self.source.skip("no row of a rollout: type or payload is missing", row.line)
                continue
            if not self._read(row.value["type"], payload, as_time(row.value.get("timestamp"))):
                self.source.skip(f"item of type {kind_of(payload)!r}", row.line)
            yield from self.assembler.take()
        yield from self.assembler.finish()

    def _read(self, kind: str, payload: Payload, at: Any) -> bool:
        if kind == "response_item":
            return self._item(payload, at)
        if kind == "event_msg":
            self._event(payload, at)
        elif kind == "compacted":
            self.assembler.compacted(named(payload.get("message")), at)
        return True

    def _item(self, item: Payload, at: Any) -> bool:
        if item.get("type") == "message" and item.get("role") != "assistant":
            return True  # what the user said is an event of its own; these hold the harness's words
        if item.get("name") == "write_stdin" and _is_poll(item.get("arguments")):
            self.polls.add(named(item.get("call_id")))
        return self.responses.feed(item, at)

    def _event(self, event: Payload, at: Any) -> None:
        kind = named(event.get("type"))
        if kind == "token_count":
            self.responses.end_response()
        elif kind == "user_message":
            self.responses.end_response()
            self.assembler.user(as_text(event.get("message")), at)
        elif kind == "task_complete":
            self.responses.end_response()
            self.assembler.add(StopRequest())
        elif kind in {"exec_command_end", "patch_apply_end", "mcp_tool_call_end"}:
            self.ends[named(event.get("call_id"))] = event

    def _answer(self, item: Payload, at: Any) -> CallResult:
        call_id = named(item.get("call_id"))
        result = flattened(item.get("output", item.get("tools")))
        told = _told_by_text(result if isinstance(result, str) else "")
        end = self.ends.pop(call_id, None)
        if end is not None:
            told = _told_by_event(told, end)
        poll = True if call_id in self.polls and told.outcome is Outcome.OK else None
        self.polls.discard(call_id)
        return CallResult(
            result=result,
            outcome=told.outcome,
            evidence=told.evidence,
            at=at,
            duration=told.duration,
            poll=poll,
        )


def _is_poll(text: Any) -> bool:
    try:
        params = as_dict(parse(text.encode("utf-8", "replace")).value if text else None)
    except (AttributeError, ValueError):
        return False
    return not as_text(params.get("chars"))


class _Ending(NamedTuple):
    """How a call ended, and after how many seconds."""

    outcome: Outcome
    evidence: Evidence
    duration: float | None


def _told_by_text(text: str) -> _Ending:
    head, packed = text[:_HEAD], _packed(text)
    wall = as_float(packed.get("duration_seconds"))
    if (timed := _WALL.search(head)) is not None:
        wall = float(timed[1])
    status = as_float(packed.get("exit_code"))
    if status is not None:
        return _Ending(Outcome.ERROR if status else Outcome.OK, Evidence.DERIVED, wall)
    read = outcome_of("codex", head)
    return _Ending(read.outcome, read.evidence, wall)


def _packed(text: str) -> Payload:
    """Return the metadata of an output that is JSON itself, as older versions write it."""
    if not text.startswith('{"output":'):
        return {}
    try:
        return as_dict(as_dict(parse(text.encode("utf-8", "replace")).value).get("metadata"))
    except ValueError:
        return {}


def _told_by_event(told: _Ending, event: Payload) -> _Ending:
    spent = as_dict(event.get("duration"))
    seconds, nanos = as_float(spent.get("secs")), as_float(spent.get("nanos")) or 0.0
    duration = told.duration if seconds is None else seconds + nanos / 1e9
    code, success = as_float(event.get("exit_code")), event.get("success")
    failed = success is False or (code is not None and code != 0)
    if failed and told.outcome is Outcome.OK:
        return _Ending(Outcome.ERROR, Evidence.FLAG, duration)
    return told._replace(duration=duration)
