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
