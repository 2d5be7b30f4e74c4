"""What tools' handlers raise: an answer that the model reads, unless the caller is to end."""

from __future__ import annotations

import asyncio

from trimtab.text import as_text, shorten

MAX_ERROR_TEXT = 2_000
"""Characters of an error that the model, and the record, are told."""

RAISED = (Exception, SystemExit, asyncio.CancelledError)
"""What a handler may raise of its own accord; see `is_cancelled` for the last."""


def told(error: BaseException) -> str:
    """Return an error as the model reads it, at most `MAX_ERROR_TEXT` characters."""
    return shorten(f"{type(error).__name__}: {as_text(error)}", MAX_ERROR_TEXT)


def is_cancelled(error: BaseException) -> bool:
    """Tell whether `error` cancels the task that is running, and not one that it waited for."""
    task = asyncio.current_task() if isinstance(error, asyncio.CancelledError) else None
    return task is not None and task.cancelling() > 0
