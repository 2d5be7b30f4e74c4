"""Reading labels: one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trimtab_replay._backtest.verdicts import Label
from trimtab_replay._recording import ReplayError
from trimtab_replay._transcript import Skipped, Transcript

BORDERLINE = "borderline"


class LabelError(ReplayError):
    """A file of labels can't be used; the message names the line."""


def holds_labels(path: str) -> bool:
    """Tell whether a file holds labels, by its first lines."""
    return any("loop" in row and "path" in row for row in _source(path).first_rows)


def holds_cases(path: str) -> bool:
    """Tell whether a file holds cases, by its first lines; a folder may."""
    return not Path(path).is_file() or any(
        isinstance(row.get("calls"), list) for row in _source(path).first_rows
    )


def read_labels(path: str) -> tuple[Label, ...]:
    """Read the labels that count: borderline ones are left out.

    Raises:
        LabelError: a line is not a label, or a run is labelled twice.
    """
    found: dict[tuple[str, str], Label] = {}
    for where, value in _rows(path):
        label = _label(value, where)
        if (label.path, label.id) in found:
            raise LabelError(f"{where}: run {label.id!r} of {label.path} is labelled twice")
        found[label.path, label.id] = label
    return tuple(label for label in found.values() if label.confidence != BORDERLINE)


def _source(path: str) -> Transcript:
    return Transcript(Path(path), path, _refuse)


def _refuse(skipped: Skipped) -> None:
    raise LabelError(f"{skipped.path}:{skipped.line}: {skipped.message}")


def _rows(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in _source(path).rows():
        where = f"{path}:{row.line}"
        if not isinstance(row.value, dict):
            raise LabelError(f"{where}: a label is an object with path, id, loop and evident_at")
        yield where, row.value


def _label(row: dict[str, Any], where: str) -> Label:
    path, identity, loop, evident = (row.get(k) for k in ("path", "id", "loop", "evident_at"))
    if not (isinstance(path, str) and isinstance(identity, str) and isinstance(loop, bool)):
        raise LabelError(f"{where}: a label needs path and id (text) and loop (true or false)")
    if evident is not None and (type(evident) is not int or evident < 0):
        raise LabelError(f"{where}: evident_at is the index of a call, from 0, or null")
    return Label(
        path=path,
        id=identity,
        loop=loop,
        evident_at=evident,
        confidence=str(row.get("confidence") or ""),
    )
