"""Agents that mend code: mini-swe-agent and OpenHands.

Version 1.1 asks by tool calls; before it the one command stood in a fenced block and the result
came as the next user message.

An observation names its action by ``cause``; calls of one response share ``model_response.id``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import Reader, assembled, flagged, worded
from trimtab_replay._readers.openai import Chat, Message, requested
from trimtab_replay._recording import RecordedItem, Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    as_dict,
    as_float,
    as_list,
    as_text,
    as_time,
    has_list,
    named,
    said,
)

_RETURN_CODE = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>")
_FENCE = "```"
_LANGUAGES = {"bash", "mswea_bash_command"}
_COMMAND_ID = "command"
_HEAD = 200


class MiniSweAgent(Reader):
    """Reads mini-swe-agent trajectories."""

    name: ClassVar[str] = "mini-swe-agent"
    profile: ClassVar[str] = "mini-swe-agent"
    parallel_calls: ClassVar[bool | None] = False

    def sniff(self, source: Transcript) -> float:
        document = as_dict(source.sample)
        if named(document.get("trajectory_format")).startswith("mini-swe-agent"):
            return 1.0
        is_ours = "info" in document and any(map(_is_result, as_list(document.get("messages"))))
        return 0.8 * is_ours

    def read(self, source: Transcript) -> Iterator[Recording]:
        for row in source.documents_with("messages", has_list("messages")):
            document = as_dict(row.value)
            status = as_text(as_dict(document.get("info")).get("exit_status"))
            name = named(document.get("instance_id")) or source.stem.removesuffix(".traj")
            entries = _entries(document["messages"], status, source)
            yield self.recording(source, entries, name, meta={"exit_status": status})


def _is_result(message: Any) -> bool:
    return bool(_RETURN_CODE.match(said(as_dict(message).get("content"))))


def _entries(messages: list[Any], status: str, source: Transcript) -> Iterator[RecordedItem]:
    chat = Chat(_answer, stop=None, calls=_calls)

    def feed(assembler: Assembler, message: Message) -> bool:
        role = message.get("role")
        if role == "user" and assembler.waits(_COMMAND_ID) and _is_result(message):
            assembler.answer(_COMMAND_ID, _answer(message))
        elif role == "exit":
            # The last command ends the run, and the exit message holds what it printed.
            if submitted := assembler.oldest():
                assembler.answer(submitted, flagged(message.get("content")))
        else:
            return chat.feed(assembler, _timed(message))
        return True

    end = [RunEnd(reason=status)]
    return assembled(source, messages, feed, "message {} has no known role", end)


def _timed(message: Message) -> Message:
    time = as_dict(message.get("extra")).get("timestamp")
    return message if time is None else {**message, "timestamp": time}


def _calls(message: Message) -> Iterator[tuple[str, Any, str]]:
    if message.get("tool_calls"):
        yield from requested(message)
        return
    commands = _commands(said(message.get("content")))
    if len(commands) == 1:
        yield "bash", {"command": commands[0].strip()}, _COMMAND_ID


def _commands(text: str) -> list[str]:
    """Return what stands in fenced blocks of the shell; a block that is cut off is ignored."""
    commands = []
    start = text.find(_FENCE)
    while start >= 0:
        language, newline, _ = text[start + len(_FENCE) : start + _HEAD].partition("\n")
        body = start + len(_FENCE) + len(language) + 1
        if not newline or language.strip() not in _LANGUAGES:
            start = text.find(_FENCE, start + len(_FENCE))
            continue
        end = text.find(f"\n{_FENCE}", body)
        if end < 0:
            break
        commands.append(text[body:end])
        start = text.find(_FENCE, end + 1 + len(_FENCE))
    return commands


def _answer(message: Message) -> CallResult:
    at = as_time(message.get("timestamp"))
    return worded("mini-swe-agent", said(message.get("content")), at)


_NO_CALLS = {
    "system",
    "message",
    "recall",
    "null",
    "change_agent_state",
    "condensation",
    "condensation_request",
    "start",
    "pause",
    "resume",
}
_QUIET = {"agent_state_changed", "null", "recall"}
_RUNNING = -1.0


class OpenHands(Reader):
    """Reads OpenHands events and eval output."""

    name: ClassVar[str] = "openhands"
    profile: ClassVar[str] = "openhands"

    def sniff(self, source: Transcript) -> float:
        sample = source.sample
        events = [*as_list(sample)[:20], *_history(sample)[:20], *source.first_rows]
        return float(any(map(_is_event, events)))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a document; events line by line are one recording."""
        if len(source.first_rows) > 1 and _is_event(source.first_rows[0]):
            rows = (row.value for row in source.rows())
            yield self.recording(source, _Events(source).entries(rows, []))
            return
        for row in source.documents_with("events", _has_events):
            events = row.value if isinstance(row.value, list) else _history(row.value)
            head = as_dict(row.value)
            error = as_text(head.get("error"))
            entries = _Events(source).entries(events, [RunEnd(reason=error)] if error else [])
            yield self.recording(source, entries, named(head.get("instance_id")), line=row.line)


