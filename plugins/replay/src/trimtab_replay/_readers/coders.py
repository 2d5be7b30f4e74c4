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
from trimtab_replay._readers.messages import MessageReader, exit_status, flagged, worded
from trimtab_replay._readers.openai import Chat, Message, requested
from trimtab_replay._recording import Item, RunEnd, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    as_dict,
    as_float,
    as_text,
    as_time,
    dicts,
    named,
    said,
)

_RETURN_CODE = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>")
_FENCE = "```"
_LANGUAGES = {"bash", "mswea_bash_command"}
_COMMAND_ID = "command"
_HEAD = 200


class MiniSweAgent(MessageReader):
    """Reads mini-swe-agent trajectories."""

    name: ClassVar[str] = "mini-swe-agent"
    profile: ClassVar[str] = "mini-swe-agent"
    parallel_calls: ClassVar[bool | None] = False

    def sniff(self, source: Transcript) -> float:
        document = as_dict(source.sample)
        if named(document.get("trajectory_format")).startswith("mini-swe-agent"):
            return 1.0
        is_ours = "info" in document and any(map(_is_result, dicts(document.get("messages"))))
        return 0.8 * is_ours

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        return {
            "name": named(document.get("instance_id")),
            "meta": {"exit_status": exit_status(document)},
        }

    def end(self, document: Any) -> Iterable[Item]:
        return [RunEnd(reason=exit_status(document))]

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        role = message.get("role")
        if role == "user" and assembler.waits(_COMMAND_ID) and _is_result(message):
            assembler.answer(_COMMAND_ID, _answer(message))
        elif role == "exit":
            # The last command ends the run, and the exit message holds what it printed.
            if submitted := assembler.oldest():
                assembler.answer(submitted, flagged(message.get("content")))
        else:
            return _CHAT.feed(assembler, _timed(message))
        return True


def _is_result(message: Message) -> bool:
    return bool(_RETURN_CODE.match(said(message.get("content"))))


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


_CHAT = Chat(_answer, stop=None, calls=_calls)

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


@attrs.define
class OpenHands(MessageReader):
    """Reads OpenHands events and eval output."""

    name: ClassVar[str] = "openhands"
    certainty: ClassVar[float] = 1.0
    profile: ClassVar[str] = "openhands"
    keys: ClassVar[tuple[str, ...]] = ("history", "trajectory")
    what: ClassVar[str] = "events"
    unknown: ClassVar[str] = "event {} has no source, or no action and no observation"

    calls: dict[str, str] = attrs.field(factory=dict)

    def knows(self, message: dict[str, Any]) -> bool:
        is_told = "args" in message or "extras" in message or "content" in message
        is_event = "action" in message or "observation" in message
        return "source" in message and is_told and is_event

    def messages(self, document: Any) -> list[Any] | None:
        """Return a document's events; older output pairs each action with its observation."""
        found = super().messages(document)
        if found is None:
            return None
        return [event for each in found for event in (each if isinstance(each, list) else [each])]

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        return {"name": named(document.get("instance_id"))}

    def reason(self, document: Any) -> str:
        return as_text(as_dict(document).get("error"))

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        action, at = as_text(message.get("action")), as_time(message.get("timestamp"))
        if not self.knows(message):
            return False
        if not action:
            self._observe(assembler, message, at)
        elif action == "message":
            _speak(assembler, message, at)
        elif action == "condensation":
            assembler.compacted(as_text(as_dict(message.get("args")).get("summary")), at)
        elif message.get("source") == "agent" and action not in _NO_CALLS:
            self._call(assembler, action, message, at)
        return True

    def _call(
        self, assembler: Assembler, action: str, event: dict[str, Any], at: datetime | None
    ) -> None:
        args, told = as_dict(event.get("args")), as_dict(event.get("tool_call_metadata"))
        response = named(as_dict(told.get("model_response")).get("id"))
        assembler.respond(key=response or None, text=as_text(args.get("thought")), at=at)
        tool = named(told.get("function_name")) or action
        params = {key: value for key, value in args.items() if key not in {"thought", "blocking"}}
        call_id = assembler.call(tool, params, named(told.get("tool_call_id")))
        self.calls[as_text(event.get("id"))] = call_id
        if action == "finish":
            assembler.answer(call_id, flagged("", at=at))
            assembler.add(StopRequest())

    def _observe(self, assembler: Assembler, event: dict[str, Any], at: datetime | None) -> None:
        call_id = self.calls.pop(as_text(event.get("cause")), "")
        kind = as_text(event.get("observation"))
        if call_id:
            content = event.get("content")
            outcome, evidence = _outcome(event, kind, as_text(content))
            answer = CallResult(result=content, outcome=outcome, evidence=evidence, at=at)
            assembler.answer(call_id, answer)
        elif kind not in _QUIET:
            text = as_text(event.get("content", event.get("message")))
            assembler.user(text, at, notification=True)


def _speak(assembler: Assembler, event: dict[str, Any], at: datetime | None) -> None:
    args = as_dict(event.get("args"))
    text = as_text(args.get("content", event.get("message")))
    if event.get("source") == "user":
        assembler.user(text, at)
    elif event.get("source") == "agent":
        waiting = args.get("wait_for_response") is True
        stop = StopRequest(awaiting_user=waiting)
        assembler.respond(text=text, at=at, stop=stop, presumed=not waiting)


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
