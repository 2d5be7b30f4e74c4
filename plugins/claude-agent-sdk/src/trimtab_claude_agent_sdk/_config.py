"""Settings of the host, and how the Claude Agent SDK delivers a provider's text."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab import Prompt
from trimtab.hosting import read_seconds
from trimtab_claude_code.hooks import CLAUDE_CODE, PROVIDER_TIMEOUT, check_prompt

if TYPE_CHECKING:
    from trimtab import Prompt, TaskCompletionChecker

CLAUDE_AGENT_SDK = attrs.evolve(CLAUDE_CODE, name="claude-agent-sdk")
"""The Claude Agent SDK, described."""


def check_prompts(prompts: Iterable[Prompt[Any]]) -> None:
    """Warn of providers that are not heard at some of their decision points.

    Raises:
        UnsupportedPoint: a provider would never be heard.
    """
    for prompt in prompts:
        for text in check_prompt(prompt, CLAUDE_AGENT_SDK):
            warnings.warn(f"prompt {prompt.name!r}: {text}", stacklevel=3)


PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]


def _copied(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return dict(value)


def _one_conversation(_: object, __: object, options: Mapping[str, Any]) -> None:
    """Refuse what makes another conversation of it than the one whose run is open."""
    for name in ("continue_conversation", "fork_session", "resume", "session_id"):
        if options.get(name):
            raise ValueError(
                f"options[{name!r}]: the id of a run is that of its conversation; leave it out, or "
                "give ClaudeAgentSDKClientConfig(resume=...)"
            )


def _seconds(value: object) -> float:
    return read_seconds(value, "provider_timeout")


@attrs.frozen(kw_only=True)
class ClaudeAgentSDKClientConfig:
    """Settings of `ClaudeAgentSDKAdapter`.

    Args:
        permission_mode: what the agent may do unasked.
        cwd: working directory of the agent; the process's own where None.
        task_completion_checker: asked after the prompt's own completion checkers.
        resume: id of an earlier conversation, which goes on together with its run.
        subagents: prompts by type of subagent; the others share the main agent's.
        provider_timeout: how long each provider may take at one event.
        options: any other fields of ``ClaudeAgentOptions``, by name; hooks, servers and allowed
            tools there are joined with the adapter's own.

    Raises:
        ValueError: an option would lead to another conversation.
    """

    permission_mode: PermissionMode | None = None
    cwd: str | Path | None = None
    task_completion_checker: TaskCompletionChecker | None = None
    resume: str | None = None
    subagents: Mapping[str, Prompt[Any]] = attrs.field(factory=dict, converter=_copied)
    provider_timeout: float = attrs.field(default=PROVIDER_TIMEOUT, converter=_seconds)
    options: Mapping[str, Any] = attrs.field(
        factory=dict, converter=_copied, validator=_one_conversation
    )

    @property
    def checkers(self) -> tuple[TaskCompletionChecker, ...]:
        """The client's own completion checkers."""
        checker = self.task_completion_checker
        return () if checker is None else (checker,)
