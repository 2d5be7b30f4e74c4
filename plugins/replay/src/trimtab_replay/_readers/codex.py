"""Codex CLI: rollout files, and the events that ``codex exec --json`` prints.

A response ends at its ``token_count`` event. How a command ended stands in the head of its
output (``Process exited with code 1``), or in an event with its call's id.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import RowReader
from trimtab_replay._readers.openai import Payload, Responses
from trimtab_replay._recording import StopRequest
from trimtab_replay._values import (
    as_dict,
    as_float,
    as_text,
    as_time,
    dicts,
    flattened,
    named,
    parse,
)
from trimtab_replay.outcomes import outcome_of

_WALL = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds", re.MULTILINE)
_HEAD = 400
_KINDS = {"session_meta", "turn_context", "response_item", "event_msg", "compacted"}
_NO_TALK = {"token_usage_record", "world_state"}
"""Rows of newer versions that hold nothing of the conversation."""


@attrs.define
class Codex(RowReader):
    """Reads Codex rollouts."""

    name: ClassVar[str] = "codex"
    profile: ClassVar[str] = "codex"
    unknown: ClassVar[str] = "no part of a rollout: item of type {1!r}"

    polls: set[str] = attrs.field(factory=set)
    ends: dict[str, Payload] = attrs.field(factory=dict)
    responses: Responses = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.responses = Responses(answer=self._answer, stop=None)

    def is_own(self, row: dict[str, Any]) -> bool:
        return named(row.get("type")) in _KINDS and "payload" in row

    def id_in(self, row: dict[str, Any]) -> Any:
        meta = as_dict(row.get("payload")) if row.get("type") == "session_meta" else {}
        return meta.get("id") or meta.get("session_id")

    def feed(self, assembler: Assembler, row: dict[str, Any]) -> bool:
        kind, payload, at = (
            named(row.get("type")),
            row.get("payload"),
            as_time(row.get("timestamp")),
        )
        if kind in _NO_TALK:
            return True
        if not isinstance(payload, dict) or kind not in _KINDS:
            return False
        if kind == "response_item":
            return self._item(assembler, payload, at)
        if kind == "event_msg":
            self._event(assembler, payload, at)
        elif kind == "compacted":
            assembler.compacted(named(payload.get("message")), at)
        return True

    def _item(self, assembler: Assembler, item: Payload, at: Any) -> bool:
        if item.get("type") == "message" and item.get("role") != "assistant":
            return True  # what the user said is an event of its own; these hold the harness's words
        if item.get("name") == "write_stdin" and _is_poll(item.get("arguments")):
            self.polls.add(named(item.get("call_id")))
        return self.responses.feed(assembler, item, at)

    def _event(self, assembler: Assembler, event: Payload, at: Any) -> None:
        kind = named(event.get("type"))
        if kind == "token_count":
            self.responses.end_response()
        elif kind == "user_message":
            self.responses.end_response()
            assembler.user(as_text(event.get("message")), at)
        elif kind == "task_complete":
            self.responses.end_response()
            assembler.add(StopRequest())
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
        return attrs.evolve(told, result=result, at=at, poll=poll)


def _is_poll(text: Any) -> bool:
    try:
        params = as_dict(parse(text.encode("utf-8", "replace")).value if text else None)
    except (AttributeError, ValueError):
        return False
    return not as_text(params.get("chars"))


def _told_by_text(text: str) -> CallResult:
    """Return how a call ended, and after how many seconds, by its output."""
    head, packed = text[:_HEAD], _packed(text)
    wall = as_float(packed.get("duration_seconds"))
    if (timed := _WALL.search(head)) is not None:
        wall = float(timed[1])
    status = as_float(packed.get("exit_code"))
    if status is not None:
        outcome = Outcome.ERROR if status else Outcome.OK
        return CallResult(outcome=outcome, evidence=Evidence.DERIVED, duration=wall)
    read = outcome_of("codex", head)
    return CallResult(outcome=read.outcome, evidence=read.evidence, duration=wall)


def _packed(text: str) -> Payload:
    """Return the metadata of an output that is JSON itself, as older versions write it."""
    if not text.startswith('{"output":'):
        return {}
    try:
        return as_dict(as_dict(parse(text.encode("utf-8", "replace")).value).get("metadata"))
    except ValueError:
        return {}


def _told_by_event(told: CallResult, event: Payload) -> CallResult:
    spent = as_dict(event.get("duration"))
    seconds, nanos = as_float(spent.get("secs")), as_float(spent.get("nanos")) or 0.0
    duration = told.duration if seconds is None else seconds + nanos / 1e9
    code, success = as_float(event.get("exit_code")), event.get("success")
    failed = success is False or (code is not None and code != 0)
    if failed and told.outcome is Outcome.OK:
        return CallResult(outcome=Outcome.ERROR, duration=duration)
    return attrs.evolve(told, duration=duration)


_EVENTS = {"thread.started", "turn.started", "turn.completed", "turn.failed"}
_ITEM_EVENTS = {"item.started", "item.updated", "item.completed"}
_STATUS = {"failed": Outcome.ERROR, "declined": Outcome.DENIED, "in_progress": Outcome.INTERRUPTED}
_STATES = {True: "completed", False: "pending"}
_SPEAKING = "speaking"
_TEXTS = {"agent_message", "assistant_message", "plan", "reasoning"}


class CodexExec(RowReader):
    """Reads the output of Codex's non-interactive mode."""

    name: ClassVar[str] = "codex-exec"
    profile: ClassVar[str] = "codex"
    unknown: ClassVar[str] = "no event of codex exec"

    def is_own(self, row: dict[str, Any]) -> bool:
        kind = named(row.get("type"))
        return kind in _EVENTS or (kind in _ITEM_EVENTS and "type" in as_dict(row.get("item")))

    def id_in(self, row: dict[str, Any]) -> Any:
        return row.get("thread_id")

    def feed(self, assembler: Assembler, row: dict[str, Any]) -> bool:
        kind, item = named(row.get("type")), as_dict(row.get("item"))
        if kind in _ITEM_EVENTS:
            _happen(assembler, item, is_done=kind == "item.completed")
        elif kind == "turn.completed":
            assembler.close_turn()
        elif kind == "turn.failed":
            message = as_text(as_dict(row.get("error")).get("message", row.get("message")))
            assembler.add(StopRequest(api_error=message))
        return kind in _EVENTS or kind == "error" or kind.startswith("item.")


