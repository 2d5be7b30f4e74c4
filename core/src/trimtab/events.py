"""The records of a session, and how they are written as JSON."""

from trimtab._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_boundary": "CAUSE",
        "_events": (
            "CallOrigin CompactionHappened CompletionAsked Event Evidence FeedbackAsked "
            "GuidanceAsked ModelResponded PromptRendered Provenance ProviderKind Question "
            "ResultDigest RunClosed RunOpened ToolInvoked ToolStarted UserMessage"
        ),
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
