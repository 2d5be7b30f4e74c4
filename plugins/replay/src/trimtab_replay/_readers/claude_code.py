"""Claude Code: session files, and what ``claude -p --output-format stream-json`` prints.

Rows of one response share ``message.id``; a row of a subagent carries ``isSidechain``, in the
session's own file (older versions) or in ``SESSION/subagents/agent-ID.jsonl``.

With ``--output-format json --verbose`` the same rows are one array.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain as chained
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import Reader, between_tags, used
from trimtab_replay._recording import RecordedItem, Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Row, Transcript
from trimtab_replay._values import (
    as_dict,
    as_float,
    as_list,
    as_text,
    as_time,
    dicts,
    flattened,
    joined,
    named,
    said,
)
from trimtab_replay.outcomes import outcome_of

_HARNESS = ("<local-command-", "<command-name>", "<task-notification>", "[Request interrupted")
_LAUNCHED = {
    "Async agent launched": "agentId:",
    "Command running in background with ID:": "with ID:",
    "Command was manually backgrounded": "with ID:",
}
_ENDED = ("<status>completed", "<status>failed", "<status>killed", "<status>stopped")
_TASK_TAGS = ("task-id", "task_id")
_TASK_NOTE = 200
_FINAL = {"", "end_turn", "stop_sequence"}
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_CONTENT_ROWS = {"user", "assistant"}


@attrs.define
class _Chain:
    """The rows, or the messages of a stream, of one agent."""

    agent: str | None
    assembler: Assembler = attrs.field(factory=Assembler)
    entries: list[RecordedItem] = attrs.field(factory=list)
    boundary: dict[str, Any] | None = None


class ClaudeCode(Reader):
    """Reads Claude Code's session files."""

    name: ClassVar[str] = "claude-code"
    profile: ClassVar[str] = "claude-code"

    def sniff(self, source: Transcript) -> float:
        rows = (row.keys() for row in source.first_rows if row.keys() >= {"sessionId", "type"})
        return float(any(keys & {"message", "isSidechain", "uuid", "operation"} for keys in rows))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield the session as it streams, then its sidechains, which wait in memory."""
        ids = (named(row.get("sessionId")) for row in source.first_rows)
        session, agents, chains = next(filter(None, ids), ""), _Agents(), dict[str, _Chain]()
        rows = ((_chain_of(chains, agents.of(row)), row) for row in _content_rows(source))
        first = next(rows, None)
        if first is not None:
            fed = (_read_row(chain, row) for chain, row in chained([first], rows))
            yield from _recordings(self, source, chains, fed, main=first[0], name=session)


def _content_rows(source: Transcript) -> Iterator[dict[str, Any]]:
    """Yield the rows that say something; name those in an unknown shape."""
    for line, row in source.rows():
        if not isinstance(row, dict) or not isinstance(row.get("type"), str):
            source.skip("no row of a Claude Code session: no type", line)
        elif row["type"] == "system" or (row["type"] in _CONTENT_ROWS and _has_content(row)):
            yield row
        # Newer versions keep whole requests between the rows.
        elif row["type"] in _CONTENT_ROWS or (
            "message" in row and not row["type"].startswith("api-request")
        ):
            source.skip(f"row of type {row['type']!r} in an unknown shape", line)


@attrs.define
class _Agents:
    roots: dict[str, str] = attrs.field(factory=dict)

    def of(self, row: dict[str, Any]) -> str | None:
        """Return the row's agent; older rows of sidechains are told apart by their first row."""
        if row.get("isSidechain") is not True:
            return None
        if named(row.get("agentId")):
            return named(row["agentId"])
        own = named(row.get("uuid"))
        root = self.roots.get(named(row.get("parentUuid")), own)
        self.roots[own] = root
        return root or "sidechain"


def _chain_of(chains: dict[str, _Chain], agent: str | None) -> _Chain:
    return chains.get(agent or "") or chains.setdefault(agent or "", _Chain(agent))


def _recordings(
    reader: Reader,
    source: Transcript,
    chains: dict[str, _Chain],
    fed: Iterator[_Chain],
    *,
    main: _Chain,
    name: str,
    **facts: Any,
) -> Iterator[Recording]:
    """Yield the recording of `main`, which streams, then those of the other chains."""
    entries = _streamed(main, chains, fed)
    yield reader.recording(source, entries, name, agent_id=main.agent, **facts)
    for chain in [each for each in chains.values() if each is not main]:
        whole = f"{name}/{chain.agent}"
        yield reader.recording(source, chain.entries, whole, agent_id=chain.agent)


def _has_content(row: dict[str, Any]) -> bool:
    return isinstance(as_dict(row.get("message")).get("content"), (str, list))


def _streamed(
    main: _Chain, chains: dict[str, _Chain], fed: Iterator[_Chain]
) -> Iterator[RecordedItem]:
    """Yield what happened to `main`; `fed` gives a row to a chain and returns it."""
    for chain in fed:
        if chain is main:
            yield from chain.assembler.take()
        else:
            chain.entries += chain.assembler.take()
    for chain in chains.values():
        _end_compaction(chain, "")
        chain.entries += chain.assembler.finish()
    yield from main.entries


def _read_row(chain: _Chain, row: dict[str, Any]) -> _Chain:
    if row.get("subtype") == "compact_boundary" or row.get("isCompactSummary") is True:
        _read_compaction(chain, row)
        return chain
    _end_compaction(chain, "")
    if row["type"] == "assistant":
        read_response(chain.assembler, row)
    elif row["type"] == "user":
        read_user(chain.assembler, row)
    return chain


