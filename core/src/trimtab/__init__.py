"""trimtab keeps long-running LLM agents on course with small nudges.

Every public name is importable from here and is loaded when it is first used. Type checkers
read the same names from ``__init__.pyi``.
"""

from trimtab._lazy import lazy_names
from trimtab._version import __version__ as __version__

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_contract.context": (
            "FeedbackContext GuidanceContext RecorderContext RunContext TaskCompletionContext"
        ),
        "_contract.hookspecs": "hookimpl",
        "_contract.providers": (
            "CompositeChecker FeedbackProvider GuidanceProvider Recorder RunRecording "
            "TaskCompletionChecker"
        ),
        "_contract.tools": "RenderedPrompt Tool ToolContext ToolResult",
        "_contract.hosts": "Host",
        "_events.guidance": (
            "ClassificationResult format_guidance GuidanceDelivered GuidanceInjection "
            "NOT_RELEVANT Proposal"
        ),
        "_events.provenance": "DecisionPoint Delivery enable ProviderRef",
        "_events.providers": "Feedback Observation",
        "_events.run": "Event Outcome ToolCall ToolInvoked",
        "_functions": "check_completion collect_feedback collect_guidance",
        "_hosting.adapter": "Adapter PromptResponse",
        "_hosting.executor": "ToolExecutor",
        "_plugins.config_tables": "Configuration",
        "_plugins.configuration": "find_configuration load_configuration",
        "_policy.completion": "TaskCompletionResult",
        "_policy.guidance": "Episode",
        "_policy.settings": (
            "CompletionCheckerConfig FeedbackProviderConfig FeedbackTrigger "
            "GuidanceProviderConfig RecorderConfig"
        ),
        "_prompt.sections": "MarkdownSection",
        "_prompt.template": "Prompt PromptTemplate",
        "_run.run": "Run",
        "_run.session": "Session",
        "_session.slices": "Append keep_last Replace Slice",
        "_types.errors": (
            "ConfigurationError PromptError PromptEvaluationError ProviderError ResourceError "
            "SessionError SnapshotError ToolError TrimtabDeprecationWarning TrimtabError"
        ),
        "_types.heartbeat": "Heartbeat",
        "_types.limits": "Budget Clock Deadline SYSTEM_CLOCK SystemClock Usage",
        "_types.options": "number whole_number",
        "_types.plan": "Plan PlannedTool PlanStep",
        "_types.profiles": "ToolProfile",
        "_types.resources": "Filesystem Resources RootedFilesystem",
    },
)
