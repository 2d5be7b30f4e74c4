"""For authors of tests: made-up runs, scripted providers, prompts without discovery."""

from trimtab._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_testing.conformance": (
            "CompletionConformance FeedbackConformance GuidanceConformance RecorderConformance"
        ),
        "_testing.host_kit.conformance": "HostConformance",
        "_testing.host_kit.kit": "host_table HostKit Verdict",
        "_testing.host_kit.service": "Ask Says Service",
        "_testing.host_kit.task": "Played Task",
        "_testing.lab": "Lab",
        "_testing.player": "build_trajectory Player ProviderFailed recorded_session",
        "_testing.providers": "Checker Commentator Speaker",
        "_testing.runs": "good_runs odd_run",
        "_testing.script": "Call Compaction Item Message Text Wait",
        "_types.limits": "ManualClock",
    },
)
