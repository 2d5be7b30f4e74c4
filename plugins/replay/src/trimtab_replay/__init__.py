"""Replays recorded agent runs through trimtab's providers and shows which would have spoken.

Everything public is importable from here, and imported when it is first used; type checkers read
the names from ``__init__.pyi``. What is known about the tools of common agents is in
`trimtab_signals.agents`.
"""

from trimtab.inspection import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_assembler": "Assembler CallResult",
        "_corpus": "Corpus find Found",
        "_driver": "replay",
        "_file": "Job ReadStats replay_all replay_file",
        "_recording": (
            "Idle RecordedItem Recording ReplayError RunBoundary RunEnd Said StopRequest "
            "TranscriptReader Unknown"
        ),
        "_results": "CallView Decision Note Replayed",
        "_selection": "configured enabled everything Prompts Selection SelectionError",
        "_transcript": "Row Skipped Transcript",
    },
)
