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
        "documentation", "error", "event", "example", "explain", "guide", "help", "inspect", "log",
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
# The closed class of words that tie sentences together: of two texts they don't say that both are
# about the same thing.
TIES = frozenset(
    {
        "a", "about", "after", "all", "an", "and", "any", "are", "as", "at", "be", "been",
        "before", "by", "can", "did", "do", "for", "from", "had", "has", "have", "if", "in",
        "into", "is", "it", "its", "may", "must", "no", "not", "of", "on", "only", "or", "so",
        "than", "that", "the", "there", "this", "to", "was", "were", "when", "which", "with",
        "you", "your",
    }
)  # fmt: skip
