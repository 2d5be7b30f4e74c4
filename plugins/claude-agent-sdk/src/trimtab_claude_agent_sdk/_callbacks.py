"""trimtab as hook callbacks of the Claude Agent SDK."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Deadline, Prompt
from trimtab_claude_agent_sdk._config import CLAUDE_AGENT_SDK, check_prompts
from trimtab_claude_code import installed_hooks
from trimtab_claude_code.hooks import EVENTS, PROVIDER_TIMEOUT, ClaudeCodeHooks

if TYPE_CHECKING:
    from claude_agent_sdk import HookMatcher

    from trimtab import Budget, Heartbeat, Session, TaskCompletionChecker

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
        for callback in (Callback(translation, _limit(event), beat),)
    }


def _limit(event: str) -> float:
    return CHECK_TIMEOUT if event in _CHECKING else TIMEOUT


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
