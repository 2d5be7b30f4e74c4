"""Typed event traces of agent runs: stores, verification, deterministic replay, exports.

A name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab_trace._bus import InProcessEventBus as InProcessEventBus
    from trimtab_trace._envelope import (
        Damage as Damage,
        References as References,
        TraceEvent as TraceEvent,
        UnknownEvent as UnknownEvent,
    )
    from trimtab_trace._errors import (
        EventInvalid as EventInvalid,
        TraceBusy as TraceBusy,
        TraceDamaged as TraceDamaged,
        TraceError as TraceError,
        TraceWriteError as TraceWriteError,
    )
    from trimtab_trace._jsonl import JsonlStore as JsonlStore
    from trimtab_trace._redaction import redactor as redactor
    from trimtab_trace._sqlite import SqliteStore as SqliteStore, traces_in as traces_in
    from trimtab_trace._store import (
        Trace as Trace,
        TraceStore as TraceStore,
        open_trace as open_trace,
    )
    from trimtab_trace._types import (
        EVENT_TYPES as EVENT_TYPES,
        EventType as EventType,
        EventTypes as EventTypes,
    )
    from trimtab_trace._writer import TraceWriter as TraceWriter

_MODULES = {
    "_bus": ("InProcessEventBus",),
    "_envelope": ("Damage", "References", "TraceEvent", "UnknownEvent"),
    "_errors": ("EventInvalid", "TraceBusy", "TraceDamaged", "TraceError", "TraceWriteError"),
    "_jsonl": ("JsonlStore",),
    "_redaction": ("redactor",),
    "_sqlite": ("SqliteStore", "traces_in"),
    "_store": ("Trace", "TraceStore", "open_trace"),
    "_types": ("EVENT_TYPES", "EventType", "EventTypes"),
    "_writer": ("TraceWriter",),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
