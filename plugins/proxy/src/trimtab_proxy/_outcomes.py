"""How a tool call ended, where only the words of its answer tell.

Exit statuses and structured failures are found by core, from the answer and the tool's profile.
Here are the sentences that the programs themselves write for calls that never ran, or were cut off.
"""

from __future__ import annotations

from typing import Any

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_proxy._items import Result

_HEAD = 300
_INTERRUPTED = (
    "[Request interrupted by user",
    "aborted by user",
    "aborted",
    "Tool execution aborted",
    "Tool call cancelled",
    "[Operation Cancelled]",
    "Sibling tool call errored",
    "Cancelled: parallel tool call",
)
_DENIED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "Permission to use ",
    "exec command rejected",
    "rejected by user",
    "patch rejected",
    "The user rejected permission",
    "Permission denied by user",
    "Tool execution denied",
    "[DENIED]",
    "User denied",
    "User cancelled",
)
_INVALID = (
    "<tool_use_error>InputValidationError",
    "<tool_use_error>Error: No such tool available",
    "InputValidationError",
    "Input validation error",
    "failed to parse function arguments",
    "unsupported call",
    "unsupported custom tool",
    "Invalid tool parameters",
    "The arguments provided to the tool are invalid",
    "Model tried to call unavailable tool",
)
_SENTENCES = (
    (Outcome.INTERRUPTED, _INTERRUPTED),
    (Outcome.DENIED, _DENIED),
    (Outcome.INVALID, _INVALID),
)


def result_of(content: Any, failed: bool | None = None) -> Result:
    """Return what a tool answered together with how its call ended.

    Args:
        content: text, or blocks that are no text.
        failed: the API's own flag; None if it has none.
    """
    head = content[:_HEAD].lstrip() if isinstance(content, str) else ""
    if failed is not False:
        for outcome, beginnings in _SENTENCES:
            if head.startswith(beginnings):
                return Result(content, outcome, Evidence.DERIVED)
    if failed is None:
        return Result(content)
    return Result(content, Outcome.ERROR if failed else Outcome.OK, Evidence.FLAG)
