from trimtab._contract import (
    FeedbackContext as FeedbackContext,
    GuidanceContext as GuidanceContext,
    RecorderContext as RecorderContext,
    RunContext as RunContext,
    TaskCompletionContext as TaskCompletionContext,
)
from trimtab._contract.hosts import (
    Host as Host,
)
from trimtab._contract.providers import (
    CompositeChecker as CompositeChecker,
    FeedbackProvider as FeedbackProvider,
    GuidanceProvider as GuidanceProvider,
    Recorder as Recorder,
    RunRecording as RunRecording,
    TaskCompletionChecker as TaskCompletionChecker,
    hookimpl as hookimpl,
)
from trimtab._contract.tools import (
    RenderedPrompt as RenderedPrompt,
    Tool as Tool,
    ToolContext as ToolContext,
    ToolResult as ToolResult,
)
from trimtab._events import (
    DecisionPoint as DecisionPoint,
    Delivery as Delivery,
    Event as Event,
    Outcome as Outcome,
    ToolCall as ToolCall,
    ToolInvoked as ToolInvoked,
)
from trimtab._events.guidance import (
    NOT_RELEVANT as NOT_RELEVANT,
    ClassificationResult as ClassificationResult,
    Feedback as Feedback,
    GuidanceDelivered as GuidanceDelivered,
    GuidanceInjection as GuidanceInjection,
    Observation as Observation,
    Proposal as Proposal,
    format_guidance as format_guidance,
)
from trimtab._hosting.chat import (
    Adapter as Adapter,
    PromptResponse as PromptResponse,
)
from trimtab._hosting.executor import (
    ToolExecutor as ToolExecutor,
)
from trimtab._plugins.configuration import (
    Configuration as Configuration,
    find_configuration as find_configuration,
    load_configuration as load_configuration,
)
from trimtab._policy import (
    CompletionCheckerConfig as CompletionCheckerConfig,
    FeedbackProviderConfig as FeedbackProviderConfig,
    FeedbackTrigger as FeedbackTrigger,
    GuidanceProviderConfig as GuidanceProviderConfig,
    ProviderRef as ProviderRef,
    RecorderConfig as RecorderConfig,
    enable as enable,
)
from trimtab._policy.feedback import (
    TaskCompletionResult as TaskCompletionResult,
)
from trimtab._policy.guidance import (
    Episode as Episode,
)
from trimtab._prompt import (
    Prompt as Prompt,
    PromptTemplate as PromptTemplate,
)
from trimtab._prompt.sections import (
    MarkdownSection as MarkdownSection,
)
from trimtab._run.run import (
    Run as Run,
)
from trimtab._run.session import (
    Session as Session,
    check_completion as check_completion,
    collect_feedback as collect_feedback,
    collect_guidance as collect_guidance,
)
from trimtab._session import (
    Append as Append,
    Replace as Replace,
    Slice as Slice,
    keep_last as keep_last,
)
from trimtab._types.errors import (
    ConfigurationError as ConfigurationError,
    PromptError as PromptError,
    PromptEvaluationError as PromptEvaluationError,
    ProviderError as ProviderError,
    ResourceError as ResourceError,
    SessionError as SessionError,
    SnapshotError as SnapshotError,
    ToolError as ToolError,
    TrimtabDeprecationWarning as TrimtabDeprecationWarning,
    TrimtabError as TrimtabError,
)
from trimtab._types.limits import (
    SYSTEM_CLOCK as SYSTEM_CLOCK,
    Budget as Budget,
    Clock as Clock,
    Deadline as Deadline,
    Heartbeat as Heartbeat,
    ManualClock as ManualClock,
    SystemClock as SystemClock,
    Usage as Usage,
)
from trimtab._types.options import (
    number as number,
    whole_number as whole_number,
)
from trimtab._types.plan import (
    Plan as Plan,
    PlannedTool as PlannedTool,
    PlanStep as PlanStep,
)
from trimtab._types.resources import (
    Filesystem as Filesystem,
    Resources as Resources,
    RootedFilesystem as RootedFilesystem,
    ToolProfile as ToolProfile,
)
from trimtab._version import __version__ as __version__
