"""What each hook event does to an agent's run, and its output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from trimtab import DecisionPoint, Outcome, ToolCall
from trimtab_claude_code.hooks._agent import STRUCTURED_OUTPUT, Agent
from trimtab_claude_code.hooks._asking import asks_user
from trimtab_claude_code.hooks._output import HookOutput, context, refusal, unfinished
from trimtab_claude_code.hooks._payload import Payload

if TYPE_CHECKING:
    from trimtab import CompletionChecked

Handler = Callable[[Agent, Payload], HookOutput]

_QUESTION = "AskUserQuestion"
_HARNESS = ("<task-notification>", "<local-command-", "<command-name>", "[Request interrupted")


def _user_prompt_submit(agent: Agent, told: Payload) -> HookOutput:
    agent.abandoned()
    text = told.text("prompt")
    agent.run.user_message(text, notification=text.startswith(_HARNESS))
    return _first_words(agent, told)


def _first_words(agent: Agent, told: Payload) -> HookOutput:
    first = agent.run.rendered is None and agent.run.state.turns == 0
    return context(
        told.event,
        agent.guidance(DecisionPoint.PRE_RENDER) if first else None,
        agent.guidance(DecisionPoint.PRE_TOOL_SELECTION),
    )


def _pre_tool_use(agent: Agent, told: Payload) -> HookOutput:
    told.require_call()
    held = _held_back(agent, told) if told.tool == STRUCTURED_OUTPUT else ""
    agent.started(told)
    if not held:
        call = ToolCall(told.tool, told.params, told.call_id)
        held = agent.guidance(DecisionPoint.PRE_TOOL_EXECUTION, call)
    return refusal(held) if held else {}


def _held_back(agent: Agent, told: Payload) -> str:
    """Return why the final answer must wait; once it is given, Stop comes too late."""
    if agent.late:
        return ""
    checked = _check(agent, told, "structured output", told.params)
    return "" if checked.may_stop else unfinished(checked.feedback)


def _after_call(agent: Agent, told: Payload) -> HookOutput:
    told.require_call()
    news = agent.finished(told)
    if not news or agent.answered():
        return {}
    return context(told.event, agent.feedback(), agent.guidance(DecisionPoint.POST_TOOL_RESULT))


def _post_tool_batch(agent: Agent, told: Payload) -> HookOutput:
    calls = tuple(call for call in told.items("tool_calls") if call.tool and call.call_id)
    missed = agent.unreported(calls)
    agent.abandoned()
    if agent.answered():
        return {}
    return context(
        told.event,
        agent.feedback() if missed else None,
        agent.guidance(DecisionPoint.PRE_TOOL_SELECTION),
    )


def _stop(agent: Agent, told: Payload) -> HookOutput:
    agent.abandoned()
    text = told.text("last_assistant_message")
    if agent.answered() and not text:
        return {}
    agent.responded(text)
    if not agent.gated or agent.late:
        return {}
    checked = _check(agent, told, "end of turn", text or None)
    return {} if checked.may_stop else context(told.event, unfinished(checked.feedback))


def _subagent_stop(agent: Agent, told: Payload) -> HookOutput:
    answer = _stop(agent, told)
    if not answer:
        agent.run.close("stopped")
    return answer


def _check(agent: Agent, told: Payload, reason: str, output: Any) -> CompletionChecked:
    return agent.run.check_completion(
        output=output,
        stop_reason=reason,
        extra=agent.checkers,
        background_work=told.background_work,
        awaiting_user=told.text("permission_mode") == "plan" or _asks(agent, told),
    )


def _asks(agent: Agent, told: Payload) -> bool:
    """Whether the user's answer is awaited."""
    last = agent.run.state.last_call
    unanswered = last is not None and last.tool == _QUESTION and last.outcome is not Outcome.OK
    return unanswered or asks_user(told.text("last_assistant_message"))


def _stop_failure(agent: Agent, told: Payload) -> HookOutput:
    agent.abandoned()
    error = told.text("error") or "unknown error"
    agent.run.check_completion(extra=agent.checkers, api_error=error)
    return {}


def _pre_compact(agent: Agent, _: Payload) -> HookOutput:
    agent.compacting()
    return {}


def _post_compact(agent: Agent, told: Payload) -> HookOutput:
    agent.summarised(told.text("compact_summary"))
    return {}


def _session_start(agent: Agent, told: Payload) -> HookOutput:
    if told.text("source") == "compact":
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
