"""Puts a recording's items in order: opens turns, pairs answers with calls, numbers them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import attrs

from trimtab import Outcome, ToolCall, ToolInvoked, Usage
from trimtab.events import (
    CallOrigin,
    CompactionHappened,
    Evidence,
    ModelResponded,
    UserMessage,
)
from trimtab_replay._recording import Item, RecordedItem, StopRequest, Unknown
from trimtab_replay._values import as_text, shallow

UNNAMED_TOOL = "unknown"
"""Stands for the tool of a call that names none."""


@attrs.frozen(kw_only=True)
class CallResult:
    """How a call ended, as the recording states it.

    Args:
        result: what the tool answered, JSON-like or text.
        outcome: how the call ended; a plain string will do.
        evidence: how that is known; a plain string will do.
        at: when it ended, aware UTC; None if unknown.
        started: when it began, aware UTC; None if unknown.
        duration: seconds; None if unknown.
        poll: whether the call is a poll, where the recording says so.

    Raises:
        ValueError: the outcome or the evidence is none.
    """

    result: Any = None
    outcome: Outcome = attrs.field(default=Outcome.OK, converter=Outcome)
    evidence: Evidence = attrs.field(default=Evidence.FLAG, converter=Evidence)
    at: datetime | None = None
    started: datetime | None = None
    duration: float | None = None
    poll: bool | None = None

    @property
    def error(self) -> str | None:
        return None if self.outcome is Outcome.OK else as_text(self.result)


STRAY = "answer without a call"
"""Kind of the `Unknown` item that an answer becomes whose call is not in the recording."""

UNANSWERED = CallResult(outcome=Outcome.INTERRUPTED, evidence=Evidence.UNKNOWN)


@attrs.define
class _Call:
    call: ToolCall
    number: int
    turn: int
    caller: CallOrigin
    answer: CallResult | None = None


@attrs.define
class _Turn:
    key: str | None
    number: int
    at: datetime | None
    caller: CallOrigin
    text: list[str] = attrs.field(factory=list)
    reasoning: list[str] = attrs.field(factory=list)
    calls: list[_Call] = attrs.field(factory=list)
    usage: Usage | None = None
    stop: StopRequest | None = None
    presumed: bool = False


@attrs.define
class Assembler:
    """One recording in the making; feed it in recorded order and take what is ready.

    A response that the format spreads over several rows is one turn while its `key` stays the
    same. Calls are numbered as they were asked for. A call without an answer when the model
    responds again, or at the end, was interrupted; evidence unknown.

    Attributes:
        background: work that goes on in the background, by its id; the reader adds and removes
            it, and it stands in every stop meanwhile.
    """

    background: dict[str, str] = attrs.field(factory=dict)
    _turn: _Turn | None = None
    _turns: int = 0
    _calls: int = 0
    _last: int = -1
    _waiting: dict[str, _Call] = attrs.field(factory=dict)
    _ready: list[RecordedItem] = attrs.field(factory=list)
    _stop: StopRequest | None = None
    _listened: bool = False

    def take(self) -> list[RecordedItem]:
        """Return the entries that are ready since the last time."""
        ready, self._ready = self._ready, []
        return ready

    def add(self, item: Item) -> None:
        """Add an item that is neither a response nor a call: it closes the turn."""
        self.close_turn()
        self._settle_stop()
        self._ready.append(RecordedItem(item, self._last))

    def user(self, text: str, at: datetime | None = None, *, notification: bool = False) -> None:
        """Add a message of the user.

        Args:
            text: what it says.
            at: when, aware UTC; None if unknown.
            notification: made by the harness.
        """
        self._listened = True
        self.add(UserMessage(text=text, at=at, notification=notification))

    def compacted(self, summary: str = "", at: datetime | None = None) -> None:
        """Add a compaction.

        Args:
            summary: what took the place of the history.
            at: when, aware UTC; None if unknown.
        """
        self.add(CompactionHappened(summary=summary, at=at))

    def respond(
        self,
        *,
        key: str | None = None,
        text: str = "",
        reasoning: str = "",
        usage: Usage | None = None,
        at: datetime | None = None,
        caller: CallOrigin = CallOrigin.MODEL,
        stop: StopRequest | None = None,
        presumed: bool = False,
    ) -> None:
        """Open a turn, or go on with the open one if `key` is its key.

        Args:
            key: identifies the response in the recording; None makes each a turn of its own.
            text, reasoning, usage: as for `ModelResponded`.
            at: when, aware UTC; None if unknown.
            caller: who makes the calls; a turn of others than the model holds calls only.
            stop: the agent's request to stop after a response with text and without calls.
            presumed: the recording does not say that the agent stopped there; if the model responds
                again, the text was a comment and the stop is dropped. `stop` need not be given.
        """
        turn = self._turn
        if turn is None or key is None or key != turn.key:
            turn = self._open_turn(key, at, caller)
        turn.text += [text] if text else []
        turn.reasoning += [reasoning] if reasoning else []
        turn.usage = usage or turn.usage
        turn.stop = stop or (StopRequest() if presumed else turn.stop)
        turn.presumed = presumed

    def call(self, tool: str, params: Any, call_id: str = "") -> str:
        """Add a call to the open turn, or to one of its own, and return its id.

        Args:
            tool, params: the call.
            call_id: the id in the recording; a new one if empty.
        """
        turn = self._turn or self._open_turn(None, None, CallOrigin.MODEL)
        call_id = as_text(call_id)
        if not call_id or call_id in self._waiting:
            call_id = f"{call_id}#{self._calls}"
        call = _Call(
            ToolCall(as_text(tool) or UNNAMED_TOOL, shallow(params), call_id),
            self._calls,
            turn.number,
            turn.caller,
        )
        self._calls += 1
        self._waiting[call_id] = call
        turn.calls.append(call)
        return call_id

    @property
    def key(self) -> str | None:
        """The key of the open turn; None if it has none, or no turn is open."""
        return self._turn.key if self._turn is not None else None

    def rekey(self, key: str | None) -> None:
        """Give the open turn another key; None lets no further response join it."""
        if self._turn is not None:
            self._turn.key = key

    def waits(self, call_id: str) -> bool:
        """Whether a call has no answer yet.

        Args:
            call_id: as `call` returned it.
        """
        return as_text(call_id) in self._waiting

    @property
    def is_started(self) -> bool:
        """Whether any item has been added."""
        return self._turns > 0 or self._last >= 0 or bool(self._ready) or self._listened

    @property
    def is_waiting(self) -> bool:
        """Whether any call waits for its answer."""
        return bool(self._waiting)

    def oldest(self, tool: str = "") -> str:
        """Return the id of the call that waits longest, of `tool` where given; "" for none.

        For formats whose results name no call.
        """
        waiting = (i for i, each in self._waiting.items() if tool in {"", each.call.tool})
        return next(waiting, "")

    def answer(self, call_id: str, answer: CallResult) -> None:
        """Give a call its answer; an answer to no open call is passed through.

        Args:
            call_id: as `call` returned it.
            answer: how the call ended.
        """
        call_id = as_text(call_id)
        call = self._waiting.pop(call_id, None)
        if call is None:
            data = {"call_id": call_id, "result": shallow(answer.result)}
            self._ready.append(RecordedItem(Unknown(kind=STRAY, data=data), self._last))
            return
        call.answer = answer
        if self._turn is None or call.turn != self._turn.number:
            self._end(call)

    def close_turn(self) -> None:
        """Close the open turn: nothing more belongs to it but answers."""
        turn, self._turn = self._turn, None
        if turn is None:
            return
        if turn.caller is CallOrigin.MODEL:
            self._ready.append(RecordedItem(_response(turn), self._last))
        for call in turn.calls:
            if call.answer is not None:
                self._end(call)
        if turn.stop is not None and turn.text and not turn.calls:
            self._stop = turn.stop
            if not turn.presumed:
                self._settle_stop()

    def finish(self, items: Iterable[Item] = ()) -> list[RecordedItem]:
        """Close everything, add the last `items`, and return what is ready."""
        self.close_turn()
        self._give_up()
        self._settle_stop()
        for item in items:
            self.add(item)
        return self.take()

    def _open_turn(self, key: str | None, at: datetime | None, caller: CallOrigin) -> _Turn:
        self.close_turn()
        if caller is CallOrigin.MODEL:
            self._give_up()
            self._stop = None
        else:
            self._settle_stop()
        self._turn = turn = _Turn(key, self._turns, at, caller)
        self._turns += 1
        return turn

    def _settle_stop(self) -> None:
        stop, self._stop = self._stop, None
        if stop is not None:
            if self.background:
                stop = attrs.evolve(stop, background_tasks=tuple(self.background))
            self._ready.append(RecordedItem(stop, self._last))

    def _give_up(self) -> None:
        for call in self._waiting.values():
            self._end(call)
        self._waiting.clear()

    def _end(self, call: _Call) -> None:
        self._last = max(self._last, call.number)
        self._ready.append(RecordedItem(_invoked(call, call.answer or UNANSWERED), self._last))


def _response(turn: _Turn) -> ModelResponded:
    return ModelResponded(
        turn=turn.number,
        text="\n".join(turn.text),
        reasoning="\n".join(turn.reasoning),
        tool_calls=tuple(call.call for call in turn.calls),
        usage=turn.usage,
        at=turn.at,
    )


def _invoked(call: _Call, answer: CallResult) -> ToolInvoked:
    return ToolInvoked(
        tool=call.call.tool,
        params=call.call.params,
        call_id=call.call.call_id,
        turn=call.turn,
        caller=call.caller,
        result=shallow(answer.result),
        outcome=answer.outcome,
        evidence=answer.evidence,
        error=answer.error,
        poll=answer.poll,
        started=answer.started,
        duration=answer.duration,
        at=answer.at,
    )
