"""What ``claude -p --output-format stream-json`` prints: JSON lines, one message a line.

With ``--output-format json --verbose`` the same rows are one array.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs

from trimtab_replay._assembler import Assembler
from trimtab_replay._readers.claude_code import read_response, read_user
from trimtab_replay._recording import RecordedItem, Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Row, Transcript
from trimtab_replay._values import as_dict, as_list, as_text, dicts, named

_MESSAGES = {"assistant", "user"}
_PASSED_OVER = {"system", "stream_event", "tool_progress", "auth_status", "rate_limit_event"}


class ClaudeStream:
    """Reads the output of Claude Code in print mode, and messages of its SDK."""

    name: ClassVar[str] = "claude-stream"

    def sniff(self, source: Transcript) -> float:
        """Look for messages with the session's id; Cursor's stream is much like it."""
        rows = dicts(list(source.first_rows) or source.document)
        is_other = any(named(row.get("type")) in {"tool_call", "thinking"} for row in rows)
        return 0.0 if is_other else 0.95 * any(map(_is_ours, rows))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield the session, then its subagents."""
        chains: dict[str, _Chain] = {"": _Chain(None)}
        main = chains[""]
        rows = _rows(source)
        first = next((row for row in rows if isinstance(row.value, dict)), None)
        if first is None:
            return
        session = named(as_dict(first.value).get("session_id")) or source.stem
        tools = as_dict(first.value).get("tools")
        names = frozenset(filter(None, map(named, as_list(tools)))) or None
        entries = _streamed(source, chains, first, rows)
        yield _recording(source, session, main, entries, names)
        for parent, chain in chains.items():
            if chain is not main:
                yield _recording(source, f"{session}/{parent}", chain, chain.entries, None)


@attrs.define
class _Chain:
    """The messages of one agent."""

    agent: str | None
    assembler: Assembler = attrs.field(factory=Assembler)
    entries: list[RecordedItem] = attrs.field(factory=list)


def _is_ours(row: dict[str, Any]) -> bool:
    kind = named(row.get("type"))
    if "session_id" not in row:
        return False
    has_message = kind in _MESSAGES and "role" in as_dict(row.get("message"))
    return has_message or (kind == "system" and row.get("subtype") == "init" and "tools" in row)


def _rows(source: Transcript) -> Iterator[Row]:
    if len(source.first_rows) > 1:
        yield from source.rows()
    else:
        for row in source.documents():
            values = row.value if isinstance(row.value, list) else [row.value]
            yield from (Row(row.line, value) for value in values)


def _recording(
    source: Transcript,
    name: str,
    chain: _Chain,
    entries: Any,
    tools: frozenset[str] | None,
) -> Recording:
    return Recording(
        id=name,
        path=source.path,
        reader=ClaudeStream.name,
        entries=entries,
        agent_id=chain.agent,
        profile="claude-code",
        parallel_calls=True,
        tools=tools,
    )


def _streamed(
    source: Transcript, chains: dict[str, _Chain], first: Row, rows: Iterator[Row]
) -> Iterator[RecordedItem]:
    main = chains[""]
    _feed(source, chains, first)
    for row in rows:
        chain = _feed(source, chains, row)
        if chain is main:
            yield from main.assembler.take()
        else:
            chain.entries += chain.assembler.take()
    for chain in chains.values():
        chain.entries += chain.assembler.finish()
    yield from main.entries


def _feed(source: Transcript, chains: dict[str, _Chain], numbered: Row) -> _Chain:
    row = as_dict(numbered.value)
    kind = named(row.get("type"))
    parent = named(row.get("parent_tool_use_id"))
    chain = chains.get(parent) or chains.setdefault(parent, _Chain(parent))
    has_content = isinstance(as_dict(row.get("message")).get("content"), (str, list))
    if kind in _MESSAGES and has_content:
        read = read_response if kind == "assistant" else read_user
        read(chain.assembler, _as_session_row(row))
    elif kind == "result":
        _end(chain.assembler, row)
    elif row.get("subtype") == "compact_boundary":
        chain.assembler.compacted()
    elif kind not in _PASSED_OVER:
        source.skip("no message of a Claude Code stream", numbered.line)
    return chain


def _as_session_row(row: dict[str, Any]) -> dict[str, Any]:
    """Name the stream's fields as the session files name them."""
    details = row.get("tool_use_result", row.get("toolUseResult"))
    return row if details is None else {**row, "toolUseResult": details}


def _end(assembler: Assembler, row: dict[str, Any]) -> None:
    """A result ends the answer to one prompt; it says whether the agent stopped by itself."""
    reason = named(row.get("subtype"))
    if row.get("is_error") is True and reason == "success":
        assembler.add(StopRequest(api_error=as_text(row.get("result"))))
    elif reason != "success":
        assembler.add(RunEnd(reason=reason))
    else:
        assembler.close_turn()
