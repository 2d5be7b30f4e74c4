"""mini-swe-agent: chat messages, with the exit code in the head of each result.

Version 1.1 asks by tool calls; before it the one command stood in a fenced block and the result
came as the next user message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.openai_chat import Chat, Message, requested
from trimtab_replay._recording import RecordedItem, Recording, RunEnd
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_list, as_text, as_time, named, said
from trimtab_replay.outcomes import outcome_of

_RETURN_CODE = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>")
_FENCE = "```"
_LANGUAGES = {"bash", "mswea_bash_command"}
_COMMAND_ID = "command"
_HEAD = 200


class MiniSweAgent:
    """Reads mini-swe-agent trajectories."""

    name: ClassVar[str] = "mini-swe-agent"

    def sniff(self, source: Transcript) -> float:
        """Look for its name, or its results."""
        document = as_dict(source.sample)
        if named(document.get("trajectory_format")).startswith("mini-swe-agent"):
            return 1.0
        is_ours = "info" in document and any(map(_is_result, as_list(document.get("messages"))))
        return 0.8 * is_ours

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a document."""
        for row in source.documents_with("messages", _has_messages):
            document = as_dict(row.value)
            status = as_text(as_dict(document.get("info")).get("exit_status"))
            yield Recording(
                id=named(document.get("instance_id")) or source.stem.removesuffix(".traj"),
                path=source.path,
                reader=self.name,
                entries=_entries(document["messages"], status, source),
                profile="mini-swe-agent",
                parallel_calls=False,
                meta={"exit_status": status},
            )


def _has_messages(document: Any) -> bool:
    return isinstance(as_dict(document).get("messages"), list)


def _is_result(message: Any) -> bool:
    return bool(_RETURN_CODE.match(said(as_dict(message).get("content"))))


def _entries(messages: list[Any], status: str, source: Transcript) -> Iterator[RecordedItem]:
    assembler, chat = Assembler(), Chat(source.skip, _answer, stop=None, calls=_calls)
    for number, message in enumerate(messages):
        told = as_dict(message)
        if told.get("role") == "user" and assembler.waits(_COMMAND_ID) and _is_result(told):
            assembler.answer(_COMMAND_ID, _answer(told))
        elif told.get("role") == "exit":
            _submit(assembler, told)
        elif not chat.feed(assembler, _timed(told)):
            source.skip(f"message {number} has no known role")
        yield from assembler.take()
    yield from assembler.finish([RunEnd(reason=status)])


def _submit(assembler: Assembler, message: Message) -> None:
    """The last command ends the run, and the exit message holds what it printed."""
    submitted = assembler.oldest()
    if submitted:
        result = message.get("content")
        assembler.answer(submitted, CallResult(result=result, evidence=Evidence.UNKNOWN))


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
    text = said(message.get("content"))
    read = outcome_of("mini-swe-agent", text)
    return CallResult(
        result=text,
        outcome=read.outcome,
        evidence=read.evidence,
        at=as_time(message.get("timestamp")),
    )
