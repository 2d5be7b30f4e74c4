"""Reading labels: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from trimtab_replay.backtest.verdicts import Label
from trimtab_replay.recording import ReplayError

BORDERLINE = "borderline"
_SNIFFED = 5


class LabelError(ReplayError):
    """A file of labels can't be used; the message names the line."""


def holds_labels(path: str) -> bool:
    """Tell whether a file holds labels, by its first lines."""
    try:
        rows = [row for _, row in islice(_rows(Path(path)), _SNIFFED)]
    except (LabelError, OSError, UnicodeDecodeError):
        return False
    return bool(rows) and all("loop" in row and "path" in row for row in rows)


def read_labels(path: str) -> tuple[Label, ...]:
    """Read the labels that count: borderline ones are left out.

    Raises:
        LabelError: a line is no label.
    """
    found = (_label(row, f"{path}:{line}") for line, row in _rows(Path(path)))
    return tuple(label for label in found if label.confidence != BORDERLINE)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as stream:
        for line, text in enumerate(stream, 1):
            if text.strip():
                yield line, _row(text, f"{path}:{line}")


def _row(text: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LabelError(f"{where}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise LabelError(f"{where}: a label is an object with path, id, loop and evident_at")
    return row


def _label(row: dict[str, Any], where: str) -> Label:
    path, identity, loop, evident = (row.get(k) for k in ("path", "id", "loop", "evident_at"))
    if not (isinstance(path, str) and isinstance(identity, str) and isinstance(loop, bool)):
        raise LabelError(f"{where}: a label needs path and id (text) and loop (true or false)")
    if evident is not None and (not isinstance(evident, int) or isinstance(evident, bool)):
        raise LabelError(f"{where}: evident_at is the index of a call, or null")
    return Label(
        path=path,
        id=identity,
        loop=loop,
        evident_at=evident,
        confidence=str(row.get("confidence") or ""),
    )
