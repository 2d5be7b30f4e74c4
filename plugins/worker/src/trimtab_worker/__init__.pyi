from trimtab_worker._events import (
    LeaseCapNear as LeaseCapNear,
    LeaseEvent as LeaseEvent,
    LeaseGrantDiffers as LeaseGrantDiffers,
    LeaseLost as LeaseLost,
    LeaseRegained as LeaseRegained,
    LeaseShaky as LeaseShaky,
    MailboxFailed as MailboxFailed,
    MessageAbandoned as MessageAbandoned,
    MessageBuried as MessageBuried,
    MessageDone as MessageDone,
    MessageEvent as MessageEvent,
    MessageFailed as MessageFailed,
    MessageReceived as MessageReceived,
    MessageReturned as MessageReturned,
    Metrics as Metrics,
    SampleScored as SampleScored,
    WorkerCrashed as WorkerCrashed,
    WorkerStuck as WorkerStuck,
)
from trimtab_worker._extender import (
    LeaseExtender as LeaseExtender,
    LeaseFeedback as LeaseFeedback,
)
from trimtab_worker._health import (
    Health as Health,
    Watchdog as Watchdog,
)
from trimtab_worker._keeper import (
    Keeper as Keeper,
)
from trimtab_worker._lease import (
    Lease as Lease,
)
from trimtab_worker._lease_config import (
    DeadLetterPolicy as DeadLetterPolicy,
    EvalLoopConfig as EvalLoopConfig,
    LeaseExtenderConfig as LeaseExtenderConfig,
    LeaseState as LeaseState,
    LoopConfig as LoopConfig,
    MainLoopConfig as MainLoopConfig,
    WorkConfig as WorkConfig,
    calibrate as calibrate,
)
from trimtab_worker._loop import (
    Loop as Loop,
)
from trimtab_worker._loops import (
    EvalLoop as EvalLoop,
    EvalResult as EvalResult,
    MainLoop as MainLoop,
    Prepare as Prepare,
    PromptWork as PromptWork,
    Reply as Reply,
    Sample as Sample,
    Score as Score,
    as_json as as_json,
    failed_reply as failed_reply,
    structure_json as structure_json,
)
from trimtab_worker._mailbox import (
    KEYS_KEPT as KEYS_KEPT,
    Mailbox as Mailbox,
    Message as Message,
)
from trimtab_worker._message import (
    Codec as Codec,
    Envelope as Envelope,
)
from trimtab_worker._pool import (
    ConnectionPool as ConnectionPool,
)
from trimtab_worker._records import (
    LEASE_CLOCK as LEASE_CLOCK,
    CalibrationError as CalibrationError,
    CalibrationWarning as CalibrationWarning,
    Capped as Capped,
    DeadLetter as DeadLetter,
    Delivery as Delivery,
    Extension as Extension,
    Granted as Granted,
    LeaseClock as LeaseClock,
    LoopSummary as LoopSummary,
    Lost as Lost,
    MailboxError as MailboxError,
    MailboxFacts as MailboxFacts,
    MailboxStats as MailboxStats,
    MessageState as MessageState,
    MessageTooLarge as MessageTooLarge,
    ReceiptHandleExpiredError as ReceiptHandleExpiredError,
    StoredMessage as StoredMessage,
    UndecodableMessage as UndecodableMessage,
    Unknown as Unknown,
    WorkerError as WorkerError,
)
from trimtab_worker._setup import (
    WorkerSetup as WorkerSetup,
    open_mailbox as open_mailbox,
    split_queue as split_queue,
)
from trimtab_worker._snapshots import (
    SnapshotStore as SnapshotStore,
    SqliteSnapshots as SqliteSnapshots,
)
from trimtab_worker._sqlite import (
    InMemoryMailbox as InMemoryMailbox,
    SqliteMailbox as SqliteMailbox,
)
from trimtab_worker._work import (
    Attempt as Attempt,
    Work as Work,
)
