"""Replays recorded agent runs through trimtab's providers and shows which would have spoken.

Everything public is importable from here, and imported when it is first used. What is known about
the tools of common agents is in `trimtab_signals.agents`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab_replay._assembler import Assembler as Assembler, CallResult as CallResult
    from trimtab_replay._corpus import Corpus as Corpus, Found as Found, find as find
    from trimtab_replay._driver import replay as replay
    from trimtab_replay._file import (
        Job as Job,
        ReadStats as ReadStats,
        replay_all as replay_all,
        replay_file as replay_file,
    )
    from trimtab_replay._recording import (
        Idle as Idle,
        RecordedItem as RecordedItem,
        Recording as Recording,
        ReplayError as ReplayError,
        RunBoundary as RunBoundary,
        RunEnd as RunEnd,
        Said as Said,
        StopRequest as StopRequest,
        TranscriptReader as TranscriptReader,
        Unknown as Unknown,
    )
    from trimtab_replay._results import (
        CallView as CallView,
        Decision as Decision,
        Note as Note,
        Replayed as Replayed,
    )
    from trimtab_replay._selection import (
        Prompts as Prompts,
        Selection as Selection,
        SelectionError as SelectionError,
        configured as configured,
        enabled as enabled,
        everything as everything,
    )
    from trimtab_replay._transcript import (
        Row as Row,
        Skipped as Skipped,
        Transcript as Transcript,
    )

_HOMES = {
    "Assembler": "_assembler",
    "CallResult": "_assembler",
    "CallView": "_results",
    "Corpus": "_corpus",
    "Decision": "_results",
    "Found": "_corpus",
    "Idle": "_recording",
    "Job": "_file",
    "Note": "_results",
    "Prompts": "_selection",
    "ReadStats": "_file",
    "RecordedItem": "_recording",
    "Recording": "_recording",
    "ReplayError": "_recording",
    "Replayed": "_results",
    "Row": "_transcript",
    "Said": "_recording",
    "RunBoundary": "_recording",
    "RunEnd": "_recording",
    "Selection": "_selection",
    "SelectionError": "_selection",
    "Skipped": "_transcript",
    "StopRequest": "_recording",
    "Transcript": "_transcript",
    "TranscriptReader": "_recording",
    "Unknown": "_recording",
    "configured": "_selection",
    "enabled": "_selection",
    "everything": "_selection",
    "find": "_corpus",
    "replay": "_driver",
    "replay_all": "_file",
    "replay_file": "_file",
}
__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
