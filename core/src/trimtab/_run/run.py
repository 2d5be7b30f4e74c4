"""A run: one prompt, opened on a session by one agent. The face that hosts see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from trimtab._contract.context import GuidanceContext, RunContext
from trimtab._contract.host import Host
from trimtab._events.provenance import DecisionPoint
from trimtab._events.run import (
    CallOrigin,
    CompactionHappened,
    Event,
    Evidence,
    ModelResponded,
    Outcome,
    RunClosed,
    ToolCall,
    ToolInvoked,
    ToolStarted,
    UserMessage,
)
from trimtab._run.guidance import NOTHING, GuidanceBatch, guide
from trimtab._run.invoker import ProviderInvoker
from trimtab._types.errors import SessionError

if TYPE_CHECKING:
    from trimtab._contract.host import RenderedPrompt
    from trimtab._contract.providers import TaskCompletionChecker
    from trimtab._events.providers import CompletionChecked
    from trimtab._prompt.template import Prompt
    from trimtab._run.session import Session
    from trimtab._session.state import RunState
    from trimtab._types.limits import Budget, Deadline, Usage
    from trimtab.trajectory import Trajectory


E = TypeVar("E", bound=Event)


class Run:
    """One prompt on one session; made by `Session.open_run`.

    Hosts tell it what happens (`model_responded`, `tool_started`, `tool_finished`, …) and ask
    it what to say (`guide`, `feedback`, `check_completion`). All methods may be called from
    several threads.

    Attributes:
        session, prompt, host, deadline, budget: what it was opened with.
        state: counters and signals; read it, don't write it.
        rendered: the prompt as last rendered, None before.
    """

    def __init__(
        self,
        session: Session,
        prompt: Prompt[Any],
        state: RunState,
        *,
        host: Host,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        limit: float | None = None,
    ) -> None:
        self.session = session
        self.prompt = prompt
        self.state = state
        self.host = host
        self.deadline = deadline
        self.budget = budget
        self.rendered: RenderedPrompt[Any] | None = None
        self.caller = ProviderInvoker(self)
        self._limit = limit
        self._opened = session.clock.monotonic() - state.active_seconds
        self._tools = _tool_names(prompt, host)
        state.feedback.watched = frozenset(
            entry.trigger.reset_by for entry in prompt.table.feedback if entry.trigger.reset_by
        )

    @property
    def run_id(self) -> str:
        """The run's identifier; `Session.open_run` resumes by it."""
        return self.state.run_id

    @property
    def agent_id(self) -> str | None:
        """The subagent, where there is one."""
        return self.state.agent_id

    @property
    def trajectory(self) -> Trajectory:
        """Signals over the tool calls of this run."""
        return self.state.trajectory

    @property
    def tools(self) -> frozenset[str] | None:
        """Names of the agent's tools; None where unknown."""
        return self._tools

    @property
    def active_seconds(self) -> float:
        """Monotonic seconds since the run was opened, all its resumptions taken together."""
        return self.session.clock.monotonic() - self._opened

    @property
    def usage(self) -> Usage:
        """Tokens and cost of all responses so far."""
        return self.state.usage

    def exhausted_budget(self) -> str | None:
        """Return the name of the budget's limit that is used up, or None."""
        if self.budget is None:
            return None
        return self.budget.exhausted(self.state.usage, self.active_seconds)

    def recent_tool_calls(self, n: int) -> Sequence[ToolInvoked]:
        """Return the last `n` ended calls of this run, oldest first."""
        return self.session.recent_calls(self.run_id, n)

    # What happened.

    def user_message(
        self, text: str, *, notification: bool = False, at: datetime | None = None
    ) -> None:
        """The user spoke; `notification`: the harness did, on the user's channel."""
        self.dispatch(UserMessage, text=text, notification=notification, at=at)

    def model_responded(
        self,
        *,
        text: str = "",
        reasoning: str = "",
        tool_calls: Iterable[ToolCall] = (),
        usage: Usage | None = None,
        at: datetime | None = None,
    ) -> int:
        """The model answered: a turn opens; return its index."""
        with self.session.lock:
            turn = self.state.turns
            response = ModelResponded(
                turn=turn,
                text=text,
                reasoning=reasoning,
                tool_calls=tuple(tool_calls),
                usage=usage,
                **self._stamp(at),
            )
            self.session.record(response, self.state)
        return turn

    def tool_started(
        self,
        tool: str,
        params: Any,
        call_id: str,
        *,
        caller: CallOrigin = CallOrigin.MODEL,
        at: datetime | None = None,
    ) -> None:
        """A tool call is about to run; a turn opens where none is open."""
        with self.session.lock:
            started = ToolStarted(
                tool=tool,
                params=params,
                call_id=call_id,
                turn=self.state.next_turn(),
                caller=caller,
                **self._stamp(at),
            )
            self.session.record(started, self.state)

    def tool_finished(
        self,
        call_id: str,
        result: Any = None,
        *,
        outcome: Outcome = Outcome.OK,
        evidence: Evidence = Evidence.FLAG,
        error: str | None = None,
        duration: float | None = None,
        poll: bool | None = None,
        tool: str | None = None,
        params: Any = None,
        caller: CallOrigin = CallOrigin.MODEL,
        at: datetime | None = None,
    ) -> ToolInvoked:
        """A tool call ended, whatever became of it.

        Args:
            call_id: of the call; `tool` and `params` are needed only where it never started
                (denied, invalid, unknown tool).
            duration: seconds; measured from `tool_started` where None.

        Raises:
            SessionError: no such call is running and `tool` is not given.
        """
        with self.session.lock:
            started = self.state.running.get(call_id)
            if started is None and tool is None:
                raise SessionError(
                    f"no tool call {call_id!r} is running in run {self.run_id!r}: it has ended, or "
                    "never started; call tool_started first, or give tool= and params="
                )
            stamp = self._stamp(at)
            if duration is None and started is not None and started.elapsed is not None:
                duration = stamp["elapsed"] - started.elapsed
            call = ToolInvoked(
                call_id=call_id,
                result=result,
                outcome=outcome,
                evidence=evidence,
                error=error,
                duration=duration,
                poll=poll,
                **stamp,
                **self._call_facts(started, tool, params, caller),
            )
            self.session.record(call, self.state)
        return call

    def _call_facts(
        self,
        started: ToolStarted | None,
        tool: str | None,
        params: Any,
        caller: CallOrigin,
    ) -> dict[str, Any]:
        if started is None:
            return {
                "tool": tool,
                "params": {} if params is None else params,
                "turn": self.state.next_turn(),
                "caller": caller,
            }
        return {
            "tool": started.tool,
            "params": started.params,
            "turn": started.turn,
            "caller": started.caller,
            "started": started.at,
        }

    def compacted(self, summary: str = "", *, at: datetime | None = None) -> None:
        """The host shortened the model's history."""
        self.dispatch(CompactionHappened, summary=summary, at=at)

    # What to say.

    def guidance_context(
        self, point: DecisionPoint, pending: Iterable[ToolCall] = ()
    ) -> GuidanceContext:
        """Return what guidance providers see at `point`."""
        return GuidanceContext(run=self, decision_point=point, pending_tool_calls=tuple(pending))

    def guide(
        self,
        point: DecisionPoint,
        *,
        pending: Iterable[ToolCall] = (),
        limit: float | None = None,
    ) -> GuidanceBatch:
        """Ask the guidance providers at `point`, and record what is delivered.

        PRE_TOOL_SELECTION closes the open turn.

        Args:
            pending: calls about to run (PRE_TOOL_EXECUTION).
            limit: seconds per provider, on a worker thread; None calls them right here.
        """
        if self.state.closed:
            return NOTHING
        if point is DecisionPoint.PRE_TOOL_SELECTION:
            self._close_turn()
        if not self.prompt.table.guides.get(point):
            return NOTHING
        return guide(self, self.guidance_context(point, pending), limit)

    def feedback(self, *, limit: float | None = None) -> str | None:
        """Return the feedback that is due now, rendered, or None; `limit` as for `guide`."""
        if self.state.closed or not self.prompt.table.feedback:
            return None
        from trimtab._run.feedback import feedback

        said = feedback(self, limit)
        return "\n\n".join(item.render() for item in said) if said else None

    def check_completion(
        self,
        *,
        output: Any = None,
        stop_reason: str | None = None,
        extra: Iterable[TaskCompletionChecker] = (),
        background_work: bool = False,
        awaiting_user: bool = False,
        api_error: str | None = None,
        final: bool = False,
    ) -> CompletionChecked:
        """Say whether the agent may stop; see `StopRequest` for the arguments.

        Args:
            extra: the client's own checkers, asked after the prompt's.
        """
        from trimtab._run.completion import StopRequest, check

        self._close_turn()
        stop = StopRequest(
            output=output,
            reason=stop_reason,
            background_work=background_work,
            awaiting_user=awaiting_user,
            api_error=api_error,
            final=final,
        )
        return check(self, stop, extra)

    async def acheck_completion(self, **stop: Any) -> CompletionChecked:
        """As `check_completion`, off the event loop."""
        import asyncio  # half of the time that importing trimtab would take

        return await asyncio.to_thread(self.check_completion, **stop)

    def render(self, *params: Any, limit: float | None = None) -> RenderedPrompt[Any]:
        """Return the prompt, rendered, with PRE_RENDER guidance as its last section.

        Args:
            params: as for `Prompt.render`.
            limit: as for `guide`.
        """
        rendered = self.prompt.render(*params)
        batch = self.guide(DecisionPoint.PRE_RENDER, limit=limit)
        if batch:
            rendered = attrs.evolve(rendered, text=f"{rendered.text}\n\n{batch.text}")
        self.rendered = rendered
        return rendered

    # Life.

    def opened(self, *, resumed: bool) -> None:
        """Tell the providers; called by `Session.open_run`."""
        for skipped in self.prompt.table.skipped:
            self.session.dispatch(self.stamp(skipped))
        if self.prompt.table.feedback and not resumed:
            from trimtab._run.feedback import note_existing_files

            note_existing_files(self)
        self._tell(self.prompt.table.opened, "run_opened")

    def close(self, reason: str = "") -> None:
        """End the run; its record stays in the session. Closing twice is no error."""
        if self.state.closed:
            return
        self.dispatch(RunClosed, reason=reason)
        self._tell(self.prompt.table.closed, "run_closed")
        self.caller.close()

    def _tell(self, hooks: Iterable[tuple[Any, Any]], name: str) -> None:
        context = RunContext(self)
        for source, hook in hooks:
            self.caller.call(source, name, hook, context, self._limit)

    def _close_turn(self) -> None:
        if self.state.open_turn is not None:
            with self.session.lock:
                self.state.close_turn()

    def dispatch(self, kind: type[E], *, at: datetime | None = None, **fields: Any) -> E:
        """Record one event of this run, stamped."""
        with self.session.lock:
            event = kind(**fields, **self._stamp(at))
            self.session.record(event, self.state)
        return event

    def stamp(self, event: E) -> E:
        """Return `event` as one of this run, now."""
        return attrs.evolve(event, **self._stamp())

    def _stamp(self, at: datetime | None = None) -> dict[str, Any]:
        """Return what every event of this run carries; ask under the lock, to keep the order."""
        clock, state = self.session.clock, self.state
        return {
            "prompt_name": state.prompt_name,
            "run_id": state.run_id,
            "agent_id": state.agent_id,
            "at": at or clock.now(),
            "elapsed": clock.monotonic() - self._opened,
        }


def _tool_names(prompt: Prompt[Any], host: Host) -> frozenset[str] | None:
    template = prompt.template
    own = frozenset(
        tool.name
        for tools in (template.tools, *(section.tools for section in template.sections))
        for tool in tools
    )
    if host.tools is not None:
        return host.tools | own
    return own or None
