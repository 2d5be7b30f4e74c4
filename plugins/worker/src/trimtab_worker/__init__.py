"""Agents that work from queues: leases kept by proof of work, mailboxes, loops."""

from trimtab_worker._attempt import Attempt
from trimtab_worker._calibration import calibrate
from trimtab_worker._clock import LEASE_CLOCK, LeaseClock
from trimtab_worker._codec import Codec, Envelope
from trimtab_worker._config import (
    DeadLetterPolicy,
    EvalLoopConfig,
    LoopConfig,
    MainLoopConfig,
    WorkConfig,
)
from trimtab_worker._errors import (
    CalibrationError,
    CalibrationWarning,
    MailboxError,
    MessageTooLarge,
    ReceiptHandleExpiredError,
    UndecodableMessage,
    WorkerError,
)
from trimtab_worker._evaluation import EvalLoop, EvalResult, Sample, Score
from trimtab_worker._events import (
    LeaseCapNear,
    LeaseEvent,
    LeaseGrantDiffers,
    LeaseLost,
    LeaseRegained,
    LeaseShaky,
    MailboxFailed,
    MessageAbandoned,
    MessageBuried,
    MessageDone,
    MessageEvent,
    MessageFailed,
    MessageReceived,
    MessageReturned,
    SampleScored,
    WorkerCrashed,
    WorkerStuck,
)
from trimtab_worker._extender import LeaseExtender
from trimtab_worker._feedback import LeaseFeedback
from trimtab_worker._health import Health
from trimtab_worker._keeper import Keeper
from trimtab_worker._lease import Lease
from trimtab_worker._lease_config import LeaseExtenderConfig, LeaseState
from trimtab_worker._loop import Loop
from trimtab_worker._mailbox import KEYS_KEPT, BaseMailbox
from trimtab_worker._main import MainLoop
from trimtab_worker._memory import InMemoryMailbox
from trimtab_worker._message import Mailbox, Message
from trimtab_worker._metrics import Metrics
from trimtab_worker._pool import ConnectionPool
from trimtab_worker._prompt_work import (
    Prepare,
    PromptWork,
    Reply,
    as_json,
    failed_reply,
    structure_json,
)
from trimtab_worker._records import (
    Capped,
    DeadLetter,
    Delivery,
    Extension,
    Granted,
    Lost,
    MailboxFacts,
    MailboxStats,
    MessageState,
    StoredMessage,
    Unknown,
)
from trimtab_worker._setup import WorkerSetup
from trimtab_worker._snapshots import SnapshotStore, SqliteSnapshots
from trimtab_worker._sqlite import SqliteMailbox
from trimtab_worker._summary import LoopSummary
from trimtab_worker._urls import open_mailbox, split_queue
from trimtab_worker._watchdog import Watchdog
from trimtab_worker._work import Work

__all__ = [
    "KEYS_KEPT",
    "LEASE_CLOCK",
    "Attempt",
    "BaseMailbox",
    "CalibrationError",
    "CalibrationWarning",
    "Capped",
    "Codec",
    "ConnectionPool",
    "DeadLetter",
    "DeadLetterPolicy",
    "Delivery",
    "Envelope",
    "EvalLoop",
    "EvalLoopConfig",
    "EvalResult",
    "Extension",
    "Granted",
    "Health",
    "InMemoryMailbox",
    "Keeper",
    "Lease",
    "LeaseCapNear",
    "LeaseClock",
    "LeaseEvent",
    "LeaseExtender",
    "LeaseExtenderConfig",
    "LeaseFeedback",
    "LeaseGrantDiffers",
    "LeaseLost",
    "LeaseRegained",
    "LeaseShaky",
    "LeaseState",
    "Loop",
    "LoopConfig",
    "LoopSummary",
    "Lost",
    "Mailbox",
    "MailboxError",
    "MailboxFacts",
    "MailboxFailed",
    "MailboxStats",
    "MainLoop",
    "MainLoopConfig",
    "Message",
    "MessageAbandoned",
    "MessageBuried",
    "MessageDone",
    "MessageEvent",
    "MessageFailed",
    "MessageReceived",
    "MessageReturned",
    "MessageState",
    "MessageTooLarge",
    "Metrics",
    "Prepare",
    "PromptWork",
    "ReceiptHandleExpiredError",
    "Reply",
    "Sample",
    "SampleScored",
    "Score",
    "SnapshotStore",
    "SqliteMailbox",
    "SqliteSnapshots",
    "StoredMessage",
    "UndecodableMessage",
    "Unknown",
    "Watchdog",
    "Work",
    "WorkConfig",
    "WorkerCrashed",
    "WorkerError",
    "WorkerSetup",
    "WorkerStuck",
    "as_json",
    "calibrate",
    "failed_reply",
    "open_mailbox",
    "split_queue",
    "structure_json",
]
