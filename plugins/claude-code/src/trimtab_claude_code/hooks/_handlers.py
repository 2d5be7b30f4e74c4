"""What each hook event does to an agent's run, and its output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from trimtab import DecisionPoint, Outcome, ToolCall
from trimtab_claude_code.hooks._agent import STRUCTURED_OUTPUT, Agent
from trimtab_claude_code.hooks._payload import (
    HookOutput,
    Payload,
    context,
    refusal,
    unfinished,
)
from trimtab_signals import asks_user

if TYPE_CHECKING:
    from trimtab.events import CompletionChecked

Handler = Callable[[Agent, Payload], HookOutput]

_QUESTION = "AskUserQuestion"
_HARNESS = ("<task-notification>", "<local-command-", "<command-name>", "[Request interrupted")


def _user_prompt_submit(agent: Agent, event: Payload) -> HookOutput:
    agent.abandoned()
    agent.refused = ""
    text = event.text("prompt")
    agent.run.user_message(text, notification=text.startswith(_HARNESS))
    return _first_words(agent, event)


def _first_words(agent: Agent, event: Payload) -> HookOutput:
    first = agent.run.rendered is None and agent.run.state.turns == 0
    return context(
        event.name,
        agent.guidance(DecisionPoint.PRE_RENDER) if first else None,
        agent.guidance(DecisionPoint.PRE_TOOL_SELECTION),
    )


def _pre_tool_use(agent: Agent, event: Payload) -> HookOutput:
    event.require_call()
    held = _held_back(agent, event) if event.tool == STRUCTURED_OUTPUT else ""
    agent.started(event)
    if not held and not agent.refused:
        call = ToolCall(event.tool, event.params, event.call_id)
        agent.refused = agent.guidance(DecisionPoint.PRE_TOOL_EXECUTION, call)
    held = held or agent.refused
    return refusal(held) if held else {}


def _held_back(agent: Agent, event: Payload) -> str:
    """Return why the final answer must wait; once it is given, Stop comes too late."""
    if agent.late:
        return ""
    checked = _check(agent, event, "structured output", event.params)
    return "" if checked.may_stop else unfinished(checked.feedback)


def _after_call(agent: Agent, event: Payload) -> HookOutput:
    event.require_call()
    news = agent.finished(event)
    if not news or agent.answered():
        return {}
    return context(event.name, agent.feedback(), agent.guidance(DecisionPoint.POST_TOOL_RESULT))


def _post_tool_batch(agent: Agent, event: Payload) -> HookOutput:
    calls = tuple(call for call in event.items("tool_calls") if call.tool and call.call_id)
    missed = agent.unreported(calls)
    agent.abandoned()
    agent.refused = ""
    if agent.answered():
        return {}
    return context(
        event.name,
        agent.feedback() if missed else None,
        agent.guidance(DecisionPoint.PRE_TOOL_SELECTION),
    )


def _stop(agent: Agent, event: Payload) -> HookOutput:
    agent.abandoned()
    agent.refused = ""
    text = event.text("last_assistant_message")
    if agent.answered() and not text:
        return {}
    agent.responded(text)
    if not agent.gated or agent.late:
        return {}
    checked = _check(agent, event, "end of turn", text or None)
    return {} if checked.may_stop else context(event.name, unfinished(checked.feedback))


def _subagent_stop(agent: Agent, event: Payload) -> HookOutput:
    answer = _stop(agent, event)
    if not answer:
        agent.run.close("stopped")
    return answer


def _check(agent: Agent, event: Payload, reason: str, output: Any) -> CompletionChecked:
    return agent.run.check_completion(
        output=output,
        stop_reason=reason,
        extra=agent.checkers,
        background_work=event.background_work,
        awaiting_user=event.text("permission_mode") == "plan" or _asks(agent, event),
    )


def _asks(agent: Agent, event: Payload) -> bool:
    """Whether the user's answer is awaited."""
    last = agent.run.state.last_call
    unanswered = last is not None and last.tool == _QUESTION and last.outcome is not Outcome.OK
    return unanswered or asks_user(event.text("last_assistant_message"))


def _stop_failure(agent: Agent, event: Payload) -> HookOutput:
    agent.abandoned()
    error = event.text("error") or "unknown error"
    agent.run.check_completion(extra=agent.checkers, api_error=error)
    return {}


def _pre_compact(agent: Agent, _: Payload) -> HookOutput:
    agent.compacting()
    return {}


def _post_compact(agent: Agent, event: Payload) -> HookOutput:
    agent.summarised(event.text("compact_summary"))
    return {}


def _session_start(agent: Agent, event: Payload) -> HookOutput:
    if event.text("source") == "compact":
        agent.restarted()
    return {}


HANDLERS: Mapping[str, Handler] = {
    "UserPromptSubmit": _user_prompt_submit,
    "PreToolUse": _pre_tool_use,
    "PostToolUse": _after_call,
    "PostToolUseFailure": _after_call,
    "PostToolBatch": _post_tool_batch,
    "Stop": _stop,
    "StopFailure": _stop_failure,
    "SubagentStart": _first_words,
    "SubagentStop": _subagent_stop,
    "PreCompact": _pre_compact,
    "PostCompact": _post_compact,
    "SessionStart": _session_start,
}
