"""Typed event traces of agent runs: stores, verification, deterministic replay, exports.

A name is imported when it is first used. Type checkers read the names from ``__init__.pyi``.
"""

from trimtab.inspection import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_envelope": (
            "Damage EventInvalid References TraceBusy TraceDamaged TraceError TraceEvent "
            "TraceWriteError UnknownEvent"
        ),
        "_export": "cloudevents",
        "_export._atif": "atif",
        "_export._otel": "export_spans Spans",
        "_export._otlp": "OtelRecorder",
        "_host_table": "HostTable",
        "_journal": (
            "GuidanceStopped journal_folder JournalFull JournalOpened journals_of "
            "JournalSettings read_redact remove_old_journals ResponseMeasured"
        ),
        "_journal.recorder": "Journal new_stem SessionJournal",
        "_recorder": "JsonlTrace Recording SessionTrace SqliteTrace",
        "_replay": "Difference replay Replayed",
        "_secrets": "bounded LONGEST_TEXT Redaction redactor",
        "_session": "session_at session_of",
        "_settings": "RunConfigured",
        "_sqlite": "SqliteStore traces_in",
        "_store": "JsonlStore open_trace Trace TraceStore",
        "_supervision": "Call CallBoard last_call SetAside",
        "_types": "EVENT_TYPES EventType EventTypes",
        "_writer": "InProcessEventBus Report TraceWriter verify",
    },
)
