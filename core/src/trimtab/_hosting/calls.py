"""The calls of one response: which are open, and how one of them runs."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import iscoroutinefunction
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import attrs

from trimtab._events import CallOrigin, Evidence, Outcome, ToolCall, ToolInvoked
from trimtab._hosting.executor import RAISED, format_error, named
from trimtab._types.errors import SessionError, is_cancelled
from trimtab._types.text import shown

if TYPE_CHECKING:
    from datetime import datetime

    from trimtab._run.run import Run

Method = TypeVar("Method", bound=Callable[..., Any])

LOG = logging.getLogger("trimtab.hosting")

REMEMBERED = 256
"""Ids of calls that ended without an answer, kept to know an answer that comes too late."""

MANY = 32
"""Calls of one response whose ends, retries included, may not be among a run's last 64 calls."""


def contained(nothing: object) -> Callable[[Method], Method]:
    """Let a method log what it raises and return `nothing`, if ``self.strict`` is false.

    For methods, also ``async def``, of a host's objects: nothing of trimtab may raise into the
    agent that it guides.

    Args:
        nothing: what the host gets when there is nothing to place.
    """

    def around(method: Method) -> Method:
        failed = f"{method.__name__} failed; the agent goes on without guidance"

        @wraps(method)
        def call(host: Any, *arguments: Any, **options: Any) -> Any:
            if host.strict:
                return method(host, *arguments, **options)
            try:
                return method(host, *arguments, **options)
            except Exception:
                LOG.exception(failed)
                return nothing

        @wraps(method)
        async def acall(host: Any, *arguments: Any, **options: Any) -> Any:
            try:
                return await method(host, *arguments, **options)
            except Exception:
                if host.strict:
                    raise
                LOG.exception(failed)
                return nothing

        return cast(Method, acall if iscoroutinefunction(method) else call)

    return around


@attrs.frozen
class Raised:
    """The end of a call whose tool raised, until it is reported or the call runs again."""

    call: ToolCall
    text: str
    at: datetime
    duration: float | None


