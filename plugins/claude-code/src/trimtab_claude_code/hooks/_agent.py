"""One agent of a Claude Code session, and what each hook event does to its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

from trimtab import DecisionPoint, Outcome, ToolCall, Usage
from trimtab.events import Evidence
from trimtab_claude_code.hooks._payload import (
    HookOutput,
    Payload,
    context,
    failure,
    plain_error,
    readable,
    refusal,
    unfinished,
    unreported,
)
from trimtab_signals import asks_user

if TYPE_CHECKING:
    from trimtab import Deadline, Prompt, Run, TaskCompletionChecker
    from trimtab.events import CompletionChecked

STRUCTURED_OUTPUT = "StructuredOutput"
"""The tool by which the program takes the final answer where it was given a schema."""

_NO_USAGE = Usage()
_RECENT = 64


def run_id_of(prompt: Prompt[Any], session_id: str, agent_id: str | None = None) -> str:
    """Return the id of the run in which `prompt` guides an agent of a Claude Code session."""
    return "/".join(filter(None, (prompt.name, session_id, agent_id)))


class Agent:
    """Records what an agent does in its run. Its hooks are handled one at a time, under `lock`.

    Args:
        gated: whether completion checkers decide when it may stop.

    Attributes:
        until: when the host stops waiting for the answer to the event at hand.
        refused: why calls of this response are refused. Hooks tell of one call after another, so it
            holds for those that follow; what ran before it has run.
    """

    def __init__(
        self,
        run: Run,
        limit: float,
        *,
        checkers: tuple[TaskCompletionChecker, ...] = (),
        gated: bool = True,
    ) -> None:
        self.run = run
        self.checkers = checkers
        self.gated = gated
        self.lock = RLock()
        self.until: Deadline | None = None
        self.refused = ""
        self._limit = limit
        self._usage = _NO_USAGE
        # Not `lock`: usage is often counted on an event loop, which must not wait for a provider.
        self._usage_lock = Lock()
        self._compacted = False
        self._summarised = False

    # What happened.

    def used(self, usage: Usage) -> None:
        """Count what a response used, from the next turn on."""
        with self._usage_lock:
            self._usage = self._usage + usage

    def started(self, call: Payload) -> None:
        """A call is about to run; a second report of it is ignored."""
        if call.call_id in self.run.state.running:
            return
        self._open_turn()
        self.run.tool_started(call.tool, call.params, call.call_id)

    def finished(self, call: Payload) -> bool:
        """A call succeeded or failed; return whether that was not recorded yet."""
        if call.call_id not in self.run.state.running and any(
            each.call_id == call.call_id for each in self.run.recent_tool_calls(_RECENT)
        ):
            return False
        error = call.text("error") if "error" in call.raw else None
        outcome = Outcome.OK if error is None else failure(error, interrupted=call.interrupted)
        if error is None and call.interrupted:
            outcome = Outcome.INTERRUPTED
        error = None if error is None else plain_error(error)
        result = readable(call.response) if error is None else error
        self._record(call, result, outcome, Evidence.FLAG, error)
        return True

    def unreported(self, calls: tuple[Payload, ...]) -> bool:
        """Record calls that only the batch reports; return whether there are any."""
        known = {call.call_id for call in self.run.recent_tool_calls(max(_RECENT, 2 * len(calls)))}
        known -= self.run.state.running.keys()
        missed = [call for call in calls if call.call_id not in known]
        for call in missed:
            result = readable(call.response)
            text = result if isinstance(result, str) else ""
            started = call.call_id in self.run.state.running
            outcome, evidence = unreported(text, started=started)
            error = None if outcome is Outcome.OK else plain_error(text)
            result = result if error is None else error
            self._record(call, result, outcome, evidence, error)
        return bool(missed)

    def abandoned(self) -> None:
        """Record calls that began and never ended: the user has interrupted them."""
        running = self.run.state.running
        for call_id in [name for name, calls in tuple(running.items()) for _ in calls]:
            self.run.tool_finished(
                call_id, outcome=Outcome.INTERRUPTED, evidence=Evidence.DERIVED, error="interrupted"
            )

    def responded(self, text: str) -> None:
        """The agent ended a request; nothing is recorded if there is neither text nor usage."""
        if text or self._usage != _NO_USAGE:
            self.run.model_responded(text=text, usage=self._take_usage())

    def answered(self) -> bool:
        """Return whether structured output was accepted, which ends the run in any case."""
        last = self.run.state.last_call
        return last is not None and last.tool == STRUCTURED_OUTPUT and last.outcome is Outcome.OK

    # A compaction has two events: SessionStart, and PostCompact with the summary.

    def compacting(self) -> None:
        """The program is about to shorten the conversation."""
        self._compacted = self._summarised = False

    def restarted(self) -> None:
        """The shortened conversation goes on; its summary may still follow."""
        self._compacted = not self._summarised

    def summarised(self, summary: str) -> None:
        """The conversation was shortened to `summary`."""
        self._compacted, self._summarised = False, True
        self.run.compacted(summary)

    def settle_compaction(self) -> None:
        """Record a compaction whose summary never followed."""
        if self._compacted:
            self.summarised("")

    # What to say.

    def guidance(self, point: DecisionPoint, *pending: Any) -> str:
        """Return the guidance for `point`; empty if there is none."""
        if not self.late:
            return self.run.guide(point, pending=pending, timeout=self._limit).text
        if point is DecisionPoint.PRE_TOOL_SELECTION:
            with self.run.session.lock:
                self.run.state.close_turn()
        return ""

    def feedback(self) -> str | None:
        """Return the feedback that is due."""
        return None if self.late else self.run.feedback(timeout=self._limit)

    @property
    def late(self) -> bool:
        """Whether the host no longer waits: the event is recorded, and no provider asked."""
        return self.until is not None and self.until.expired

    def _record(
        self, call: Payload, result: Any, outcome: Outcome, evidence: Evidence, error: str | None
    ) -> None:
        self._open_turn()
        self.run.tool_finished(
            call.call_id,
            result,
            outcome=outcome,
            evidence=evidence,
            error=error,
            duration=call.duration,
            tool=call.tool,
            params=call.params,
        )

    def _open_turn(self) -> None:
        """Open a turn by a response where its usage is known; else the call itself opens it."""
        if self.run.state.open_turn is None and self._usage != _NO_USAGE:
            self.run.model_responded(usage=self._take_usage())

    def _take_usage(self) -> Usage | None:
        with self._usage_lock:
            usage, self._usage = self._usage, _NO_USAGE
        return None if usage == _NO_USAGE else usage


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