def _has_events(document: Any) -> bool:
    head = as_dict(document)
    lists = (document, head.get("history"), head.get("trajectory"))
    return any(isinstance(each, list) for each in lists)


def _history(document: Any) -> list[Any]:
    """Return a document's events; older output pairs each action with its observation."""
    head = as_dict(document)
    history = as_list(head.get("history")) or as_list(head.get("trajectory"))
    return [event for each in history for event in (each if isinstance(each, list) else [each])]


def _is_event(value: Any) -> bool:
    event = as_dict(value)
    is_told = "args" in event or "extras" in event or "content" in event
    return "source" in event and is_told and ("action" in event or "observation" in event)


@attrs.define
class _Events:
    source: Transcript
    assembler: Assembler = attrs.field(factory=Assembler)
    calls: dict[str, str] = attrs.field(factory=dict)

    def entries(self, events: Iterable[Any], end: list[RunEnd]) -> Iterator[RecordedItem]:
        for number, event in enumerate(events):
            if _is_event(event):
                self._read(event, as_time(event.get("timestamp")))
            else:
                self.source.skip(f"event {number} has no source, or no action and no observation")
            yield from self.assembler.take()
        yield from self.assembler.finish(end)

    def _read(self, event: dict[str, Any], at: datetime | None) -> None:
        action = as_text(event.get("action"))
        if not action:
            self._observe(event, at)
        elif action == "message":
            self._message(event, at)
        elif action == "condensation":
            summary = as_text(as_dict(event.get("args")).get("summary"))
            self.assembler.compacted(summary, at)
        elif event.get("source") == "agent" and action not in _NO_CALLS:
            self._call(action, event, at)

    def _message(self, event: dict[str, Any], at: datetime | None) -> None:
        args = as_dict(event.get("args"))
        text = as_text(args.get("content", event.get("message")))
        if event.get("source") == "user":
            self.assembler.user(text, at)
        elif event.get("source") == "agent":
            waiting = args.get("wait_for_response") is True
            stop = StopRequest(awaiting_user=waiting)
            self.assembler.respond(text=text, at=at, stop=stop, presumed=not waiting)

    def _call(self, action: str, event: dict[str, Any], at: datetime | None) -> None:
        args, told = as_dict(event.get("args")), as_dict(event.get("tool_call_metadata"))
        response = named(as_dict(told.get("model_response")).get("id"))
        self.assembler.respond(key=response or None, text=as_text(args.get("thought")), at=at)
        tool = named(told.get("function_name")) or action
        params = {key: value for key, value in args.items() if key not in {"thought", "blocking"}}
        call_id = self.assembler.call(tool, params, named(told.get("tool_call_id")))
        self.calls[as_text(event.get("id"))] = call_id
        if action == "finish":
            self.assembler.answer(call_id, flagged("", at=at))
            self.assembler.add(StopRequest())

    def _observe(self, event: dict[str, Any], at: datetime | None) -> None:
        call_id = self.calls.pop(as_text(event.get("cause")), "")
        kind = as_text(event.get("observation"))
        if call_id:
            content = event.get("content")
            outcome, evidence = _outcome(event, kind, as_text(content))
            answer = CallResult(result=content, outcome=outcome, evidence=evidence, at=at)
            self.assembler.answer(call_id, answer)
        elif kind not in _QUIET:
            text = as_text(event.get("content", event.get("message")))
            self.assembler.user(text, at, notification=True)


def _outcome(event: dict[str, Any], kind: str, text: str) -> tuple[Outcome, Evidence]:
    if kind == "user_rejected":
        return Outcome.DENIED, Evidence.FLAG
    if kind == "error":
        return Outcome.ERROR, Evidence.FLAG
    extras = as_dict(event.get("extras"))
    code = as_float(extras.get("exit_code", as_dict(extras.get("metadata")).get("exit_code")))
    if code is not None:
        failed = code not in {0.0, _RUNNING}
        return Outcome.ERROR if failed else Outcome.OK, Evidence.DERIVED
    if text.startswith("ERROR:"):
        return Outcome.ERROR, Evidence.DERIVED
    return Outcome.OK, Evidence.UNKNOWN