class AskedCalls:
    """The calls of the last response that have no answer yet.

    Several calls may share an id: some services give the same one twice. Where the runtime calls
    a tool again that raised, the end of the last attempt counts.
    """

    def __init__(self, run: Run, *, strict: bool) -> None:
        self._run = run
        self.strict = strict
        self._lock = Lock()
        last = run.state.last_response
        self._asked = last.tool_calls if last is not None else ()
        self._open = list(self._asked)
        self._raised: dict[str, Raised] = {}
        self._told: Counter[str] = Counter()
        self._left: deque[str] = deque(maxlen=REMEMBERED)
        self._open = list(self.pending)
        # Calls that started and will be started again: in an earlier process, where they were
        # interrupted to ask the user, or where they raised.
        self._begun: Counter[str] = Counter(
            {call_id: len(starts) for call_id, starts in run.state.running.items()}
        )

    def replace(self, calls: Iterable[ToolCall]) -> None:
        """Start with the calls of a new response; see `end_open`."""
        with self._lock:
            self._asked = tuple(calls)
            self._open = list(self._asked)

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        with self._lock:
            asked, ours = tuple(self._open), _ids(self._asked) - _ids(self._open)
        last = self._run.state.last_response
        if not asked or last is None:
            return asked
        # The run has its last 64 calls at hand; for more, the session searches its record.
        many = 2 * len(asked) if len(asked) > MANY else 0
        recent = self._run.recent_tool_calls(max(len(self._run.state.recent), many))
        ended = _ids(call for call in recent if (call.turn or 0) >= (last.turn or 0))
        ended.subtract(ours)
        return tuple(_without(asked, ended))

    def _knows(self, call_id: str) -> bool:
        return any(call.call_id == call_id for call in self._asked)

    def find(self, call: ToolCall | str) -> ToolCall:
        if isinstance(call, ToolCall):
            return call
        with self._lock:
            found = next((known for known in self._open if known.call_id == call), None)
        if found is None:
            raise SessionError(f"the last response asked for no call {shown(call)}: give ToolCall")
        return found

    def take(self, call: ToolCall | str) -> ToolCall | None:
        """Return the call that is answered now; None if no response asked for it."""
        call_id = _id(call)
        with self._lock:
            found = self._close(call_id, call)
            if found is not None:
                return found
            if self._knows(call_id):
                raise SessionError(f"call {call_id!r:.100} has its answer already: answer it once")
            if call_id and call_id in self._left:
                raise SessionError(f"call {call_id!r:.100} ended without an answer: it came late")
        return named(call) if isinstance(call, ToolCall) else None

    def give_back(self, call: ToolCall | None) -> None:
        if call is not None and self._knows(call.call_id):
            with self._lock:
                self._open.append(call)

    # While a tool runs.

    @contained(None)
    def start(self, call: ToolCall) -> None:
        """Record that a call starts; once, if the runtime starts it again."""
        call_id = call.call_id
        with self._lock:
            asked = sum(known.call_id == call_id for known in self._open)
            if self._knows(call_id) and not asked:
                return  # it has its answer: a retried step of the runtime
            self._raised.pop(call_id, None)
            if self._begun[call_id] > 0:
                self._begun[call_id] -= 1
                return
            if self._knows(call_id) and len(self._run.state.running.get(call_id, ())) >= asked:
                return  # the runtime runs it anew, and has not told what became of it
        self._run.tool_started(named(call).tool, call.params, call_id)

    def leave(self, call: ToolCall) -> None:
        """Note that a started call was left by control flow, not by an end."""
        with self._lock:
            self._begun[call.call_id] += 1

    @contained(None)
    def stop(self, call: ToolCall, outcome: Outcome, text: str) -> None:
        """Note how a call ended whose tool raised; an error waits for another attempt."""
        starts = self._run.state.running.get(call.call_id)
        began = starts[0].elapsed if starts else None
        duration = None if began is None else max(self._run.active_seconds - began, 0.0)
        raised = Raised(call, text, self._run.session.clock.now(), duration)
        with self._lock:
            if outcome is Outcome.ERROR:
                self._raised[call.call_id] = raised
                self._begun[call.call_id] += 1
                return
            self._told[call.call_id] += 1
            self._close(call.call_id, call)
        self._record(raised, outcome)

    def failed(self, call: ToolCall | str) -> bool:
        """Return whether the tool of a call raised; its end is recorded now, if it was not."""
        call_id = _id(call)
        with self._lock:
            if self._told[call_id] > 0:
                self._told[call_id] -= 1
                return True
            raised = self._raised.pop(call_id, None)
            if raised is None:
                return False
            self._begun[call_id] -= 1
            self._close(call_id, raised.call)
        self._record(raised, Outcome.ERROR)
        return True

    def settle(self) -> None:
        """Record all errors that wait for another attempt: there was none."""
        for call_id in tuple(self._raised):
            if self.failed(call_id):
                self._told[call_id] += 1

    def end_open(self) -> None:
        """Record that all calls without an end were interrupted."""
        self.settle()
        asked = self.pending
        begun = [
            ToolCall(start.tool, start.params, start.call_id)
            for starts in tuple(self._run.state.running.values())
            for start in starts
            if start.caller is CallOrigin.MODEL
        ]
        never = _without(asked, _ids(begun))
        with self._lock:
            self._open = []
            self._begun.clear()
            self._told.clear()
        for call in (*begun, *never):
            self._left.append(call.call_id)
            self._run.tool_finished(
                call.call_id,
                outcome=Outcome.INTERRUPTED,
                evidence=Evidence.DERIVED,
                error="no answer",
                tool=call.tool,
                params=call.params,
            )

    def _close(self, call_id: str, call: object) -> ToolCall | None:
        """Close `call`, or the first that shares its id; return it, None if none is open."""
        same = [known for known in self._open if known.call_id == call_id]
        if not same:
            return None
        found = next((known for known in same if known is call), same[0])
        self._open = [known for known in self._open if known is not found]
        return found

    def _record(self, raised: Raised, outcome: Outcome) -> None:
        call = named(raised.call)
        self._run.tool_finished(
            call.call_id,
            raised.text,
            outcome=outcome,
            error=raised.text,
            duration=raised.duration,
            tool=call.tool,
            params=call.params,
            at=raised.at,
        )


@attrs.frozen
class RunningCall:
    """A call while it runs; use it with ``with`` or ``async with``.

    Args:
        call: the call.
        guidance: what providers say about the calls of this response, for `ToolContext.guidance`.
        refusal: if not empty, don't run the tool: answer with this text and `Outcome.DENIED`.
        calls: where start and end are recorded; None for the call of an unknown id.
        passes: exceptions by which the runtime leaves a call and comes back to it, or hands it to
            the user: no end of the call.
    """

    call: ToolCall
    guidance: str
    refusal: str
    _calls: AskedCalls | None = attrs.field(repr=False, alias="calls")
    passes: tuple[type[BaseException], ...] = ()

    def __enter__(self) -> Self:
        if self._calls is not None and not self.refusal:
            self._calls.start(self.call)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None or self._calls is None:
            return
        if self.refusal:
            self._calls.stop(self.call, Outcome.DENIED, self.refusal)
        elif isinstance(error, self.passes):
            self._calls.leave(self.call)
        else:
            self._calls.stop(self.call, *end_of(error))

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.__exit__(kind, error, trace)


def end_of(error: BaseException) -> tuple[Outcome, str]:
    """Return how a call ended whose tool raised `error`, and the text for the record."""
    if isinstance(error, RAISED) and not is_cancelled(error):
        return Outcome.ERROR, format_error(error)
    return Outcome.INTERRUPTED, "interrupted"


def _ids(calls: Iterable[ToolCall | ToolInvoked]) -> Counter[str]:
    return Counter(call.call_id for call in calls)


def _without(calls: Iterable[ToolCall], counted: Counter[str]) -> list[ToolCall]:
    """Return the calls but for as many of each id as are counted."""
    left = []
    for call in calls:
        if counted[call.call_id] > 0:
            counted[call.call_id] -= 1
        else:
            left.append(call)
    return left


def _id(call: ToolCall | str) -> str:
    return call.call_id if isinstance(call, ToolCall) else call
