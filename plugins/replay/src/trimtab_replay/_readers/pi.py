"""Session files of the pi coding agent: JSON lines, one message or change a row."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

from trimtab import Outcome, Usage
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    as_dict,
    as_float,
    as_int,
    as_text,
    as_time,
    dicts,
    flattened,
    joined,
    named,
    said,
)

_ROLES = {"user", "assistant", "toolResult", "bashExecution"}


class Pi:
    """Reads pi's sessions."""

    name: ClassVar[str] = "pi"

    def sniff(self, source: Transcript) -> float:
        """Look for a session's row, or messages of pi's own roles."""
        return 0.9 * any(map(_is_ours, source.first_rows))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield the session."""
        ids = (row.get("id") for row in source.first_rows if row.get("type") == "session")
        yield Recording(
            id=named(next(ids, None)) or source.stem,
            path=source.path,
            reader=self.name,
            entries=_entries(source),
            profile="pi",
            parallel_calls=True,
        )


def _is_ours(row: dict[str, Any]) -> bool:
    if row.get("type") == "session":
        return "cwd" in row
    return (
        row.get("type") == "message" and as_text(as_dict(row.get("message")).get("role")) in _ROLES
    )


def _entries(source: Transcript) -> Iterator[RecordedItem]:
    assembler = Assembler()
    for row in source.rows():
        value = as_dict(row.value)
        at = as_time(value.get("timestamp"))
        if not isinstance(value.get("type"), str):
            source.skip("no row of a pi session: no type", row.line)
        elif value["type"] == "compaction":
            assembler.compacted(as_text(value.get("summary")), at)
        elif value["type"] == "message" and not _read(assembler, as_dict(value.get("message")), at):
            source.skip("message of an unknown role", row.line)
        yield from assembler.take()
    yield from assembler.finish()


def _read(assembler: Assembler, message: dict[str, Any], at: datetime | None) -> bool:
    role = named(message.get("role"))
    if role == "assistant":
        _respond(assembler, message, at)
    elif role == "toolResult":
        outcome = Outcome.ERROR if message.get("isError") is True else Outcome.OK
        answer = CallResult(result=flattened(message.get("content")), outcome=outcome, at=at)
        assembler.answer(named(message.get("toolCallId")), answer)
    elif role == "user":
        assembler.user(said(message.get("content")), at)
    elif role == "bashExecution":
        command = as_text(message.get("command"))
        assembler.user(f"the user ran: {command}", at, notification=True)
    else:
        return role in {"custom", "branchSummary", "compactionSummary", "hookMessage"}
    return True


def _respond(assembler: Assembler, message: dict[str, Any], at: datetime | None) -> None:
    blocks, reason = dicts(message.get("content")), message.get("stopReason")
    assembler.respond(
        text=said(message.get("content")),
        reasoning=joined(block.get("thinking") for block in blocks),
        usage=_usage(as_dict(message.get("usage"))),
        at=at,
        stop=StopRequest() if reason == "stop" else None,
    )
    for block in blocks:
        if block.get("type") == "toolCall":
            params = block.get("arguments", {})
            assembler.call(named(block.get("name")), params, named(block.get("id")))
    if reason == "error":
        assembler.add(StopRequest(api_error=as_text(message.get("errorMessage")) or "unknown"))


def _usage(usage: dict[str, Any]) -> Usage | None:
    if not usage:
        return None
    read = sum(as_int(usage.get(key)) for key in ("input", "cacheRead", "cacheWrite"))
    cost = as_float(as_dict(usage.get("cost")).get("total")) or 0.0
    return Usage(read, as_int(usage.get("output")), max(cost, 0.0))
