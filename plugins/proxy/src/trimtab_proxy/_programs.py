"""What programs say about themselves in the headers of their requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs

from trimtab import ToolProfile
from trimtab_signals.agents import PROFILES

Headers = Mapping[str, str]
_LONGEST = 200


@attrs.frozen
class Name:
    """How a program names the agent that asks.

    Args:
        session: of the conversation with the user.
        agent: of the subagent; None for the main agent, and where the program does not say.
    """

    session: str
    agent: str | None = None


@attrs.frozen
class Program:
    """A program that is known by its user agent.

    Args:
        name: for the record.
        marks: how its user agent begins, in lower case; one of them.
        profile: under which `trimtab_signals.agents` describes its tools.
        parallel_calls: whether one answer may hold several calls; None if unknown.
        own_profiles: take precedence over those of `profile`.
    """

    name: str
    marks: tuple[str, ...]
    profile: str | None = None
    parallel_calls: bool | None = None
    own_profiles: tuple[ToolProfile, ...] = ()

    @property
    def tool_profiles(self) -> tuple[ToolProfile, ...]:
        """What is known about its tools."""
        known = PROFILES.get(self.profile, ()) if self.profile else ()
        return (*self.own_profiles, *known)


_SHELL = ToolProfile(
    names="run_shell_command",
    command_params="command",
    ignored_params=("description",),
    result_noise=r"(?m)^(?:Process Group PGID|Background PIDs): .*$",
)
UNKNOWN = Program("unknown", ())
PROGRAMS = (
    Program("claude-code", ("claude-cli/", "claude-code/"), "claude-code", True),
    Program("codex", ("codex",), "codex", True),
    Program("qwen-code", ("qwencode",), "gemini-cli", True, (_SHELL,)),
    Program("opencode", ("opencode/",), "opencode", True),
    Program("gemini-cli", ("geminicli",), "gemini-cli", True, (_SHELL,)),
)
_SESSIONS = (
    "x-trimtab-session",
    "x-claude-code-session-id",
    "x-session-id",
    "x-opencode-session",
    "session-id",
    "session_id",
)
_AGENTS = ("x-trimtab-agent", "x-claude-code-agent-id")
_THREADS = ("thread-id", "thread_id")


def program_of(headers: Headers) -> Program:
    """Return the program that sent a request with these headers, names in lower case."""
    agent = headers.get("user-agent", "").lower()
    return next((known for known in PROGRAMS if agent.startswith(known.marks)), UNKNOWN)


def name_of(headers: Headers, body: Mapping[str, Any]) -> Name | None:
    """Return how the program names the agent that asks; None if it does not."""
    session = _first(headers, _SESSIONS) or _from_metadata(body)
    thread = _first(headers, _THREADS)
    if session is None and thread is None:
        return None
    agent = _first(headers, _AGENTS)
    if agent is None and thread is not None and session is not None and thread != session:
        agent = thread
    return Name(session or thread or "", agent)


def _first(headers: Headers, names: tuple[str, ...]) -> str | None:
    found = next((headers[name] for name in names if headers.get(name)), None)
    return found[:_LONGEST] if found else None


def _from_metadata(body: Mapping[str, Any]) -> str | None:
    """Return the session that Claude Code names in the body, as its older versions do."""
    metadata = body.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    if not isinstance(user, str) or len(user) > 2_000:
        return None
    if user.startswith("{"):
        try:
            session = json.loads(user).get("session_id")
        except (ValueError, AttributeError):
            return None
        return session[:_LONGEST] if isinstance(session, str) and session else None
    _, found, session = user.rpartition("_session_")
    return session[:_LONGEST] if found and session else None
