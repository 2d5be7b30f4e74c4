from trimtab._contract.composite import (
    CompositeChecker as CompositeChecker,
)
from trimtab._contract.context import (
    FeedbackContext as FeedbackContext,
    GuidanceContext as GuidanceContext,
    RecorderContext as RecorderContext,
    RunContext as RunContext,
    TaskCompletionContext as TaskCompletionContext,
)
from trimtab._contract.hookspecs import (
    hookimpl as hookimpl,
    hookspec as hookspec,
)
from trimtab._contract.providers import (
    FeedbackProvider as FeedbackProvider,
    GuidanceProvider as GuidanceProvider,
    Recorder as Recorder,
    RunRecording as RunRecording,
    TaskCompletionChecker as TaskCompletionChecker,
)
from trimtab._contract.tools import (
    RenderedPrompt as RenderedPrompt,
    Tool as Tool,
    ToolContext as ToolContext,
    ToolResult as ToolResult,
)
from trimtab._contract.view import (
    LOCAL_HOST as LOCAL_HOST,
    Host as Host,
)
from trimtab._events.guidance import (
    NOT_RELEVANT as NOT_RELEVANT,
    ClassificationResult as ClassificationResult,
    GuidanceDelivered as GuidanceDelivered,
    GuidanceInjection as GuidanceInjection,
    GuidanceSuppressed as GuidanceSuppressed,
    Proposal as Proposal,
    format_guidance as format_guidance,
)
from trimtab._events.provenance import (
    DecisionPoint as DecisionPoint,
    Delivery as Delivery,
    Provenance as Provenance,
    ProviderKind as ProviderKind,
    ProviderRef as ProviderRef,
    enable as enable,
)
from trimtab._events.providers import (
    CompletionChecked as CompletionChecked,
    CompletionStatus as CompletionStatus,
    Feedback as Feedback,
    FeedbackSuppressed as FeedbackSuppressed,
    Observation as Observation,
    ObserverFaulted as ObserverFaulted,
    ProviderEvent as ProviderEvent,
    ProviderFaulted as ProviderFaulted,
    ProviderQuarantined as ProviderQuarantined,
    ProviderSkipped as ProviderSkipped,
    ProviderSlow as ProviderSlow,
)
from trimtab._events.questions import (
    CompletionAsked as CompletionAsked,
    FeedbackAsked as FeedbackAsked,
    GuidanceAsked as GuidanceAsked,
    PromptRendered as PromptRendered,
    Question as Question,
)
from trimtab._events.run import (
    CallOrigin as CallOrigin,
    CompactionHappened as CompactionHappened,
    Event as Event,
    Evidence as Evidence,
    ModelResponded as ModelResponded,
    Outcome as Outcome,
    ResultDigest as ResultDigest,
    RunClosed as RunClosed,
    RunOpened as RunOpened,
    ToolCall as ToolCall,
    ToolInvoked as ToolInvoked,
    ToolStarted as ToolStarted,
    UserMessage as UserMessage,
)
from trimtab._functions import (
    check_completion as check_completion,
    collect_feedback as collect_feedback,
    collect_guidance as collect_guidance,
)
from trimtab._hosting.adapter import (
    Adapter as Adapter,
    PromptResponse as PromptResponse,
)
from trimtab._hosting.executor import (
    ToolAnswer as ToolAnswer,
    ToolExecutor as ToolExecutor,
)
from trimtab._plugins.config_records import (
    Configuration as Configuration,
)
from trimtab._plugins.configuration import (
    find_configuration as find_configuration,
    load_configuration as load_configuration,
)
from trimtab._policy.completion import (
    TaskCompletionResult as TaskCompletionResult,
)
from trimtab._policy.guidance import (
    Episode as Episode,
)
from trimtab._policy.settings import (
    CompletionCheckerConfig as CompletionCheckerConfig,
    FeedbackProviderConfig as FeedbackProviderConfig,
    FeedbackTrigger as FeedbackTrigger,
    GuidanceProviderConfig as GuidanceProviderConfig,
    ProviderConfig as ProviderConfig,
    RecorderConfig as RecorderConfig,
)
from trimtab._prompt.sections import (
    MarkdownSection as MarkdownSection,
)
from trimtab._prompt.template import (
    Prompt as Prompt,
    PromptTemplate as PromptTemplate,
)
from trimtab._run.batch import (
    GuidanceBatch as GuidanceBatch,
)
from trimtab._run.run import (
    Run as Run,
)
from trimtab._run.session import (
    Session as Session,
)
from trimtab._session.projection import Projection as Projection
from trimtab._session.slices import (
    Append as Append,
    Replace as Replace,
    Slice as Slice,
    append_all as append_all,
    keep_last as keep_last,
    replace_latest as replace_latest,
    upsert_by as upsert_by,
)
from trimtab._session.trajectory import Trajectory as Trajectory
from trimtab._types.errors import (
    AmbiguousProvider as AmbiguousProvider,
    ConfigurationError as ConfigurationError,
    IncompatibleProvider as IncompatibleProvider,
    PromptError as PromptError,
    PromptEvaluationError as PromptEvaluationError,
    ProviderError as ProviderError,
    ProviderInvalid as ProviderInvalid,
    ProviderLoadError as ProviderLoadError,
    ProviderNotAllowed as ProviderNotAllowed,
    ProviderOptionsError as ProviderOptionsError,
    ResourceError as ResourceError,
    SessionError as SessionError,
    SnapshotError as SnapshotError,
    ToolError as ToolError,
    TrimtabError as TrimtabError,
    UnknownProvider as UnknownProvider,
)
from trimtab._types.heartbeat import (
    Heartbeat as Heartbeat,
)
from trimtab._types.limits import (
    SYSTEM_CLOCK as SYSTEM_CLOCK,
    Budget as Budget,
    Clock as Clock,
    Deadline as Deadline,
    ManualClock as ManualClock,
    SystemClock as SystemClock,
    Usage as Usage,
)
from trimtab._types.options import (
    level_texts as level_texts,
    number as number,
    text_option as text_option,
    texts_by_level as texts_by_level,
    whole_number as whole_number,
)
from trimtab._types.plan import (
    Plan as Plan,
    PlannedTool as PlannedTool,
    PlanStep as PlanStep,
    in_namespace as in_namespace,
    is_done as is_done,
)
from trimtab._types.plan_calls import (
    PLAN_TOOLS as PLAN_TOOLS,
    is_plan_tool as is_plan_tool,
    plan_after as plan_after,
)
from trimtab._types.profiles import ToolProfile as ToolProfile
from trimtab._types.resources import (
    Filesystem as Filesystem,
    Resources as Resources,
    RootedFilesystem as RootedFilesystem,
)
from trimtab._types.schema import (
    json_schema as json_schema,
)
from trimtab._types.text import (
    CONTROL_CHARACTERS as CONTROL_CHARACTERS,
    LazyPattern as LazyPattern,
    describe_error as describe_error,
    escape as escape,
    plural as plural,
    quote as quote,
    render_block as render_block,
    sanitize as sanitize,
    shorten as shorten,
)
from trimtab._version import __version__ as __version__
