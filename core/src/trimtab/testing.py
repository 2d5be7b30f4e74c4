"""For authors of tests: made-up runs, scripted providers, prompts without discovery."""

from trimtab._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_testing.conformance": (
            "CompletionConformance FeedbackConformance GuidanceConformance RecorderConformance"
        ),
        "_testing.host_kit.kit": "host_table HostConformance HostKit Played Task Verdict",
        "_testing.host_kit.service": "Ask Says Service",
        "_testing.lab": "Checker Commentator Lab Speaker",
        "_testing.player": "Player ProviderFailed",
        "_testing.runs": "Call Compaction good_runs Item Message odd_run Text Wait",
        "_types.limits": "ManualClock",
    },
)