def _happen(assembler: Assembler, item: dict[str, Any], *, is_done: bool) -> None:
    kind, item_id = named(item.get("type")), named(item.get("id"))
    if kind == "todo_list" and is_done:
        return  # it completes when the turn ends, and says nothing new
    if kind in _TEXTS:
        if is_done:
            _say(assembler, kind, item)
        return
    make = _CALLS.get(kind)
    if make is None:
        return
    if not assembler.waits(item_id):
        if not assembler.is_waiting and assembler.key != _SPEAKING:
            assembler.respond()
        assembler.rekey(None)
        item_id = assembler.call(*make(item), item_id)
    if is_done or kind == "todo_list":
        assembler.answer(item_id, _result(kind, item))


def _say(assembler: Assembler, kind: str, item: dict[str, Any]) -> None:
    """Read text, which belongs to the calls that follow it."""
    text = named(item.get("text"))
    if kind == "reasoning":
        assembler.respond(key=_SPEAKING, reasoning=text)
    else:
        assembler.respond(key=_SPEAKING, text=text, presumed=True)


def _mcp_call(item: dict[str, Any]) -> tuple[str, Any]:
    names = [named(item.get("server")), named(item.get("tool"))]
    return "__".join(filter(None, names)), item.get("arguments", {})


def _plan_call(item: dict[str, Any]) -> tuple[str, Any]:
    steps = [
        {"step": named(step.get("text")), "status": _STATES[step.get("completed") is True]}
        for step in dicts(item.get("items"))
    ]
    return "update_plan", {"plan": steps}


_CALLS: dict[str, Callable[[dict[str, Any]], tuple[str, Any]]] = {
    "command_execution": lambda item: ("shell", {"command": item.get("command", "")}),
    "file_change": lambda item: ("apply_patch", {"changes": item.get("changes", [])}),
    "mcp_tool_call": _mcp_call,
    "web_search": lambda item: ("web_search", {"query": item.get("query", "")}),
    "collab_tool_call": lambda item: (named(item.get("tool")), {"prompt": item.get("prompt")}),
    "todo_list": _plan_call,
}
"""Tool and arguments of an item, named as Codex's session files name them."""


def _result(kind: str, item: dict[str, Any]) -> CallResult:
    if kind == "todo_list":
        return CallResult(result="Plan updated")
    status, code = named(item.get("status")), item.get("exit_code")
    outcome = _STATUS.get(status, Outcome.OK)
    if isinstance(code, int) and code != 0 and outcome is Outcome.OK:
        outcome = Outcome.ERROR
    error = as_dict(item.get("error")).get("message")
    told = item.get("aggregated_output", as_dict(item.get("result")).get("content"))
    return CallResult(result=error or flattened(told) or None, outcome=outcome)
