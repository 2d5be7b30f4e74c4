"""For authors of tests: made-up runs, scripted providers, prompts without discovery."""

from trimtab.inspection import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_conformance": (
            "CompletionConformance FeedbackConformance GuidanceConformance RecorderConformance"
        ),
        "_host_kit.kit": "host_table HostConformance HostKit Played Task Verdict",
        "_host_kit.service": "Ask Says Service",
        "_lab": "Checker Commentator Lab Speaker",
        "_player": "Player ProviderFailed",
        "_runs": "Call Compaction good_runs Item Message odd_run Text Wait",
    },
)
