"""How a tool call ended, read from the text that an agent's program gave the model.

Requests to a model's API rarely say it in a field of their own: Codex writes the exit code into
the text, Claude Code marks refusals by their wording. Recordings and proxies read it here alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import attrs

from trimtab import Outcome
from trimtab.events import Evidence

HEAD = 400
"""Only so many characters of a text are looked at; programs write the status first."""

_CODEX_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})", re.MULTILINE)
_CODEX_RUNNING = "Process running with session ID "
_MINI_EXIT = re.compile(r"\s{0,100}<returncode>(-?\d{1,9})</returncode>")
_CLAUDE_EXIT = re.compile(r"(?:Error: )?Exit code (-?\d{1,9})\b")

_Starts = Mapping[Outcome, tuple[str, ...]]

_CODEX_STARTS: _Starts = {
    Outcome.INTERRUPTED: ("aborted by user", "aborted"),
    Outcome.DENIED: ("exec command rejected", "rejected by user", "patch rejected"),
    Outcome.INVALID: (
        "failed to parse function arguments",
        "unsupported call",
        "unsupported custom tool",
    ),
    Outcome.ERROR: (
        "apply_patch verification failed",
        "write_stdin failed",
        "exec_command failed",
    ),
}
_CLAUDE_DENIED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "Permission to use ",
)
_CLAUDE_CANCELLED = ("Sibling tool call errored", "Cancelled: parallel tool call")
_CLAUDE_INVALID = ("InputValidationError", "No such tool available")
_CLAUDE_ERROR = "<tool_use_error>"
_CLAUDE_MARKS = 200
_GEMINI_STARTS: _Starts = {Outcome.DENIED: ("[Operation Cancelled]",), Outcome.ERROR: ("Error: ",)}
_CLINE_STARTS: _Starts = {
    Outcome.DENIED: ("The user denied this operation", "The user denied permission"),
    Outcome.INVALID: ("Missing value for required parameter",),
    Outcome.ERROR: (
        "The tool execution failed",
        "<error>",
        "Error ",
        "[ERROR]",
        "Command failed with exit code",
    ),
}
_GOOSE_STARTS: _Starts = {Outcome.DENIED: ("The user has declined to run this tool",)}


@attrs.frozen
class ToolOutcome:
    """How a call ended, and how that is known.

    Args:
        outcome: how it ended.
        evidence: `Evidence.FLAG` if a field said it, `Evidence.DERIVED` if the text did,
            `Evidence.UNKNOWN` if nothing did.
    """

    outcome: Outcome
    evidence: Evidence


UNKNOWN = ToolOutcome(Outcome.OK, Evidence.UNKNOWN)


def outcome_of(agent: str, text: str, *, is_error: bool | None = None) -> ToolOutcome:
    """Read how a tool call ended.

    Args:
        agent: a key of `trimtab_signals.agents.PROFILES`; unknown agents have no rules.
        text: what the tool answered, as the model reads it; its first 400 characters count.
        is_error: the API's own flag; None if there is none.

    Returns:
        the outcome; a flag that says error is not overruled by the text, only made more precise.
    """
    rule = _RULES.get(agent)
    read = UNKNOWN if rule is None else rule(text[:HEAD], is_error)
    if is_error is None:
        return read
    if not is_error:
        is_certain = read.outcome is not Outcome.OK and read.evidence is Evidence.DERIVED
        return read if is_certain else ToolOutcome(Outcome.OK, Evidence.FLAG)
    outcome = Outcome.ERROR if read.outcome is Outcome.OK else read.outcome
    return ToolOutcome(outcome, Evidence.FLAG)


def _derived(outcome: Outcome) -> ToolOutcome:
    return ToolOutcome(outcome, Evidence.DERIVED)


def _by_code(code: str) -> ToolOutcome:
    return _derived(Outcome.ERROR if int(code) else Outcome.OK)


def _by_start(starts: _Starts, head: str) -> ToolOutcome:
    for outcome, texts in starts.items():
        if head.startswith(texts):
            return _derived(outcome)
    return UNKNOWN


def _codex(head: str, _: bool | None) -> ToolOutcome:
    code = _CODEX_EXIT.search(head)
    if code is not None:
        return _by_code(code[1])
    if head.startswith(_CODEX_RUNNING) or f"\n{_CODEX_RUNNING}" in head:
        return _derived(Outcome.OK)
    return _by_start(_CODEX_STARTS, head)


def _claude_code(head: str, is_error: bool | None) -> ToolOutcome:
    """Claude Code flags its errors; the text tells refused and invalid calls from failed ones."""
    is_marked = head.startswith(_CLAUDE_ERROR)
    if is_error is None and not is_marked and _CLAUDE_EXIT.match(head) is None:
        return _derived(Outcome.DENIED) if head.startswith(_CLAUDE_DENIED[:2]) else UNKNOWN
    if is_error is False:
        return UNKNOWN
    if head.startswith(_CLAUDE_DENIED):
        return _derived(Outcome.DENIED)
    marks = head[:_CLAUDE_MARKS]
    if any(mark in marks for mark in _CLAUDE_CANCELLED):
        return _derived(Outcome.INTERRUPTED)
    if is_marked and any(mark in marks for mark in _CLAUDE_INVALID):
        return _derived(Outcome.INVALID)
    return _derived(Outcome.ERROR)


def _mini_swe_agent(head: str, _: bool | None) -> ToolOutcome:
    code = _MINI_EXIT.match(head)
    if code is not None:
        return _by_code(code[1])
    return _derived(Outcome.ERROR) if head.lstrip().startswith("<exception") else UNKNOWN


def _starting(starts: _Starts) -> Callable[[str, bool | None], ToolOutcome]:
    return lambda head, _: _by_start(starts, head)


_RULES: Mapping[str, Callable[[str, bool | None], ToolOutcome]] = {
    "claude-code": _claude_code,
    "cline": _starting(_CLINE_STARTS),
    "codex": _codex,
    "gemini-cli": _starting(_GEMINI_STARTS),
    "goose": _starting(_GOOSE_STARTS),
    "mini-swe-agent": _mini_swe_agent,
}
