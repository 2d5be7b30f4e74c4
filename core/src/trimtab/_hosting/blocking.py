"""Reporting a conversation to a run, and placing what it says: on the caller's thread."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._events import DecisionPoint, Delivery, Evidence, Outcome, ToolCall
from trimtab._hosting.calls import LOG, AskedCalls, RunningCall, contained
from trimtab._hosting.executor import named
from trimtab._hosting.placement import Placement
from trimtab._run.completion import exhausted
from trimtab._run.run import Run
from trimtab._types.errors import SessionError
from trimtab._types.options import argument, as_instance, as_timeout, tuple_of
from trimtab._types.text import as_text, render_block, shown

if TYPE_CHECKING:
    from datetime import datetime

    from trimtab._contract.tools import RenderedPrompt
    from trimtab._events.guidance import CompletionChecked, StopRequested
    from trimtab._types.limits import Usage


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
    """The half of `Driver` that asks the providers on the caller's thread."""

    def __init__(self, run: Run, *, timeout: float | None = 1.0, strict: bool = False) -> None:
        as_instance("run", run, Run, "write session.open_run(prompt)")
        timeout = as_timeout(timeout)
        if run.state.closed:
            raise SessionError(
                f"run {run.run_id!r} is closed: open it again with session.open_run(prompt, "
                "run_id=…), or open a new one"
            )
        self.run = run
        self.strict = strict
        self._placement = Placement(run, timeout)
        self._timeout = timeout
        self._calls = AskedCalls(run, strict=strict)
        self._ending = Lock()  # on record each end is followed by its feedback, and replays so
        self._guidance = ""
        self._unanswered: str | None = None
        self._asked_at: datetime | None = None

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

    @contained(None)
    def user_said(self, text: str) -> None:
        """Record what the user newly said; the same text again before a response is one request.

        Every request of the user begins anew what is counted about a stretch of work. So report
        no message that the runtime itself adds, such as the rules of an output format.
        """
        if text == self._unanswered:
            return
        self._unanswered = text
        self._calls.settle()
        self._placement.something_happened()
        self.run.user_message(text)

    @contained("")
    def next_request(self, *, delivery: Delivery | None = None) -> str:
        """Return the text that the next request carries besides the conversation.

        It holds what earlier decision points left for it. Asked again before anything was reported
        (a retry), the answer is the same. If the host keeps the text in its history
        (`Delivery.PERSISTED`), it is returned once and a retry gets nothing.

        Args:
            delivery: how the text is placed this time; as the host declares if None.
        """
        self._calls.settle()
        text = self._placement.request(delivery)
        self._asked_at = self.run.session.clock.now()
        return text

    # The response and its calls.

    @contained("")
    def responded(
        self,
        text: str = "",
        calls: Iterable[ToolCall] = (),
        usage: Usage | None = None,
        *,
        reasoning: str = "",
        stop_reason: str | None = None,
        model: str = "",
        provider: str = "",
        at: datetime | None = None,
        delivery: Delivery | None = None,
    ) -> str:
        """Record a response of the model, and return guidance about its calls.

        The guidance (PRE_TOOL_EXECUTION) is for the tools: `ToolContext.guidance`. The model reads
        it with the next request, or behind an answer, or as a refusal, as the host declares.

        Args:
            text, usage, reasoning, stop_reason, model, provider, at: as for `Run.model_responded`.
            calls: all calls that it asks for.
            delivery: as for `next_request`.
        """
        more: dict[str, Any] = {"reasoning": reasoning, "stop_reason": stop_reason, "at": at}
        self.heard(text, calls, usage, model=model, provider=provider, **more)
        return self.before_tools(delivery=delivery)

    @contained(None)
    def heard(
        self,
        text: str = "",
        calls: Iterable[ToolCall] = (),
        usage: Usage | None = None,
        **more: Any,
    ) -> None:
        """Record a response without asking for guidance; `before_tools` asks.

        Calls of the last response without an end were interrupted. The request was sent when
        `next_request` was asked for its text, if nothing else is said.

        Args:
            text, calls, usage: as for `responded`.
            more: as for `Run.model_responded`.
        """
        asked = tuple(map(named, argument(tuple_of, "calls", calls, ToolCall)))
        self._calls.end_open()
        if more.get("at") is None:  # else the response is read later than it came
            more.setdefault("started", self._asked_at)
        self._asked_at = None
        self.run.model_responded(text=text, tool_calls=asked, usage=usage, **more)
        self._calls.replace(asked)
        self._placement.something_happened()
        self._placement.forget_calls()
        self._guidance, self._unanswered = "", None

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the last response that have no end, in its order."""
        return self._calls.pending

    @contained("")
    def before_tools(self, *, delivery: Delivery | None = None) -> str:
        """Return guidance about the calls of the last response, before they run.

        Args:
            delivery: as for `next_request`.
        """
        pending = self._calls.pending
        if pending:
            self._guidance = self._placement.before_tools(pending, delivery)
        return self._guidance

    def running(
        self, call: ToolCall | str, *, passes: tuple[type[BaseException], ...] = ()
    ) -> RunningCall:
        """Return the context in which a call runs: ``with driver.running(call): …``.

        The start is recorded. If the block raises, the error is the end of the call, unless the
        call runs again before `answered` or the next report: the last attempt counts.
        ``async with`` does the same; nobody is asked here, so that the loop never waits.

        Args:
            call: the call or its id.
            passes: exceptions that are no end of the call, beside `Host.control_flow`: the call
                stays open.

        Raises:
            SessionError: the last response held no call of that id, and the driver is strict.
        """
        passes = (*self.run.host.control_flow, *passes)
        try:
            found = self._calls.find(call)
        except SessionError as refused:
            if self.strict:
                raise
            LOG.info("running: %s", refused)
            unknown = ToolCall("", {}, call if isinstance(call, str) else shown(call))
            return RunningCall(unknown, self._guidance, "", None, passes)
        return RunningCall(found, self._guidance, self._placement.refusal, self._calls, passes)

    @contained("")
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
    ) -> str:
        """Record how a call ended; return the text that stands behind its result.

        The text holds the feedback that is due, and guidance if the host keeps it there. See
        `append_text`.

        Args:
            call: the call or its id; tool and arguments are those of the response.
            result, outcome, evidence, poll, at: as for `Run.tool_finished`.
            error: the error's text; `result` as text if None and the call failed.
            duration: seconds; measured from `running` if None.
            tool, params: of a call that no response asked for.
            delivery: as for `next_request`.

        Raises:
            SessionError: the driver is strict, and the call is unknown or has its answer already,
                or an argument has the wrong type.
        """
        if not isinstance(call, str | ToolCall):
            raise SessionError(f"call must be a ToolCall or its id, not {shown(call)}")
        if self._calls.failed(call):
            return self.comment(delivery=delivery)
        call_id = call.call_id if isinstance(call, ToolCall) else call
        try:
            asked = self._calls.take(call)
        except SessionError as refused:
            if self.strict:
                raise
            LOG.info("answered: %s", refused)
            return ""
        known = asked is not None or tool is not None or call_id in self.run.state.running
        if not known and not self.strict:
            LOG.info("answered: no response asked for call %.100r", call_id)
            return ""
        if error is None and outcome != Outcome.OK:
            error = as_text(result)
        with self._ending:
            try:
                self.run.tool_finished(
                    call_id,
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
            except SessionError:
                self._calls.give_back(asked)
                raise
            return self.comment(delivery=delivery)

    @contained("")
    def comment(self, *, delivery: Delivery | None = None) -> str:
        """Return the text behind the result of a call that was recorded elsewhere.

        Args:
            delivery: as for `next_request`.
        """
        self._placement.something_happened()
        return self._placement.behind_result(delivery)

    # The end.

    @contained(StopDecision(may_stop=True))
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
        """
        self._calls.settle()
        if not api_error:  # after a failed request the next one is a retry
            self._placement.something_happened()
        stays = awaiting_user or background_work or final or api_error or self.exhausted()
        if not stays:
            way = delivery or self._placement.way(DecisionPoint.PRE_RESPONSE)
            said = self._placement.ask(DecisionPoint.PRE_RESPONSE, way)
            if said:
                return StopDecision(False, "" if way is Delivery.EPHEMERAL else said)
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

    @property
    def stop_request(self) -> StopRequested | None:
        """What asks the host to end this turn, with a summary for the user; None if nothing does.

        Hosts that declare `Host.stops` look after `next_request`, and send no request.
        """
        return self.run.state.guidance.stop

    def exhausted(self) -> str | None:
        """Return why nothing more may be asked of the model; None if it may."""
        return exhausted(self.run)

    @contained(None)
    def close(self, reason: str = "completed") -> None:
        """End the run; closing twice is no error. Calls without an end were interrupted."""
        if not self.run.state.closed:
            self._calls.end_open()
        self.run.close(reason)

    def asks(self, point: DecisionPoint) -> bool:
        """Return whether a provider would be asked at `point`."""
        return bool(self.run.prompt.table.guides.get(point))
