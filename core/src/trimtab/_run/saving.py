"""Sessions as JSON text, to be read back by `trimtab._run.snapshot`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from trimtab._events.run import ToolInvoked
from trimtab._session.codec import record_converter
from trimtab._session.retention import FACTS, HEAD, ToolLog
from trimtab._session.saved import SavedRun
from trimtab._session.slices import Slice
from trimtab._session.values import encode_value
from trimtab._types.errors import SnapshotError
from trimtab._types.text import describe_error
from trimtab._types.values import reduced

VERSION = 4
"""Of the form of a snapshot; raised when older code could not read it."""


def dump(
    keep: int | None,
    slices: Mapping[type[Any], Slice[Any]],
    runs: Iterable[SavedRun],
    current: Mapping[str, str],
) -> str:
    """Return the JSON text of a session.

    Args:
        keep: the session's `keep`.
        slices: copies that nobody changes any more.
        runs: the runs.
        current: the run that is current, by prompt name.

    Raises:
        SnapshotError: two types of records share a name, or records of a type can't be written.
    """
    write_run = _writer_of(SavedRun)
    return _object(
        {
            "version": _text(VERSION),
            "keep": _text(keep),
            "slices": _object(_dumped(slices)),
            "runs": _text([write_run(run) for run in runs]),
            "current": _text(dict(current)),
        }
    )


def _object(fields: Mapping[str, str]) -> str:
    """Return the object whose fields hold these JSON texts."""
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in fields.items()) + "}"


def _text(value: Any) -> str:
    # `default` takes what a record holds against its own annotations.
    return json.dumps(value, default=encode_value, allow_nan=False)


def _writer_of(kind: type[Any]) -> Any:
    return record_converter(strict=True, short=True).get_unstructure_hook(kind)


def _dumped(slices: Mapping[type[Any], Slice[Any]]) -> dict[str, str]:
    dumped: dict[str, str] = {}
    for kind, records in slices.items():
        name = kind.__name__
        if name in dumped:
            raise SnapshotError(f"two types of records are called {name!r}; rename one")
        try:
            if isinstance(records, ToolLog) and len(records):
                dumped[name] = _dumped_calls(records)
            elif len(records) or records.dropped:
                write = _writer_of(kind)
                items = [write(item) for item in records.all()]
                dumped[name] = _text({"items": items, "dropped": records.dropped})
        except Exception as error:
            raise SnapshotError(
                f"records of type {name!r} can't be saved: {describe_error(error)}"
            ) from error
    return dumped


def _dumped_calls(log: ToolLog) -> str:
    """Return the calls of a session; old ones as they are packed, for there may be 100,000."""
    heads, batches, recent = log.parted()
    write = _writer_of(ToolInvoked)
    dumped = {"items": _text([write(call) for call in recent]), "dropped": "0"}
    # Encoded one by one: all the rows at once would take a third more time, and much memory.
    rows = ", ".join([_rows(batch)[1:-1] for batch in batches])
    if rows:
        facts = {"head": _text(HEAD), "facts": _text(FACTS), "heads": _text(heads)}
        dumped["old"] = _object({**facts, "rows": f"[{rows}]"})
    return _object(dumped)


def _rows(batch: list[Any]) -> str:
    try:
        return _text(batch)
    except ValueError:  # a record holds a number that is not finite
        return _text([(head, [_finite(fact) for fact in facts]) for head, facts in batch])


def _finite(fact: Any) -> Any:
    return None if type(fact) is float and not isfinite(fact) else reduced(fact)
