"""trimtab keeps long-running LLM agents on course with small nudges.

Every public name is importable from here and is loaded when it is first used. Type checkers
read the same names from ``__init__.pyi``.
"""

from trimtab._lazy import lazy_names
from trimtab._version import __version__ as __version__

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_contract": (
            "FeedbackContext GuidanceContext RecorderContext RunContext TaskCompletionContext"
        ),
        "_contract.hosts": "Host",
        "_contract.providers": (
            "CompositeChecker FeedbackProvider GuidanceProvider hookimpl Recorder RunRecording "
            "TaskCompletionChecker"
        ),
        "_contract.tools": "RenderedPrompt Tool ToolContext ToolResult",
        "_events": "DecisionPoint Delivery Event Outcome ToolCall ToolInvoked",
        "_events.guidance": (
            "ClassificationResult Feedback format_guidance GuidanceDelivered "
            "GuidanceInjection NOT_RELEVANT Observation Proposal"
        ),
        "_hosting.chat": "Adapter PromptResponse",
        "_hosting.executor": "ToolExecutor",
        "_plugins.configuration": "Configuration find_configuration load_configuration",
        "_policy": (
            "CompletionCheckerConfig enable FeedbackProviderConfig FeedbackTrigger "
            "GuidanceProviderConfig ProviderRef RecorderConfig"
        ),
        "_policy.feedback": "TaskCompletionResult",
        "_policy.guidance": "Episode",
        "_prompt": "Prompt PromptTemplate",
        "_prompt.sections": "MarkdownSection",
        "_run.run": "Run",
        "_run.session": "check_completion collect_feedback collect_guidance Session",
        "_session": "Append keep_last Replace Slice",
        "_types.errors": (
            "ConfigurationError PromptError PromptEvaluationError ProviderError "
            "ResourceError SessionError SnapshotError ToolError TrimtabDeprecationWarning "
            "TrimtabError"
        ),
        "_types.limits": (
            "Budget Clock Deadline Heartbeat ManualClock SYSTEM_CLOCK SystemClock Usage"
        ),
        "_types.options": "number whole_number",
        "_types.plan": "Plan PlannedTool PlanStep",
        "_types.resources": "Filesystem Resources RootedFilesystem ToolProfile",
    },
)
