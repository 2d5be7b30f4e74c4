from trimtab._boundary import CAUSE as CAUSE
from trimtab._events import (
    CallOrigin as CallOrigin,
    CompactionHappened as CompactionHappened,
    CompletionAsked as CompletionAsked,
    Event as Event,
    Evidence as Evidence,
    FeedbackAsked as FeedbackAsked,
    GuidanceAsked as GuidanceAsked,
    ModelResponded as ModelResponded,
    PromptRendered as PromptRendered,
    Provenance as Provenance,
    ProviderKind as ProviderKind,
    Question as Question,
    ResultDigest as ResultDigest,
    RunClosed as RunClosed,
    RunOpened as RunOpened,
    ToolInvoked as ToolInvoked,
    ToolStarted as ToolStarted,
    UserMessage as UserMessage,
)
from trimtab._events.guidance import (
    CompletionChecked as CompletionChecked,
    CompletionStatus as CompletionStatus,
    Feedback as Feedback,
    FeedbackSuppressed as FeedbackSuppressed,
    GuidanceDelivered as GuidanceDelivered,
    GuidanceSuppressed as GuidanceSuppressed,
    ObserverFaulted as ObserverFaulted,
    ProviderEvent as ProviderEvent,
    ProviderFaulted as ProviderFaulted,
    ProviderQuarantined as ProviderQuarantined,
    ProviderSkipped as ProviderSkipped,
    ProviderSlow as ProviderSlow,
    StopRequested as StopRequested,
)
from trimtab._run.snapshot import (
    RECORD_TYPES as RECORD_TYPES,
    installed_record_type as installed_record_type,
)
from trimtab._session.codec import (
    decode_value as decode_value,
    encode_value as encode_value,
    record_converter as record_converter,
    structure_problems as structure_problems,
)
from trimtab._types.plan import (
    Plan as Plan,
    in_namespace as in_namespace,
    is_done as is_done,
)
