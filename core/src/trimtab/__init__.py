"""trimtab keeps long-running LLM agents on course with small nudges.

Everything public is importable from here; a name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab.completion.composite import (
        CompositeChecker as CompositeChecker,
    )
    from trimtab.completion.engine import (
        check_completion as check_completion,
    )
    from trimtab.completion.events import (
        CompletionChecked as CompletionChecked,
        CompletionStatus as CompletionStatus,
    )
    from trimtab.completion.types import (
        TaskCompletionChecker as TaskCompletionChecker,
        TaskCompletionContext as TaskCompletionContext,
        TaskCompletionResult as TaskCompletionResult,
    )
    from trimtab.errors import (
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
    from trimtab.feedback.engine import (
        collect_feedback as collect_feedback,
    )
    from trimtab.feedback.events import (
        Feedback as Feedback,
        Observation as Observation,
    )
    from trimtab.feedback.types import (
        FeedbackContext as FeedbackContext,
        FeedbackProvider as FeedbackProvider,
        FeedbackTrigger as FeedbackTrigger,
    )
    from trimtab.guidance.engine import (
        GuidanceBatch as GuidanceBatch,
        collect_guidance as collect_guidance,
    )
    from trimtab.guidance.episodes import (
        Episode as Episode,
    )
    from trimtab.guidance.rendering import (
        format_guidance as format_guidance,
    )
    from trimtab.guidance.types import (
        NOT_RELEVANT as NOT_RELEVANT,
        ClassificationResult as ClassificationResult,
        GuidanceContext as GuidanceContext,
        GuidanceDelivered as GuidanceDelivered,
        GuidanceInjection as GuidanceInjection,
        GuidanceProvider as GuidanceProvider,
        GuidanceSuppressed as GuidanceSuppressed,
        Proposal as Proposal,
    )
    from trimtab.hookspecs import (
        hookimpl as hookimpl,
        hookspec as hookspec,
    )
    from trimtab.planning.plan import (
        Plan as Plan,
        PlanStep as PlanStep,
        is_done as is_done,
    )
    from trimtab.plugins.config import (
        Configuration as Configuration,
        load_configuration as load_configuration,
    )
    from trimtab.plugins.events import (
        ProviderEvent as ProviderEvent,
        ProviderFaulted as ProviderFaulted,
        ProviderQuarantined as ProviderQuarantined,
        ProviderSkipped as ProviderSkipped,
        ProviderSlow as ProviderSlow,
    )
    from trimtab.plugins.finding import (
        find_configuration as find_configuration,
    )
    from trimtab.plugins.settings import (
        CompletionCheckerConfig as CompletionCheckerConfig,
        FeedbackProviderConfig as FeedbackProviderConfig,
        GuidanceProviderConfig as GuidanceProviderConfig,
    )
    from trimtab.plugins.source import (
        Kind as Kind,
        ProviderRef as ProviderRef,
        Source as Source,
        enable as enable,
    )
    from trimtab.prompt.rendering import (
        RenderedPrompt as RenderedPrompt,
    )
    from trimtab.prompt.sections import (
        MarkdownSection as MarkdownSection,
    )
    from trimtab.prompt.template import (
        Prompt as Prompt,
        PromptTemplate as PromptTemplate,
    )
    from trimtab.runtime.adapter import (
        Adapter as Adapter,
        PromptResponse as PromptResponse,
    )
    from trimtab.runtime.budget import (
        Budget as Budget,
        Usage as Usage,
    )
    from trimtab.runtime.clock import (
        SYSTEM_CLOCK as SYSTEM_CLOCK,
        Clock as Clock,
        ManualClock as ManualClock,
        SystemClock as SystemClock,
    )
    from trimtab.runtime.deadline import (
        Deadline as Deadline,
    )
    from trimtab.runtime.executor import (
        ToolAnswer as ToolAnswer,
        ToolExecutor as ToolExecutor,
    )
    from trimtab.runtime.filesystem import (
        Filesystem as Filesystem,
        RootedFilesystem as RootedFilesystem,
    )
    from trimtab.runtime.heartbeat import (
        Heartbeat as Heartbeat,
    )
    from trimtab.runtime.host import (
        LOCAL_HOST as LOCAL_HOST,
        DecisionPoint as DecisionPoint,
        Delivery as Delivery,
        Host as Host,
    )
    from trimtab.runtime.resources import (
        Resources as Resources,
    )
    from trimtab.runtime.schema import (
        json_schema as json_schema,
    )
    from trimtab.runtime.tools import (
        Tool as Tool,
        ToolContext as ToolContext,
        ToolResult as ToolResult,
    )
    from trimtab.session.context import (
        RunContext as RunContext,
    )
    from trimtab.session.events import (
        Caller as Caller,
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
    from trimtab.session.run import (
        Run as Run,
    )
    from trimtab.session.session import (
        ObserverFaulted as ObserverFaulted,
        Session as Session,
    )
    from trimtab.session.slices import (
        Append as Append,
        Replace as Replace,
        Slice as Slice,
        append_all as append_all,
        keep_last as keep_last,
        replace_latest as replace_latest,
        upsert_by as upsert_by,
    )
    from trimtab.text import (
        escape as escape,
        quote as quote,
        shorten as shorten,
    )
    from trimtab.trajectory import (
        Projection as Projection,
        ToolProfile as ToolProfile,
        ToolProfiles as ToolProfiles,
        Trajectory as Trajectory,
    )

__version__ = "0.1.0"

_HOMES = {
    "Adapter": "runtime.adapter",
    "AmbiguousProvider": "errors",
    "Append": "session.slices",
    "append_all": "session.slices",
    "Budget": "runtime.budget",
    "Caller": "session.events",
    "check_completion": "completion.engine",
    "ClassificationResult": "guidance.types",
    "Clock": "runtime.clock",
    "collect_feedback": "feedback.engine",
    "collect_guidance": "guidance.engine",
    "CompactionHappened": "session.events",
    "CompletionChecked": "completion.events",
    "CompletionCheckerConfig": "plugins.settings",
    "CompletionStatus": "completion.events",
    "CompositeChecker": "completion.composite",
    "Configuration": "plugins.config",
    "ConfigurationError": "errors",
    "Deadline": "runtime.deadline",
    "DecisionPoint": "runtime.host",
    "Delivery": "runtime.host",
    "enable": "plugins.source",
    "Episode": "guidance.episodes",
    "escape": "text",
    "Event": "session.events",
    "Evidence": "session.events",
    "Feedback": "feedback.events",
    "FeedbackContext": "feedback.types",
    "FeedbackProvider": "feedback.types",
    "FeedbackProviderConfig": "plugins.settings",
    "FeedbackTrigger": "feedback.types",
    "Filesystem": "runtime.filesystem",
    "find_configuration": "plugins.finding",
    "format_guidance": "guidance.rendering",
    "GuidanceBatch": "guidance.engine",
    "GuidanceContext": "guidance.types",
    "GuidanceDelivered": "guidance.types",
    "GuidanceInjection": "guidance.types",
    "GuidanceProvider": "guidance.types",
    "GuidanceProviderConfig": "plugins.settings",
    "GuidanceSuppressed": "guidance.types",
    "Heartbeat": "runtime.heartbeat",
    "hookimpl": "hookspecs",
    "hookspec": "hookspecs",
    "Host": "runtime.host",
    "IncompatibleProvider": "errors",
    "is_done": "planning.plan",
    "json_schema": "runtime.schema",
    "keep_last": "session.slices",
    "Kind": "plugins.source",
    "load_configuration": "plugins.config",
    "LOCAL_HOST": "runtime.host",
    "ManualClock": "runtime.clock",
    "MarkdownSection": "prompt.sections",
    "ModelResponded": "session.events",
    "NOT_RELEVANT": "guidance.types",
    "Observation": "feedback.events",
    "ObserverFaulted": "session.session",
    "Outcome": "session.events",
    "Plan": "planning.plan",
    "PlanStep": "planning.plan",
    "Projection": "trajectory",
    "Prompt": "prompt.template",
    "PromptError": "errors",
    "PromptEvaluationError": "errors",
    "PromptResponse": "runtime.adapter",
    "PromptTemplate": "prompt.template",
    "Proposal": "guidance.types",
    "ProviderError": "errors",
    "ProviderEvent": "plugins.events",
    "ProviderFaulted": "plugins.events",
    "ProviderInvalid": "errors",
    "ProviderLoadError": "errors",
    "ProviderNotAllowed": "errors",
    "ProviderOptionsError": "errors",
    "ProviderQuarantined": "plugins.events",
    "ProviderRef": "plugins.source",
    "ProviderSkipped": "plugins.events",
    "ProviderSlow": "plugins.events",
    "quote": "text",
    "RenderedPrompt": "prompt.rendering",
    "Replace": "session.slices",
    "replace_latest": "session.slices",
    "ResourceError": "errors",
    "Resources": "runtime.resources",
    "ResultDigest": "session.events",
    "RootedFilesystem": "runtime.filesystem",
    "Run": "session.run",
    "RunClosed": "session.events",
    "RunContext": "session.context",
    "RunOpened": "session.events",
    "Session": "session.session",
    "SessionError": "errors",
    "shorten": "text",
    "Slice": "session.slices",
    "SnapshotError": "errors",
    "Source": "plugins.source",
    "SYSTEM_CLOCK": "runtime.clock",
    "SystemClock": "runtime.clock",
    "TaskCompletionChecker": "completion.types",
    "TaskCompletionContext": "completion.types",
    "TaskCompletionResult": "completion.types",
    "Tool": "runtime.tools",
    "ToolAnswer": "runtime.executor",
    "ToolCall": "session.events",
    "ToolContext": "runtime.tools",
    "ToolError": "errors",
    "ToolExecutor": "runtime.executor",
    "ToolInvoked": "session.events",
    "ToolProfile": "trajectory",
    "ToolProfiles": "trajectory",
    "ToolResult": "runtime.tools",
    "ToolStarted": "session.events",
    "Trajectory": "trajectory",
    "TrimtabError": "errors",
    "UnknownProvider": "errors",
    "upsert_by": "session.slices",
    "Usage": "runtime.budget",
    "UserMessage": "session.events",
}
__all__ = ["__version__", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
