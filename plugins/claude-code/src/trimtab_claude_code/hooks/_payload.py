"""What Claude Code sends to hooks, what a hook may answer, and how a call ended.

Anything in a payload may be missing or of the wrong type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from trimtab import Event, Outcome
from trimtab.events import Evidence
from trimtab.text import escape, shorten

EVENTS = (
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "SessionStart",
    "SessionEnd",
)
"""All events that `ClaudeCodeHooks.answer` knows; any other is answered with ``{}``."""

MAX_CHARACTERS = 9_500
"""Beyond 10,000 the program replaces a text by a file's path and a preview."""

HookOutput = dict[str, Any]
_NOTHING: Mapping[str, Any] = {}
_ENDED = frozenset({"completed", "failed", "killed", "stopped", "cancelled"})


@attrs.frozen(kw_only=True, eq=False, repr=False)
class HookFailed(Event):
    """A hook event could not be handled; the agent went on as if there were no hook.

    Args:
        event: the host's name of the event, empty if the payload had none.
        error: what went wrong.
    """

    event: str = ""
    error: str = ""


@attrs.frozen(eq=False, repr=False)
class Payload:
    """One hook event of Claude Code, or one call in a batch."""

    raw: Mapping[str, Any]

    @classmethod
    def of(cls, value: object) -> Payload:
        """Return the payload of any value; what is not an object is an empty one."""
        return cls(value if isinstance(value, Mapping) else _NOTHING)

    def text(self, key: str) -> str:
        """Return the text under `key`, empty if there is none."""
        value = self.raw.get(key)
        return value if isinstance(value, str) else ""

    def items(self, key: str) -> tuple[Payload, ...]:
        """Return the objects in the list under `key`."""
        value = self.raw.get(key)
        found = value if isinstance(value, list | tuple) else ()
        return tuple(Payload(item) for item in found if isinstance(item, Mapping))

    @property
    def name(self) -> str:
        return self.text("hook_event_name")

    @property
    def session_id(self) -> str:
        return self.text("session_id")

    @property
    def agent_id(self) -> str | None:
        """The subagent, None for the main agent."""
        return self.text("agent_id") or None

    @property
    def agent_type(self) -> str | None:
        """Kind of the (sub)agent, None if it has none."""
        return self.text("agent_type") or None

    @property
    def tool(self) -> str:
        return self.text("tool_name")

    @property
    def params(self) -> Any:
        return self.raw.get("tool_input", {})

    @property
    def call_id(self) -> str:
        return self.text("tool_use_id")

    def require_call(self) -> None:
        """Make sure that a call is named."""
        if not self.tool or not self.call_id:
            raise ValueError(f"{self.name or 'a call'} came without tool_name or tool_use_id")

    @property
    def response(self) -> Any:
        return self.raw.get("tool_response")

    @property
    def interrupted(self) -> bool:
        response = self.response
        stopped = isinstance(response, Mapping) and response.get("interrupted") is True
        return stopped or self.raw.get("is_interrupt") is True

    @property
    def duration(self) -> float | None:
        """Seconds that the call took, None if unknown."""
        value = self.raw.get("duration_ms")
        return value / 1000 if isinstance(value, int | float) else None

    @property
    def background_work(self) -> bool:
        """Whether something is under way that will wake the agent by itself.

        A subagent that runs in the background is listed as a task, even in its own events.
        """
        tasks = any(
            task.text("status") not in _ENDED and task.text("id") != self.agent_id
            for task in self.items("background_tasks")
        )
        alarms = (cron.raw.get("recurring") is not True for cron in self.items("session_crons"))
        return tasks or any(alarms)


def context(event: str, *texts: str | None) -> HookOutput:
    """Return the output that adds `texts` to the conversation; ``{}`` where there are none.

    At Stop and SubagentStop the agent goes on with it.
    """
    said = "\n\n".join(text for text in texts if text)
    return _specific(event, additionalContext=_bounded(said)) if said else {}


