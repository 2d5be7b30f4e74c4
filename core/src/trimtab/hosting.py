"""For authors of hosts: run tools, convert their arguments, drive a run."""

from trimtab._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_contract.hosts": "LOCAL_HOST",
        "_hosting.blocking": "append_text StopDecision",
        "_hosting.calls": "contained RunningCall",
        "_hosting.chat": "Answer Chat Driver DriverOptions Drivers",
        "_hosting.executor": "call_within format_error RAISED ToolAnswer",
        "_run.completion": "AgentStopped",
        "_run.guidance": "GuidanceBatch",
        "_types.errors": "is_cancelled watch_calls",
        "_types.options": "names_known read_seconds",
        "_types.schema": "from_json json_schema to_json",
    },
)
