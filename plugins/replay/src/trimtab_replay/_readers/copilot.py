"""Event files of the GitHub Copilot CLI: JSON lines ``{type, data, id, parentId, timestamp}``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, ClassVar

import attrs

from trimtab import Outcome, Usage
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_int,
    as_text,
    as_time,
    dicts,
    flattened,
    named,
    seconds_between,
)

_DENIED = {"denied", "rejected"}
_MARKS = ("session.start", "assistant.turn_start", "assistant.message", "tool.execution_start")


class Copilot:
    """Reads event files of the Copilot CLI."""

    name: ClassVar[str] = "copilot"

    def sniff(self, source: Transcript) -> float:
        """Look for its event types."""
        rows = source.first_rows
        return float(any(named(row.get("type")) in _MARKS and "data" in row for row in rows))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield the session."""
        starts = (as_dict(row.get("data")) for row in source.first_rows)
        ids = (named(start.get("sessionId")) for start in starts)
        yield Recording(
            id=next(filter(None, ids), source.stem),
            path=source.path,
            reader=self.name,
            entries=_Events(source).entries(),
            profile="copilot",
            parallel_calls=True,
        )


@attrs.define
class _Events:
    source: Transcript
    assembler: Assembler = attrs.field(factory=Assembler)
    started: dict[str, datetime | None] = attrs.field(factory=dict)

    def entries(self) -> Iterator[RecordedItem]:
        handlers: dict[str, Callable[[dict[str, Any], datetime | None], None]] = {
            "user.message": self._user,
            "system.notification": self._notification,
            "assistant.message": self._message,
            "tool.execution_start": self._start,
            "tool.execution_complete": self._complete,
            "session.compaction_complete": self._compaction,
            "session.error": self._error,
        }
        for row in self.source.rows():
            event = as_dict(row.value)
            data, kind = event.get("data"), event.get("type")
            if not isinstance(data, dict) or not isinstance(kind, str):
                self.source.skip("no event: type or data is missing", row.line)
            elif kind in handlers:
                handlers[kind](data, as_time(event.get("timestamp")))
                yield from self.assembler.take()
        yield from self.assembler.finish()

    def _user(self, data: dict[str, Any], at: datetime | None) -> None:
        self.assembler.user(as_text(data.get("content")), at)

    def _notification(self, data: dict[str, Any], at: datetime | None) -> None:
        self.assembler.user(as_text(data.get("content")), at, notification=True)

    def _message(self, data: dict[str, Any], at: datetime | None) -> None:
        written = as_int(data.get("outputTokens"))
        self.assembler.respond(
            text=as_text(data.get("content")),
            reasoning=as_text(data.get("reasoningText")),
            usage=Usage(output_tokens=written) if written else None,
            at=at,
            stop=StopRequest(),
            presumed=True,
        )
        for request in dicts(data.get("toolRequests")):
            params = arguments(request.get("arguments"))
            self.assembler.call(
                named(request.get("name")), params, named(request.get("toolCallId"))
            )

    def _start(self, data: dict[str, Any], at: datetime | None) -> None:
        self.started[named(data.get("toolCallId"))] = at

    def _complete(self, data: dict[str, Any], at: datetime | None) -> None:
        call_id = named(data.get("toolCallId"))
        started, error = self.started.pop(call_id, None), as_dict(data.get("error"))
        content = flattened(as_dict(data.get("result")).get("content"))
        answer = CallResult(
            result=error.get("message") if error and content is None else content,
            outcome=_outcome(data.get("success"), error),
            at=at,
            started=started,
            duration=seconds_between(started, at),
        )
        self.assembler.answer(call_id, answer)

    def _compaction(self, data: dict[str, Any], at: datetime | None) -> None:
        self.assembler.compacted(as_text(data.get("summaryContent")), at)

    def _error(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.assembler.add(StopRequest(api_error=as_text(data.get("message")) or "unknown"))


def _outcome(success: Any, error: dict[str, Any]) -> Outcome:
    if success is True:
        return Outcome.OK
    return Outcome.DENIED if as_text(error.get("code")) in _DENIED else Outcome.ERROR