def refusal(reason: str) -> HookOutput:
    """Return the output of PreToolUse that refuses the call."""
    return _specific(
        "PreToolUse", permissionDecision="deny", permissionDecisionReason=_bounded(reason)
    )


def ending(summary: str) -> HookOutput:
    """Return the output that ends the turn; the program shows the summary to the user."""
    return {"continue": False, "stopReason": _bounded(summary)}


def unfinished(feedback: str | None) -> str:
    """Return the block that sends the agent back to its work."""
    return f"<completion>{escape(feedback or 'The work is not complete.')}</completion>"


def _specific(event: str, **fields: str) -> HookOutput:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def _bounded(text: str) -> str:
    return shorten(text, MAX_CHARACTERS)


_INVALID = (
    "InputValidationError",
    "Input validation error",
    "No such tool available",
    "Output does not match required schema",
)
_CANCELLED = ("Sibling tool call errored", "Cancelled: parallel tool call")
_MARKED = 200
_OPENING, _CLOSING = "<tool_use_error>", "</tool_use_error>"
_ECHOED = frozenset({"content", "newString", "oldString", "originalFile", "userModified"})


def failure(error: str, *, interrupted: bool) -> Outcome:
    """Return the outcome of a call that PostToolUseFailure reported with this text."""
    if interrupted or _says(error, _CANCELLED):
        return Outcome.INTERRUPTED
    return Outcome.INVALID if _says(error, _INVALID) else Outcome.ERROR


def unreported(text: str, *, started: bool) -> tuple[Outcome, Evidence]:
    """Return the outcome of a call that only PostToolBatch shows, and how well it is known.

    A batch has no flag. What failed or succeeded was reported before, so a call that passed
    PreToolUse and ended unseen was denied, and one that never came to PreToolUse was invalid.
    """
    if _says(text, _CANCELLED):
        return Outcome.INTERRUPTED, Evidence.DERIVED
    if _says(text, _INVALID) or text.startswith(_OPENING):
        return Outcome.INVALID, Evidence.DERIVED
    if started:
        return Outcome.DENIED, Evidence.DERIVED
    return Outcome.OK, Evidence.UNKNOWN


def readable(response: Any) -> Any:
    """Return a tool's answer as near as can be to what the model reads.

    Tools answer hooks with structures of their own: the text is taken out of those that hold
    one, and what only repeats the arguments or the file is left out of the others.
    """
    if isinstance(response, list | tuple):
        return _joined(response)
    return _from_object(response) if isinstance(response, Mapping) else response


def plain_error(text: str) -> str:
    """Return an error without the tags that the program puts around it."""
    inside = text.strip()
    if inside.startswith(_OPENING) and inside.endswith(_CLOSING):
        return inside[len(_OPENING) : -len(_CLOSING)].strip()
    return text


def _from_object(response: Mapping[str, Any]) -> Any:
    file, content = response.get("file"), response.get("content")
    if "stdout" in response:
        return _streams(response)
    if isinstance(file, Mapping) and "content" in file:
        return file["content"]
    if "structuredPatch" in response:
        return {key: value for key, value in response.items() if key not in _ECHOED}
    return _joined(content) if isinstance(content, list | tuple) else response


def _says(text: str, marks: tuple[str, ...]) -> bool:
    return any(mark in text[:_MARKED] for mark in marks)


def _streams(response: Mapping[str, Any]) -> str:
    streams = (response.get("stdout"), response.get("stderr"))
    return "\n".join(text for text in streams if isinstance(text, str) and text)


def _joined(blocks: Any) -> Any:
    """Return the texts of content blocks as one; the blocks where there is another kind."""
    texts = [block.get("text") for block in blocks if isinstance(block, Mapping)]
    if len(texts) < len(blocks) or not all(isinstance(text, str) for text in texts):
        return blocks
    return "\n".join(str(text) for text in texts)
