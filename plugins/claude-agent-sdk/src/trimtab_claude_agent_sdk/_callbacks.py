"""trimtab as hook callbacks of the Claude Agent SDK, and the settings of this host."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab import Deadline, Prompt
from trimtab.hosting import names_known, read_seconds
from trimtab_claude_code import installed_hooks
from trimtab_claude_code.hooks import (
    CLAUDE_CODE,
    EVENTS,
    PROVIDER_TIMEOUT,
    ClaudeCodeHooks,
    check_prompt,
)

if TYPE_CHECKING:
    from claude_agent_sdk import HookMatcher

    from trimtab import Budget, Heartbeat, Session, TaskCompletionChecker

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


@names_known()
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


TIMEOUT = 20.0
"""How long a callback may take; the program drops a prompt whose hook takes 30 s."""

CHECK_TIMEOUT = 120.0
"""The same for events at which completion checkers are asked; the program waits 130 s."""

GRACE = 4.0
"""How much longer a provider that was asked in time may take to answer."""

MARGIN = 8.0
"""How much earlier than the program each callback's time is up."""

_CHECKING = frozenset({"PreToolUse", "Stop", "SubagentStop"})


def hooks(
    prompt: Prompt[Any],
    session: Session,
    *,
    subagents: Mapping[str, Prompt[Any]] | None = None,
    deadline: Deadline | None = None,
    budget: Budget | None = None,
    heartbeat: Heartbeat | None = None,
    checkers: Iterable[TaskCompletionChecker] = (),
    provider_timeout: float = PROVIDER_TIMEOUT,
) -> dict[Any, list[HookMatcher]]:
    """Return ``ClaudeAgentOptions(hooks=…)`` by which a prompt's providers guide the agent.

    Every agent of every conversation gets a run of its own in `session`; the run of the main
    agent is ``run_id_of(prompt, conversation_id)``, and a resumed conversation resumes it.

    Args:
        prompt: the prompt of the main agent and of subagents that `subagents` does not name.
        subagents: prompts by type of subagent, e.g. ``"general-purpose"``.
        heartbeat: beaten at every event.
        deadline, budget, checkers, provider_timeout: as for `ClaudeCodeHooks`.

    Raises:
        UnsupportedPoint: a provider of the prompt would never be heard.
    """
    others = dict(subagents or {})
    check_prompts((prompt, *others.values()))
    _warn_of_installed_hooks()
    translation = ClaudeCodeHooks(
        session,
        lambda kind: others.get(kind or "", prompt),
        host=CLAUDE_AGENT_SDK,
        deadline=deadline,
        budget=budget,
        checkers=checkers,
        provider_timeout=provider_timeout,
    )
    return matchers(translation, heartbeat)


def _warn_of_installed_hooks() -> None:
    """Warn where the program would load hooks that guide the same session."""
    for file in installed_hooks():
        warnings.warn(
            f"{file} has trimtab's hooks too, so a program that reads it is guided twice: give "
            'ClaudeAgentOptions(env={"TRIMTAB_CLAUDE_CODE": "off"}), or setting_sources=[]',
            stacklevel=3,
        )


def matchers(
    translation: ClaudeCodeHooks, heartbeat: Heartbeat | None = None
) -> dict[Any, list[HookMatcher]]:
    """Return the matchers, all tools at every event, that hand events to `translation`."""
    from claude_agent_sdk import HookMatcher

    beat = heartbeat.beat if heartbeat else None
    return {
        event: [HookMatcher(hooks=[callback], timeout=callback.seconds + MARGIN)]
        for event in EVENTS
        for callback in (
            Callback(translation, CHECK_TIMEOUT if event in _CHECKING else TIMEOUT, beat),
        )
    }


@attrs.frozen
class Callback:
    """One hook callback: off the event loop, in time, and always with a valid answer.

    After `seconds` no provider is asked any more, and what takes `grace` longer is left behind
    and becomes a `HookFailed`: over its own limit the program would drop the prompt, refuse the
    call or end the session.
    """

    translation: ClaudeCodeHooks
    seconds: float
    beat: Callable[[], None] | None = None
    grace: float = GRACE

    async def __call__(self, payload: Any, _tool_use_id: str | None, _context: Any) -> Any:
        """Answer one event."""
        import anyio

        if self.beat is not None:
            self.beat()
        limit = self.seconds + self.grace
        until = Deadline(self.seconds, self.translation.session.clock)
        with anyio.move_on_after(limit):
            return await anyio.to_thread.run_sync(
                self.translation.answer, payload, until, abandon_on_cancel=True
            )
        late = TimeoutError(f"no answer within {limit:g} s")
        self.translation.failed(payload, late)
        return {}
