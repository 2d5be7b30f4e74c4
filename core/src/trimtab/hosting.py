"""For authors of hosts: run tools, convert their arguments, drive a run."""

from trimtab._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_hosting.adapter": "Adapter PromptResponse",
        "_hosting.blocking": "append_text contained StopDecision",
        "_hosting.calls": "RunningCall",
        "_hosting.chat": "Answer Chat",
        "_hosting.driver": "Driver",
        "_hosting.drivers": "Drivers",
        "_hosting.threads": "call_in_parallel call_within",
        "_hosting.executor": "format_error is_cancelled RAISED ToolAnswer ToolExecutor",
        "_hosting.supervision": "Call CallBoard last_call SetAside",
        "_types.in_flight": "watch_calls",
        "_types.options": "read_seconds",
        "_types.schema": "from_json json_schema to_json",
        "_types.text": "replace_surrogates",
    },
)
