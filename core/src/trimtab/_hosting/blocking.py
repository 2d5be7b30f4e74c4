"""Reporting a conversation to a run, and placing what it says: on the caller's thread."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from trimtab._events.provenance import DecisionPoint, Delivery
from trimtab._events.run import Evidence, Outcome, ToolCall
from trimtab._hosting.calls import AskedCalls, RunningCall
from trimtab._hosting.placement import Placement
from trimtab._session.arguments import as_timeout, check_calls
from trimtab._session.recorder import Recorder
from trimtab._types.errors import SessionError
from trimtab._types.text import as_text, render_block, shown

if TYPE_CHECKING:
    from datetime import datetime

    from trimtab._contract.tools import RenderedPrompt
    from trimtab._events.providers import CompletionChecked
    from trimtab._run.run import Run
    from trimtab._types.limits import Usage

T = TypeVar("T")


@attrs.frozen
class StopDecision:
    """Whether the agent may stop; truthy if it may.

    Args:
        may_stop: if not, ask the model again.
        text: what the user's next message says in that case; empty if there is no message to add.
        checked: what the completion gate found; None if it was not asked.
    """

    may_stop: bool
    text: str = ""
    checked: CompletionChecked | None = None

    def __bool__(self) -> bool:
        return self.may_stop


def append_text(result: str, text: str) -> str:
    """Return `result` with `text` behind it, as a paragraph of its own; `result` if it is empty."""
    return f"{result}\n\n{text}" if text else result


class BlockingDriver:
    """The half of `Driver` that asks the providers on the caller's thread.

    Args:
        run: opened by ``session.open_run(prompt, host=…)``.
        timeout: seconds that a provider may take, on a worker thread; None asks on the caller's.
    """

    def __init__(self, run: Run, *, timeout: float | None = 1.0) -> None:
        if not isinstance(run, Recorder):
            raise SessionError(
                f"run must be a Run, as session.open_run(prompt) returns it, not {shown(run)}"
            )
        as_timeout(timeout)
        if run.state.closed:
            raise SessionError(
                f"run {run.run_id!r} is closed: open it again with session.open_run(prompt, "
                "run_id=…), or open a new one"
            )
        self.run = run
        self._placement = Placement(run, timeout)
        self._timeout = timeout
        self._calls = AskedCalls()
        self._guidance = ""
        self._unanswered: str | None = None

    # The request.

    def render(self, *params: Any) -> RenderedPrompt[Any]:
        """Return the prompt, rendered, as the request of the user; it is recorded.

        PRE_RENDER guidance is part of the text if the host keeps it, else of the next request.

        Args:
            params: as for `Prompt.render`.
        """
        if self._placement.way(DecisionPoint.PRE_RENDER) is Delivery.PERSISTED:
            rendered = self.run.render(*params, timeout=self._timeout)
            self.user_said(rendered.text)
            return rendered
        rendered = self.run.rendered = self.run.prompt.render(*params)
        self.user_said(rendered.text)
        if self.exhausted() is None:
            self._placement.ask(DecisionPoint.PRE_RENDER)
        return rendered

    def user_said(self, text: str) -> None:
        """Record a request of the user; the same text again before a response is one request."""
        if text == self._unanswered:
            return
        self._unanswered = text
        self._placement.something_happened()
        self.run.user_message(text)

    def next_request(self, *, delivery: Delivery | None = None, replayed: bool = False) -> str:
        """Return the text that the next request carries besides the conversation.

        It holds what earlier decision points left for it. Asked again before anything was reported
        (a retry), the answer is the same. If the host keeps the text in its history
        (`Delivery.PERSISTED`), it is returned once and a retry gets nothing.

        Args:
            delivery: how the text is placed this time; as the host declares if None.
            replayed: as for `Run.guide`.
        """
        return self._placement.request(delivery, replayed=replayed)

    # The response and its calls.

    def responded(
        self,
        text: str = "",
        calls: Iterable[ToolCall] = (),
        usage: Usage | None = None,
        *,
        reasoning: str = "",
        stop_reason: str | None = None,
        at: datetime | None = None,
        delivery: Delivery | None = None,
        replayed: bool = False,
    ) -> str:
        """Record a response of the model, and return guidance about its calls.

        The guidance (PRE_TOOL_EXECUTION) is for the tools: `ToolContext.guidance`. The model reads
        it with the next request, or behind an answer, or as a refusal, as the host declares.

        Args:
            text: what the model says to the user.
            calls: all calls that it asks for.
            usage: tokens and cost of this response.
            reasoning: its visible thinking.
            stop_reason: why the service ended the response, in the service's words.
            at: when it arrived, aware UTC; now if None.
            delivery, replayed: as for `next_request`.
        """
        self.heard(text, calls, usage, reasoning=reasoning, stop_reason=stop_reason, at=at)
        return self.before_tools(delivery=delivery, replayed=replayed)

    def heard(
        self,
        text: str = "",
        calls: Iterable[ToolCall] = (),
        usage: Usage | None = None,
        **more: Any,
    ) -> None:
        """Record a response without asking for guidance; `before_tools` asks.

        Args:
            text, calls, usage: as for `responded`.
            more: as for `Run.model_responded`.
        """
        asked = check_calls(calls, "calls")
        self.run.model_responded(text=text, tool_calls=asked, usage=usage, **more)
        self._calls.replace(asked)
        self._placement.something_happened()
        self._placement.forget_calls()
        self._guidance, self._unanswered = "", None

    def before_tools(self, *, delivery: Delivery | None = None, replayed: bool = False) -> str:
        """Return guidance about the calls of the last response, before they run.

        Args:
            delivery, replayed: as for `next_request`.
        """
        pending = self._calls.pending
        if pending:
            self._guidance = self._placement.before_tools(pending, delivery, replayed=replayed)
        return self._guidance

    def running(self, call: ToolCall | str) -> RunningCall:
        """Return the context in which a call runs: ``with driver.running(call): …``.

        The start is recorded, and the end too if the block raises. ``async with`` does the same;
        nobody is asked here, so that the loop never waits.

        Args:
            call: the call or its id.

        Raises:
            SessionError: the last response held no call of that id.
        """
        found = self._calls.find(call)
        start = partial(self.run.tool_started, found.tool, found.params, found.call_id)
        fail = partial(self._failed, found)
        return RunningCall(found, self._guidance, self._placement.refusal(), start, fail)

    def answered(
        self,
        call: ToolCall | str,
        result: Any = None,
        outcome: Outcome = Outcome.OK,
        *,
        error: str | None = None,
        evidence: Evidence = Evidence.FLAG,
        duration: float | None = None,
        poll: bool | None = None,
        tool: str | None = None,
        params: Any = None,
        at: datetime | None = None,
        delivery: Delivery | None = None,
        replayed: bool = False,
    ) -> str:
        """Record how a call ended; return the text that stands behind its result.

        The text holds the feedback that is due, and guidance if the host keeps it there. See
        `append_text`.

        Args:
            call: the call or its id; tool and arguments are those of the response.
            result: what the tool returned, JSON-like or text.
            outcome: how the call ended.
            error: the error's text; `result` as text if None and the call failed.
            evidence: how the outcome is known.
            duration: seconds; measured from `running` if None.
            poll: whether the host declares the call a poll; None if it does not say.
            tool: the tool's name, for a call that no response asked for.
            params: the arguments of such a call.
            at: when it ended, aware UTC; now if None.
            delivery, replayed: as for `next_request`.

        Raises:
            SessionError: the call is unknown or has its answer already, or an argument has the
                wrong type.
        """
        if not isinstance(call, str | ToolCall):
            raise SessionError(f"call must be a ToolCall or its id, not {shown(call)}")
        if not self._calls.was_recorded(call):
            asked = self._calls.take(call)
            if error is None and outcome != Outcome.OK:
                error = as_text(result)
            self.run.tool_finished(
                call.call_id if isinstance(call, ToolCall) else call,
                result,
                outcome=outcome,
                evidence=evidence,
                error=error,
                duration=duration,
                poll=poll,
                tool=tool if asked is None else asked.tool,
                params=params if asked is None else asked.params,
                at=at,
            )
        return self.comment(delivery=delivery, replayed=replayed)

    def comment(self, *, delivery: Delivery | None = None, replayed: bool = False) -> str:
        """Return the text behind the result of a call that was recorded elsewhere.

        Args:
            delivery, replayed: as for `next_request`.
        """
        self._placement.something_happened()
        return self._placement.behind_result(delivery, replayed=replayed)

    def _failed(self, call: ToolCall, outcome: Outcome, text: str) -> None:
        self.run.tool_finished(
            call.call_id, text, outcome=outcome, error=text, tool=call.tool, params=call.params
        )
        self._calls.failed(call)

    # The end.

    def may_stop(
        self,
        text: str | None = None,
        *,
        output: Any = None,
        stop_reason: str | None = None,
        checkers: Iterable[Any] = (),
        awaiting_user: bool = False,
        background_work: bool = False,
        api_error: str | None = None,
        final: bool = False,
        delivery: Delivery | None = None,
        replayed: bool = False,
    ) -> StopDecision:
        """Return whether the agent may stop after a response without calls.

        PRE_RESPONSE guidance sends the agent back before the completion gate is asked.

        Args:
            text: what it ends with; the text of the last response if None.
            output: the structured output, if there is one.
            checkers: the client's own, as for `Run.check_completion`.
            stop_reason, awaiting_user, background_work, api_error, final: as for
                `Run.check_completion`.
            delivery: as for `next_request`. With `Delivery.NONE` the model can't be asked again:
                no guidance, only the gate's verdict.
            replayed: as for `next_request`; the gate is not asked.
        """
        if not api_error:  # after a failed request the next one is a retry
            self._placement.something_happened()
        stays = awaiting_user or background_work or final or api_error or self.exhausted()
        if not stays:
            way = delivery or self._placement.way(DecisionPoint.PRE_RESPONSE)
            said = self._placement.ask(DecisionPoint.PRE_RESPONSE, way, replayed=replayed)
            if said:
                return StopDecision(False, "" if way is Delivery.EPHEMERAL else said)
        if replayed:
            return StopDecision(may_stop=True)
        response = self.run.state.last_response
        ending = (response.text if response else None) if text is None else text
        checked = self.run.check_completion(
            output=ending if output is None else output,
            stop_reason=stop_reason,
            extra=checkers,
            awaiting_user=awaiting_user,
            background_work=background_work,
            api_error=api_error,
            final=final,
        )
        if checked.may_stop:
            return StopDecision(may_stop=True, checked=checked)
        feedback = render_block("feedback", checked.feedback or "", source="completion")
        return StopDecision(False, feedback, checked)

    def exhausted(self) -> str | None:
        """Return why nothing more may be asked of the model; None if it may."""
        if self.run.deadline is not None and self.run.deadline.expired:
            return "the deadline has passed"
        limit = self.run.exhausted_budget()
        return f"the budget is used up: {limit}" if limit else None

    def close(self, reason: str = "completed") -> None:
        """End the run; closing twice is no error."""
        self.run.close(reason)

    def asks(self, point: DecisionPoint) -> bool:
        """Return whether a provider would be asked at `point`."""
        return bool(self.run.prompt.table.guides.get(point))
