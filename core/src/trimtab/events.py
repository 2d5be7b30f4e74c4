"""The records of a session, and how they are written as JSON."""

from trimtab._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_events.guidance": "GuidanceDelivered GuidanceSuppressed StopRequested",
        "_events.provenance": "Provenance ProviderKind",
        "_events.providers": (
            "CompletionChecked CompletionStatus Feedback FeedbackSuppressed ObserverFaulted "
            "ProviderEvent ProviderFaulted ProviderQuarantined ProviderSkipped ProviderSlow"
        ),
        "_events.questions": "CompletionAsked FeedbackAsked GuidanceAsked PromptRendered Question",
        "_events.run": (
            "CallOrigin CompactionHappened Event Evidence ModelResponded ResultDigest "
            "RunClosed RunOpened ToolInvoked ToolStarted UserMessage"
        ),
        "_run.snapshot": "installed_record_type RECORD_TYPES",
        "_session.codec": "record_converter structure_problems",
        "_session.values": "decode_value encode_value",
        "_types.plan": "in_namespace is_done Plan",
    },
)
