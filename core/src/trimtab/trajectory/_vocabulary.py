"""Words in tools' names that tell what a tool does, where nobody declares it."""

from __future__ import annotations

READING = frozenset(
    {
        "analyze", "browse", "calculate", "check", "count", "describe", "diff", "explain",
        "fetch", "find", "get", "glob", "grep", "head", "inspect", "list", "load", "look",
        "lookup", "ls", "query", "read", "recall", "retrieve", "search", "show", "stat", "tail",
        "think", "view",
    }
)  # fmt: skip
WRITING = frozenset(
    {
        "add", "append", "apply", "assign", "book", "cancel", "commit", "create", "delete",
        "deploy", "edit", "exchange", "insert", "install", "modify", "move", "patch", "pay",
        "post", "push", "put", "refund", "remove", "rename", "replace", "return", "save",
        "schedule", "send", "set", "store", "submit", "transfer", "update", "upload", "write",
    }
)  # fmt: skip
# A hand on a screen, or a step from wherever one is: the answer rarely shows what became of it.
OPAQUE = frozenset(
    {
        "back", "click", "computer", "drag", "forward", "hover", "key", "mouse", "next", "press",
        "previous", "redo", "screenshot", "scroll", "step", "swipe", "tap", "type", "undo",
    }
)  # fmt: skip
WAITING = frozenset(
    {
        "poll", "sleep", "wait",
    }
)  # fmt: skip
PLANS = frozenset(
    {
        "plan", "plans", "todo", "todos",
    }
)  # fmt: skip
SHELLS = frozenset(
    {
        "bash", "cmd", "command", "exec", "execute", "ipython", "powershell", "pwsh", "python",
        "repl", "run", "sh", "shell", "terminal",
    }
)  # fmt: skip
# Verbs that are things as well: ``deploy_status`` asks for the state of one.
NOUNS = frozenset(
    {
        "build", "commit", "deploy", "exchange", "install", "order", "patch", "post", "process",
        "return", "run", "schedule", "transfer", "upload",
    }
)  # fmt: skip
STATES = frozenset(
    {
        "details", "health", "history", "info", "log", "logs", "progress", "result", "results",
        "state", "stats", "status",
    }
)  # fmt: skip
