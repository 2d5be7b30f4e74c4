"""What is known about tools, declared or guessed from the words in their names."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

from trimtab import ToolProfile
from trimtab.text import LazyPattern, quote, sanitize

SIGHTING = frozenset(
    {
        "audit", "examine", "monitor", "preview", "probe", "sample", "scan", "see", "trace",
        "validate", "verify", "watch", "whoami",
    }
)  # fmt: skip
FINDING = frozenset(
    {
        "browse", "detect", "find", "glob", "grep", "identify", "list", "locate", "look", "lookup",
        "ls", "scan", "search",
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


_WORD = LazyPattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_KEPT = 512
"""Names whose words are remembered; agents have some dozens."""
LONGEST_NAME = 60
"""Characters of a tool's name in a text; services allow 64."""


# Words in tools' names that tell what a tool does, where nobody declares it.
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
# Words for moving on a screen or in a sequence: the output rarely shows the effect.
_OPAQUE = frozenset(
    {
        "back", "click", "computer", "drag", "forward", "hover", "key", "mouse", "next", "press",
        "previous", "redo", "screenshot", "scroll", "step", "swipe", "tap", "type", "undo",
    }
)  # fmt: skip
_WAITING = frozenset(
    {
        "poll", "sleep", "wait",
    }
)  # fmt: skip
_PLANS = frozenset(
    {
        "plan", "plans", "todo", "todos",
    }
)  # fmt: skip
_THOUGHTS = frozenset({"think", "thinking", "thought", "thoughts"})
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
_VERSION = LazyPattern(r"v|\d{1,4}")
_COMMAND_PARAMS = ("command", "cmd", "c", "script", "input")
_NO_INPUT = {"chars": "", "data": "", "input": "", "text": ""}
_PLAN_FIELDS = frozenset({"completed", "done", "s", "status"})
_BOOKKEEPING = frozenset({"description", "timeout", "timeout_ms", "yield_time_ms"})


def name_words(name: str) -> list[str]:
    """Return the words of a tool's name, lower case: ``mcp__getPage`` → mcp, get, page."""
    return list(_words_of(name))


@lru_cache(maxsize=_KEPT)
def _words_of(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(name))


@lru_cache(maxsize=_KEPT)
def is_aside(tool: str) -> bool:
    """Tell whether `tool` only takes down a thought or a plan, by its name."""
    return not (_PLANS | _THOUGHTS).isdisjoint(_words_of(tool))


@lru_cache(maxsize=_KEPT)
def guess(name: str) -> ToolProfile:
    """Return what a tool's name tells about it: its first verb counts, but for "replace"."""
    words = name_words(name)
    while len(words) > 1 and _VERSION.fullmatch(words[-1]):
        words = words[:-1]
    held = set(words)
    verb = next((word for word in words if word in READING or word in WRITING), "")
    if verb in READING and verb != words[0]:  # a noun, as in "shopping list add"
        rest = words[words.index(verb) + 1 :]
        verb = next((word for word in rest if word in WRITING and word not in NOUNS), verb)
    if "replace" in held:
        verb = "replace"
    if held & _PLANS and verb not in READING:
        return ToolProfile(names=name, progress=_PLAN_FIELDS)
    if words[-1:] and words[-1] in STATES and words[-2:-1] and words[-2] in NOUNS:
        verb = "get"
    if "stdin" in held:
        return ToolProfile(names=name, writes=True, polling_params=_NO_INPUT)
    if held & SHELLS:
        return ToolProfile(names=name, command_params=_COMMAND_PARAMS, ignored_params=_BOOKKEEPING)
    return ToolProfile(
        names=name,
        read_only=True if verb in READING else None,
        writes=True if verb in WRITING else None,
        polling=bool(held & _WAITING),
        opaque=not verb and bool(held & _OPAQUE),
        command_params=() if verb or held & _OPAQUE else ("command", "cmd"),
    )


class ToolProfiles:
    """Looks profiles up by tool name: the first declared one that fits, else a guess.

    Args:
        declared: profiles, the more particular first. Hosts bring those of their own tools,
            prompts may put theirs before.
    """

    __slots__ = ("_declared", "_known")

    def __init__(self, declared: Iterable[ToolProfile] = ()) -> None:
        self._declared = tuple(declared)
        self._known: dict[str, ToolProfile] = {}

    @property
    def declared(self) -> tuple[ToolProfile, ...]:
        """The declared profiles, in order of precedence."""
        return self._declared

    def before(self, more: Iterable[ToolProfile]) -> ToolProfiles:
        """Return profiles in which `more` take precedence over these."""
        return ToolProfiles((*more, *self._declared))

    def of(self, tool: str) -> ToolProfile:
        """Return the profile of `tool`."""
        profile = self._known.get(tool)
        if profile is None:
            profile = self._find(tool)
            if len(self._known) < _KEPT:
                self._known[tool] = profile
        return profile

    def _find(self, tool: str) -> ToolProfile:
        for profile in self._declared:
            if any(fnmatchcase(tool, name) for name in profile.names):
                return profile
        return guess(tool)


def tool_name(name: str, limit: int = LONGEST_NAME) -> str:
    """Return the `name` of a tool for a sentence, cut at `limit`, quoted unless a plain word."""
    plain = name.replace("_", "").replace("-", "").replace(".", "")
    visible = sanitize(name, limit)  # letters may be invisible
    return name if plain.isalnum() and name == visible else quote(visible, limit)
