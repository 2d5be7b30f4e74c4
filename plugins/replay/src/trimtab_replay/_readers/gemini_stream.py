"""What ``gemini -p --output-format stream-json`` prints: JSON lines, one event a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_time, named

_DENIED = {"permission_denied", "policy_violation"}
_INVALID = {"invalid_tool_params", "tool_not_registered"}


class GeminiStream:
    """Reads the output of the Gemini CLI in headless mode."""

    name: ClassVar[str] = "gemini-stream"

    def sniff(self, source: Transcript) -> float:
        """Look for events of tools, or for the first event."""
        return float(any(_is_ours(row) for row in source.first_rows))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording."""
        first = source.first_rows[0] if source.first_rows else {}
        yield Recording(
            id=named(first.get("session_id")) or source.stem,
            path=source.path,
            reader=self.name,
            entries=_Stream().entries(source),
            profile="gemini-cli",
            parallel_calls=True,
        )


def _is_ours(row: dict[str, Any]) -> bool:
    kind = named(row.get("type"))
    is_head = kind == "init" and "session_id" in row and "model" in row
    return is_head or (kind in {"tool_use", "tool_result"} and "tool_id" in row)


@attrs.define
class _Stream:
    assembler: Assembler = attrs.field(factory=Assembler)
    pieces: list[str] = attrs.field(factory=list)
    at: Any = None

    def entries(self, source: Transcript) -> Iterator[RecordedItem]:
        for row in source.rows():
            event = as_dict(row.value)
            kind = named(event.get("type"))
            if kind == "message" and event.get("role") == "assistant":
                self.at = self.at or as_time(event.get("timestamp"))
                self.pieces.append(named(event.get("content")))
            elif not self.happen(kind, event):
                source.skip("no event of a Gemini CLI stream", row.line)
            yield from self.assembler.take()
        self.respond()
        yield from self.assembler.finish()

    def happen(self, kind: str, event: dict[str, Any]) -> bool:
        at = as_time(event.get("timestamp"))
        if kind == "tool_use":
            # Events of one response follow one another; its results come after all of them.
            if self.pieces or not self.assembler.is_waiting:
                self.respond(at)
            params, call_id = event.get("parameters", {}), named(event.get("tool_id"))
            self.assembler.call(named(event.get("tool_name")), params, call_id)
        elif kind == "tool_result":
            self.assembler.answer(named(event.get("tool_id")), _result(event, at))
        elif kind == "message":
            self.respond()
            self.assembler.user(named(event.get("content")), at)
        elif kind == "result":
            self.respond()
            if event.get("status") == "error":
                self.assembler.add(RunEnd(reason="error"))
        return kind in {"tool_use", "tool_result", "message", "result", "init", "error"}

    def respond(self, at: Any = None) -> None:
        """Open a turn with the text since the last one; only for a call, if there is no text."""
        text, self.pieces = "".join(self.pieces), []
        at, self.at = self.at or at, None
        if text or at is not None:
            self.assembler.respond(text=text, at=at, stop=StopRequest(), presumed=True)


def _result(event: dict[str, Any], at: Any) -> CallResult:
    error = as_dict(event.get("error"))
    kind = named(error.get("type")).lower()
    outcome = Outcome.OK
    if event.get("status") == "error":
        outcome = Outcome.ERROR
        outcome = Outcome.DENIED if kind in _DENIED else outcome
        outcome = Outcome.INVALID if kind in _INVALID else outcome
    return CallResult(result=event.get("output") or error.get("message"), outcome=outcome, at=at)
