from trimtab_trace._envelope import (
    Damage as Damage,
    EventInvalid as EventInvalid,
    References as References,
    TraceBusy as TraceBusy,
    TraceDamaged as TraceDamaged,
    TraceError as TraceError,
    TraceEvent as TraceEvent,
    TraceWriteError as TraceWriteError,
    UnknownEvent as UnknownEvent,
)
from trimtab_trace._export import (
    cloudevents as cloudevents,
)
from trimtab_trace._export._atif import (
    atif as atif,
)
from trimtab_trace._export._otel import (
    Spans as Spans,
    export_spans as export_spans,
)
from trimtab_trace._export._otlp import (
    OtelRecorder as OtelRecorder,
)
from trimtab_trace._host_table import (
    HostTable as HostTable,
)
from trimtab_trace._journal import (
    GuidanceStopped as GuidanceStopped,
    JournalFull as JournalFull,
    JournalOpened as JournalOpened,
    JournalSettings as JournalSettings,
    ResponseMeasured as ResponseMeasured,
    journal_folder as journal_folder,
    journals_of as journals_of,
    read_redact as read_redact,
    remove_old_journals as remove_old_journals,
)
from trimtab_trace._journal.recorder import (
    Journal as Journal,
    SessionJournal as SessionJournal,
    new_stem as new_stem,
)
from trimtab_trace._recorder import (
    JsonlTrace as JsonlTrace,
    Recording as Recording,
    SessionTrace as SessionTrace,
    SqliteTrace as SqliteTrace,
)
from trimtab_trace._replay import (
    Difference as Difference,
    Replayed as Replayed,
    replay as replay,
)
from trimtab_trace._secrets import (
    LONGEST_TEXT as LONGEST_TEXT,
    Redaction as Redaction,
    bounded as bounded,
    redactor as redactor,
)
from trimtab_trace._session import (
    session_at as session_at,
    session_of as session_of,
)
from trimtab_trace._settings import (
    RunConfigured as RunConfigured,
)
from trimtab_trace._sqlite import (
    SqliteStore as SqliteStore,
    traces_in as traces_in,
)
from trimtab_trace._store import (
    JsonlStore as JsonlStore,
    Trace as Trace,
    TraceStore as TraceStore,
    open_trace as open_trace,
)
from trimtab_trace._supervision import (
    Call as Call,
    CallBoard as CallBoard,
    SetAside as SetAside,
    last_call as last_call,
)
from trimtab_trace._types import (
    EVENT_TYPES as EVENT_TYPES,
    EventType as EventType,
    EventTypes as EventTypes,
)
from trimtab_trace._writer import (
    InProcessEventBus as InProcessEventBus,
    Report as Report,
    TraceWriter as TraceWriter,
    verify as verify,
)
