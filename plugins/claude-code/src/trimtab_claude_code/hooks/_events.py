"""The hook events that trimtab handles, and the record of one that failed."""

from __future__ import annotations

import attrs

from trimtab import Event

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


@attrs.frozen(kw_only=True, eq=False, repr=False)
class HookFailed(Event):
    """A hook event could not be handled; the agent went on as if there were no hook.

    Args:
        event: the host's name of the event, empty if the payload had none.
        error: what went wrong.
    """

    event: str = ""
    error: str = ""
