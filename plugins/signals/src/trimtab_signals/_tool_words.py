"""Words in tools' names by which untried tools are put in order."""

from __future__ import annotations

SIGHTING = frozenset(
    {
        "audit", "monitor", "preview", "probe", "sample", "scan", "see", "trace", "validate",
        "verify", "watch", "whoami",
    }
)  # fmt: skip
FINDING = frozenset(
    {
        "browse", "find", "glob", "grep", "list", "look", "lookup", "ls", "scan", "search",
    }
)  # fmt: skip
# Things and verbs that tell why something is as it is, or how to do it.
EXPLAINING = frozenset(
    {
        "condition", "constraint", "describe", "diagnose", "diagnostics", "doc", "docs",
        "documentation", "error", "event", "example", "guide", "help", "inspect", "log",
        "manual", "permission", "policy", "reason", "requirement", "rule", "schema", "trace",
    }
)  # fmt: skip
# Things that tell what is the case, besides `STATES`.
CIRCUMSTANCES = frozenset(
    {
        "availability", "balance", "free", "limit", "quota", "schedule", "usage", "version",
    }
)  # fmt: skip
ENDING = frozenset(
    {
        "calculate", "complete", "done", "end", "escalate", "exit", "final", "finish", "handoff",
        "quit", "stop", "submit", "terminate", "think", "transfer",
    }
)  # fmt: skip
CREATING = frozenset(
    {
        "add", "book", "create", "insert", "install", "make", "new", "register",
    }
)  # fmt: skip
EDITING = frozenset(
    {
        "edit", "modify", "patch", "replace",
    }
)  # fmt: skip
# Words of parameters and errors that name no thing in particular.
GENERIC = frozenset(
    {
        "argument", "body", "content", "data", "date", "description", "error", "field", "id",
        "input", "item", "key", "kind", "line", "list", "message", "mode", "name", "number",
        "option", "param", "path", "query", "request", "response", "result", "text", "time",
        "title", "type", "url", "value", "word",
    }
)  # fmt: skip
