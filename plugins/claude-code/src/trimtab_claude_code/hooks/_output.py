"""The outputs of hooks: the few that are used, and no others."""

from __future__ import annotations

from typing import Any

from trimtab import escape, shorten

MAX_CHARACTERS = 9_500
"""Beyond 10,000 the program replaces a text by a file's path and a preview."""

HookOutput = dict[str, Any]


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


def unfinished(feedback: str | None) -> str:
    """Return the block that sends the agent back to its work."""
    return f"<completion>{escape(feedback or 'The work is not complete.')}</completion>"


def _specific(event: str, **fields: str) -> HookOutput:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def _bounded(text: str) -> str:
    return shorten(text, MAX_CHARACTERS)
