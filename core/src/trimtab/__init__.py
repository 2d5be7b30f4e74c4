"""trimtab keeps long-running LLM agents on course with small nudges.

Every public name is importable from here and is loaded when it is first used. Type checkers
read the same names from ``__init__.pyi``.
"""

from trimtab._lazy import lazy_names
from trimtab._version import __version__ as __version__

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_contract.composite": "CompositeChecker",
        "_contract.context": (
            "FeedbackContext GuidanceContext RecorderContext RunContext TaskCompletionContext"
        ),
        "_contract.hookspecs": "hookimpl hookspec",
        "_contract.providers": (
            "FeedbackProvider GuidanceProvider Recorder RunRecording TaskCompletionChecker"
        ),
        "_contract.tools": "RenderedPrompt Tool ToolContext ToolResult",
        "_contract.view": "Host LOCAL_HOST",
        "_events.guidance": (
            "ClassificationResult format_guidance GuidanceDelivered GuidanceInjection "
            "GuidanceSuppressed NOT_RELEVANT Proposal"
        ),
        "_events.provenance": ("DecisionPoint Delivery enable Provenance ProviderKind ProviderRef"),
        "_events.providers": (
            "CompletionChecked CompletionStatus Feedback FeedbackSuppressed Observation "
            "ObserverFaulted ProviderEvent ProviderFaulted ProviderQuarantined ProviderSkipped "
            "ProviderSlow"
        ),
        "_events.questions": (
            "CompletionAsked FeedbackAsked GuidanceAsked PromptRendered Question"
        ),
        "_events.run": (
            "CallOrigin CompactionHappened Event Evidence ModelResponded Outcome ResultDigest "
            "RunClosed RunOpened ToolCall ToolInvoked ToolStarted UserMessage"
        ),
        "_functions": "check_completion collect_feedback collect_guidance",
        "_hosting.adapter": "Adapter PromptResponse",
        "_hosting.executor": "ToolAnswer ToolExecutor",
        "_plugins.config_records": "Configuration",
        "_plugins.configuration": "find_configuration load_configuration",
        "_policy.completion": "TaskCompletionResult",
        "_policy.guidance": "Episode",
        "_policy.settings": (
            "CompletionCheckerConfig FeedbackProviderConfig FeedbackTrigger "
            "GuidanceProviderConfig ProviderConfig RecorderConfig"
        ),
        "_prompt.sections": "MarkdownSection",
        "_prompt.template": "Prompt PromptTemplate",
        "_run.batch": "GuidanceBatch",
        "_run.run": "Run",
        "_run.session": "Session",
        "_session.projection": "Projection",
        "_session.slices": "Append append_all keep_last Replace replace_latest Slice upsert_by",
        "_session.trajectory": "Trajectory",
        "_types.errors": (
            "AmbiguousProvider ConfigurationError IncompatibleProvider PromptError "
            "PromptEvaluationError ProviderError ProviderInvalid ProviderLoadError "
            "ProviderNotAllowed ProviderOptionsError ResourceError SessionError SnapshotError "
            "ToolError TrimtabError UnknownProvider"
        ),
        "_types.heartbeat": "Heartbeat",
        "_types.limits": "Budget Clock Deadline ManualClock SYSTEM_CLOCK SystemClock Usage",
        "_types.options": "level_texts number text_option texts_by_level whole_number",
        "_types.plan": "in_namespace is_done Plan PlannedTool PlanStep",
        "_types.plan_calls": "is_plan_tool plan_after PLAN_TOOLS",
        "_types.profiles": "ToolProfile",
        "_types.resources": "Filesystem Resources RootedFilesystem",
        "_types.schema": "json_schema",
        "_types.text": (
            "CONTROL_CHARACTERS describe_error escape LazyPattern plural quote render_block "
            "sanitize shorten"
        ),
    },
)
