"""Recording what happens in a run: the half of `Run` that hosts report to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from trimtab._boundary import duplicate
from trimtab._events import (
    CallOrigin,
    CompactionHappened,
    Event,
    Evidence,
    ModelResponded,
    Outcome,
    ToolCall,
    ToolInvoked,
    ToolStarted,
    UserMessage,
)
from trimtab._types.errors import SessionError
from trimtab._types.limits import Budget, Deadline, Usage
from trimtab._types.options import (
    argument,
    as_flag,
    as_instance,
    as_member,
    as_seconds,
    as_text,
    as_time,
    tuple_of,
)
from trimtab._types.text import reduced

if TYPE_CHECKING:
    from trimtab._session.record import Record
    from trimtab._session.state import RunState, Trajectory

E = TypeVar("E", bound=Event)
_NO_CALLS: tuple[ToolCall, ...] = ()
_COMMON = tuple(field.name for field in attrs.fields(Event))
LOOKS_EVERY = 32
"""Responses, and ended calls, after which a run looks for projections that are far behind."""


class Recorder:
    """Records the events of one run. All methods may be called from several threads.

    Arguments are checked before anything is recorded: a call that raises leaves no trace.

    Attributes:
        session: the record that the events go to.
        state: counters and signals of the run; read it, don't write it.
        deadline: the run's time limit, or None.
        budget: the run's limits, or None.
    """

    def __init__(
        self, session: Record, state: RunState, *, deadline: Deadline | None, budget: Budget | None
    ) -> None:
        self.session = session
        self.state = state
        self.deadline = deadline
        self.budget = budget
        self._now, self._monotonic = session.clock.now, session.clock.monotonic
        self._opened = self._monotonic() - state.active_seconds
        self._identity = state.prompt_name, state.run_id, state.agent_id

    @property
    def run_id(self) -> str:
        """The run's identifier; `Session.open_run` resumes by it."""
        return self.state.run_id

    @property
    def agent_id(self) -> str | None:
        """The subagent that the run belongs to; None for the main agent."""
        return self.state.agent_id

    @property
    def trajectory(self) -> Trajectory:
        """The calls of this run, as projections follow them."""
        return self.state.trajectory

    @property
    def active_seconds(self) -> float:
        """Monotonic seconds since the run was opened, summed over its resumptions."""
        return self._monotonic() - self._opened

    @property
    def usage(self) -> Usage:
        """Tokens and cost of all responses so far."""
        return self.state.usage

    def exhausted_budget(self) -> str | None:
        """Return the name of the budget's limit that is used up, or None."""
        if self.budget is None:
            return None
        state = self.state
        return self.budget.exhausted(
            state.usage, self.active_seconds, turns=state.turns, calls=state.calls
        )

    def recent_tool_calls(self, n: int) -> Sequence[ToolInvoked]:
        """Return the last `n` ended calls of this run, oldest first."""
        return self.session.recent_calls(self.run_id, n)

    def user_message(
        self, text: str, *, notification: bool = False, at: datetime | None = None
    ) -> None:
        """Record a message of the user.

        Args:
            text: the message.
            notification: whether the harness sent it on the user's channel.
            at: when it arrived, aware UTC; now if None.

        Raises:
            SessionError: an argument has the wrong type.
        """
        as_flag("notification", notification)
        self.dispatch(UserMessage, text=as_text("text", text), notification=notification, at=at)

    def model_responded(
        self,
        *,
        text: str = "",
        reasoning: str = "",
        tool_calls: Iterable[ToolCall] = _NO_CALLS,
        usage: Usage | None = None,
        stop_reason: str | None = None,
        model: str = "",
        provider: str = "",
        started: datetime | None = None,
        at: datetime | None = None,
    ) -> int:
        """Record a response of the model: it opens a turn.

        Args:
            text: what it says to the user.
            reasoning: its visible thinking.
            tool_calls: all calls that it asks for.
            usage: tokens and cost of this response.
            stop_reason: why the service ended the response, in the service's words.
            model: which model answered; empty if unknown.
            provider: whose service it is, e.g. ``"openai"``; empty if unknown.
            started: when the request was sent, aware UTC; None if unknown.
            at: when it arrived, aware UTC; now if None.

        Returns:
            the index of the turn, from 0.

        Raises:
            SessionError: an argument has the wrong type.
        """
        calls = () if tool_calls is _NO_CALLS else as_calls(tool_calls)
        if usage is not None:
            as_instance("usage", usage, Usage, optional=True)
        if text.__class__ is not str or reasoning.__class__ is not str:
            text, reasoning = as_text("text", text), as_text("reasoning", reasoning)
        if stop_reason is not None:
            as_text("stop_reason", stop_reason)
        if model.__class__ is not str or provider.__class__ is not str:
            model, provider = as_text("model", model), as_text("provider", provider)
        if at is not None:
            at = as_time(at)
        if started is not None:
            started = as_time(started, "started")
        with self.session.lock.guard:
            turn = self.state.turns
            response = (turn, text, reasoning, calls, usage, stop_reason, model, provider, started)
            self._record(_unchecked(ModelResponded), at, response)
        if turn % LOOKS_EVERY == 0:
            self._look_after()
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
        """Record that a tool call is about to run; opens a turn if none is open.

        Args:
            tool: the tool's name.
            params: its arguments, JSON-like.
            call_id: the host's identifier of the call.
            caller: who asked for the call.
            at: when it starts, aware UTC; now if None.

        Raises:
            SessionError: an argument has the wrong type.
        """
        if tool.__class__ is not str or not tool or call_id.__class__ is not str:
            tool, call_id = as_text("tool", tool, needed=True), as_text("call_id", call_id)
        if caller.__class__ is not CallOrigin:
            caller = as_member("caller", CallOrigin, caller)
        params = reduced(params)
        if at is not None:
            at = as_time(at)
        with self.session.lock.guard:
            turn = self.state.next_turn()
            self._record(_unchecked(ToolStarted), at, (tool, params, call_id, turn, caller))

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
        """Record that a tool call ended, with any outcome.

        A call that never started (denied, invalid, unknown tool) takes its tool and arguments
        from the last response of the model, if that asked for `call_id`.

        Args:
            call_id: the host's identifier of the call.
            result: what the tool returned, JSON-like or text.
            outcome: how the call ended.
            evidence: how the outcome is known.
            error: the error's text, if it failed.
            duration: seconds; measured from `tool_started` if None.
            poll: whether the host declares the call a poll; None if it does not say.
            tool: the tool's name, for a call that no response asked for and that never started.
            params: the arguments of such a call.
            caller: who asked for such a call.
            at: when it ended, aware UTC; now if None.

        Raises:
            SessionError: the call is unknown, or an argument has the wrong type.
        """
        if (
            call_id.__class__ is not str
            or outcome.__class__ is not Outcome
            or evidence.__class__ is not Evidence
            or caller.__class__ is not CallOrigin
        ):
            call_id, outcome = as_text("call_id", call_id), as_member("outcome", Outcome, outcome)
            evidence = as_member("evidence", Evidence, evidence)
            caller = as_member("caller", CallOrigin, caller)
        error = None if error is None else as_text("error", error)
        tool = None if tool is None else as_text("tool", tool, needed=True)
        if duration is not None or poll is not None or at is not None:
            as_flag("poll", False if poll is None else poll)
            duration, at = as_seconds("duration", duration), None if at is None else as_time(at)
        if result.__class__ is not str:
            result = reduced(result)
        state = self.state
        with self.session.lock.guard:
            if running := state.running.get(call_id):
                start = running[0]
                tool, params, turn, caller = start.tool, start.params, start.turn, start.caller
                started = start.at
                if duration is None and start.elapsed is not None:
                    duration = self._monotonic() - self._opened - start.elapsed
            else:
                tool, params = self._asked_for(call_id, tool, params)
                turn, started = state.next_turn(), None
            asked = tool, params, result, call_id, turn, outcome, evidence, error
            fields = *asked, started, duration, caller, poll
            event: ToolInvoked = self._record(_unchecked(ToolInvoked), at, fields)
            calls = state.calls
        if state.feeds.shared:
            self._share()
        if calls % LOOKS_EVERY == 0:
            self._look_after()
        return event

    def _look_after(self) -> None:
        """Called outside the lock after every 32nd response and ended call."""

    def _share(self) -> None:
        """Called outside the lock after an ended call if providers share a projection."""

    def _asked_for(self, call_id: str, tool: str | None, params: Any) -> tuple[str, Any]:
        """Return tool and arguments of a call that never started."""
        if tool is None:
            asked = self.state.asked_for(call_id)
            if asked is None:
                raise SessionError(
                    f"no tool call {call_id!r} is running in run {self.run_id!r}: it has ended, or "
                    "never started; call tool_started first, or give tool= and params="
                )
            return asked.tool, {} if asked.params is None else asked.params
        return tool, {} if params is None else reduced(params)

    def compacted(self, summary: str = "", *, at: datetime | None = None) -> None:
        """Record that the host shortened the model's history.

        Args:
            summary: the text that replaces the history, if the host knows it.
            at: when, aware UTC; now if None.
        """
        self.dispatch(CompactionHappened, summary=as_text("summary", summary), at=at)

    def dispatch(self, kind: type[E], *, at: datetime | None = None, **fields: Any) -> E:
        """Record one event of this run.

        Args:
            kind: the event's class.
            at: when it happened, aware UTC; now if None.
            fields: the event's own fields.
        """
        at = None if at is None else as_time(at)
        with self.session.lock.guard:
            return self._record(
                lambda *common: kind(**fields, **dict(zip(_COMMON, common, strict=True))), at
            )

    def _record(
        self, make: Callable[..., E], at: datetime | None, fields: tuple[Any, ...] = ()
    ) -> E:
        """Make an event, and put it into session and run; call it while holding the lock."""
        elapsed = self._monotonic() - self._opened
        event = make(*self._identity, at or self._now(), elapsed, *fields)
        self.session.takers[event.__class__](event)
        self.state.apply(event)
        return event

    def stamp(self, event: E, **fields: Any) -> E:
        """Return `event` with the identity of this run and the current time.

        Args:
            event: an event of any class.
            fields: other fields that change.
        """
        common = (*self._identity, self._now(), self._monotonic() - self._opened)
        return duplicate(event, **fields, **dict(zip(_COMMON, common, strict=True)))


def as_calls(values: Iterable[Any], name: str = "tool_calls") -> tuple[ToolCall, ...]:
    """Return calls as a record keeps them."""
    calls = argument(tuple_of, name, values, ToolCall)
    return tuple([ToolCall(one.tool, reduced(one.params), one.call_id) for one in calls])


@cache
def _unchecked(cls: type[Any]) -> Callable[..., Any]:
    """Return what makes a frozen record of all its fields, in order, each as the record keeps it.

    A frozen class sets each field by a call, which takes five times as long as an assignment. An
    object of a class with the same slots that is not frozen is filled, and then becomes one of
    `cls`.

    Args:
        cls: an attrs class with slots; neither its converters nor its validators are called.
    """

    def become(self: Any) -> None:
        self.__class__ = cls

    body = {
        "__slots__": vars(cls)["__slots__"],
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,
        "__attrs_post_init__": become,
    }
    fields = {field.name: attrs.field() for field in attrs.fields(cls)}
    twin = type(cls.__name__, cls.__bases__, body)
    made: Callable[..., Any] = attrs.define(twin, these=fields, slots=False, eq=False, repr=False)
    return made
