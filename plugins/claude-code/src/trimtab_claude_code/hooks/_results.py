"""The result and the outcome of a tool call, as they are recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab import Outcome
from trimtab.events import Evidence

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

    Args:
        text: the answer that the model reads.
        started: whether PreToolUse announced it.
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
