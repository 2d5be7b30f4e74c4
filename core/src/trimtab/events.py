"""The records of a session, and how they are written as JSON."""

from trimtab._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_boundary": "CAUSE",
        "_events": (
            "CallOrigin CompactionHappened Event Evidence ModelResponded Provenance "
            "ProviderKind ResultDigest RunClosed RunOpened ToolInvoked ToolStarted "
            "UserMessage"
        ),
        "_events.asked": "CompletionAsked FeedbackAsked GuidanceAsked PromptRendered Question",
        "_events.guidance": (
            "CompletionChecked CompletionStatus Feedback FeedbackSuppressed "
            "GuidanceDelivered GuidanceSuppressed ObserverFaulted ProviderEvent "
            "ProviderFaulted ProviderQuarantined ProviderSkipped ProviderSlow StopRequested"
        ),
        "_run.snapshot": "installed_record_type RECORD_TYPES",
        "_session.codec": "decode_value encode_value record_converter structure_problems",
        "_types.plan": "in_namespace is_done Plan",
    },
)