def _read_compaction(chain: _Chain, row: dict[str, Any]) -> None:
    """A boundary, then a row with the summary; older versions write only the second."""
    chain.boundary = chain.boundary or row
    if row["type"] == "user":
        _end_compaction(chain, said(row["message"]["content"]))


def _end_compaction(chain: _Chain, summary: str) -> None:
    boundary, chain.boundary = chain.boundary, None
    if boundary is not None:
        chain.assembler.compacted(summary, as_time(boundary.get("timestamp")))


def read_response(assembler: Assembler, row: dict[str, Any]) -> None:
    message = row["message"]
    if row.get("isApiErrorMessage") is True:
        assembler.add(StopRequest(api_error=said(message["content"])))
        return
    blocks, reason = dicts(message["content"]), as_text(message.get("stop_reason"))
    assembler.respond(
        key=named(message.get("id")) or None,
        text=said(message["content"]),
        reasoning=joined(block.get("thinking") for block in blocks),
        usage=used(message.get("usage"), _READ, "output_tokens"),
        at=as_time(row.get("timestamp")),
        stop=StopRequest() if reason in _FINAL else None,
        presumed=not reason,
    )
    for block in blocks:
        if block.get("type") == "tool_use":
            assembler.call(named(block.get("name")), block.get("input", {}), named(block.get("id")))


def read_user(assembler: Assembler, row: dict[str, Any]) -> None:
    content = row["message"]["content"]
    results = [block for block in dicts(content) if block.get("type") == "tool_result"]
    for block in results:
        answer = _answer(block, row)
        assembler.answer(named(block.get("tool_use_id")), answer)
        if isinstance(answer.result, str):
            _follow_background(assembler, answer.result)
    text = said(content)
    if text and not results and row.get("isMeta") is not True:
        notification = text.startswith(_HARNESS)
        assembler.user(text, as_time(row.get("timestamp")), notification=notification)
    if text and not results:
        _follow_background(assembler, text)


def _follow_background(assembler: Assembler, text: str) -> None:
    """Note work that starts in the background, and its end as a notification or a poll says it."""
    for mark, label in _LAUNCHED.items():
        if text.startswith(mark):
            words = text.partition(label)[2][:_TASK_NOTE].split(maxsplit=1)
            if task := words[0].rstrip(".,") if words else "":
                assembler.background[task] = text[:_TASK_NOTE]
    if assembler.background and any(mark in text for mark in _ENDED):
        for tag in _TASK_TAGS:
            for task in between_tags(text, tag):
                assembler.background.pop(task, None)


def _answer(block: dict[str, Any], row: dict[str, Any]) -> CallResult:
    result = flattened(block.get("content"))
    details = as_dict(row.get("toolUseResult"))
    milliseconds = as_float(details.get("durationMs", details.get("totalDurationMs")))
    return CallResult(
        result=result,
        outcome=_outcome(block, row, result if isinstance(result, str) else ""),
        at=as_time(row.get("timestamp")),
        duration=None if milliseconds is None else milliseconds / 1000,
    )


def _outcome(block: dict[str, Any], row: dict[str, Any], text: str) -> Outcome:
    if as_dict(row.get("toolUseResult")).get("interrupted") is True:
        return Outcome.INTERRUPTED
    is_error = block.get("is_error") is True
    if is_error and "toolDenialKind" in row:
        return Outcome.DENIED
    return outcome_of("claude-code", text, is_error=is_error).outcome


_PASSED_OVER = {"system", "stream_event", "tool_progress", "auth_status", "rate_limit_event"}


class ClaudeStream(Reader):
    """Reads the output of Claude Code in print mode, and messages of its SDK."""

    name: ClassVar[str] = "claude-stream"
    profile: ClassVar[str] = "claude-code"

    def sniff(self, source: Transcript) -> float:
        """Look for messages with the session's id; Cursor's stream is much like it."""
        rows = dicts(list(source.first_rows) or source.document)
        is_other = any(named(row.get("type")) in {"tool_call", "thinking"} for row in rows)
        return 0.0 if is_other else 0.95 * any(map(_is_stream, rows))

    def read(self, source: Transcript) -> Iterator[Recording]:
        chains: dict[str, _Chain] = {}
        main, rows = _chain_of(chains, None), _rows(source)
        first = next((row for row in rows if isinstance(row.value, dict)), None)
        if first is None:
            return
        session = named(first.value.get("session_id")) or source.stem
        tools = frozenset(filter(None, map(named, as_list(first.value.get("tools"))))) or None
        fed = (_feed(source, chains, row) for row in chained([first], rows))
        yield from _recordings(self, source, chains, fed, main=main, name=session, tools=tools)


def _is_stream(row: dict[str, Any]) -> bool:
    kind = named(row.get("type"))
    if "session_id" not in row:
        return False
    has_message = kind in _CONTENT_ROWS and "role" in as_dict(row.get("message"))
    return has_message or (kind == "system" and row.get("subtype") == "init" and "tools" in row)


def _rows(source: Transcript) -> Iterator[Row]:
    if len(source.first_rows) > 1:
        yield from source.rows()
    else:
        for row in source.documents():
            values = row.value if isinstance(row.value, list) else [row.value]
            yield from (Row(row.line, value) for value in values)


def _feed(source: Transcript, chains: dict[str, _Chain], numbered: Row) -> _Chain:
    row = as_dict(numbered.value)
    kind = named(row.get("type"))
    chain = _chain_of(chains, named(row.get("parent_tool_use_id")) or None)
    if kind in _CONTENT_ROWS and _has_content(row):
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
