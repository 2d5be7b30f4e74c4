"""Puts a recording's items in order: opens turns, pairs answers with calls, numbers them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import attrs

from trimtab import (
    CallOrigin,
    CompactionHappened,
    Evidence,
    ModelResponded,
    Outcome,
    ToolCall,
    ToolInvoked,
    Usage,
    UserMessage,
)
from trimtab_replay.recording import Entry, Item, Stop, Unknown
from trimtab_replay.values import as_text, shallow


@attrs.frozen(kw_only=True)
class Answer:
    """How a call ended, as the format tells it; fields as in `ToolInvoked`."""

    result: Any = None
    outcome: Outcome = Outcome.OK
    evidence: Evidence = Evidence.FLAG
    at: datetime | None = None
    started: datetime | None = None
    duration: float | None = None
    poll: bool | None = None

    @property
    def error(self) -> str | None:
        return None if self.outcome is Outcome.OK else as_text(self.result)


STRAY = "answer without a call"
"""Kind of the `Unknown` item that an answer becomes whose call is not in the recording."""

UNANSWERED = Answer(outcome=Outcome.INTERRUPTED, evidence=Evidence.UNKNOWN)


@attrs.define
class _Call:
    call: ToolCall
    number: int
    turn: int
    caller: CallOrigin
    answer: Answer | None = None


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
    stop: Stop | None = None


@attrs.define
class Assembler:
    """One recording in the making; feed it in recorded order and take what is ready.

    A response that the format spreads over several rows is one turn while its `key` stays the
    same. Calls are numbered as they were asked for. A call without an answer when the model
    responds again, or at the end, was interrupted; evidence unknown.
    """

    _turn: _Turn | None = None
    _turns: int = 0
    _calls: int = 0
    _last: int = -1
    _waiting: dict[str, _Call] = attrs.field(factory=dict)
    _ready: list[Entry] = attrs.field(factory=list)

    def take(self) -> list[Entry]:
        """Return the entries that are ready since the last time."""
        ready, self._ready = self._ready, []
        return ready

    def add(self, item: Item) -> None:
        """Add an item that is neither a response nor a call: it closes the turn."""
        self.close_turn()
        self._ready.append(Entry(item, self._last))

    def user(self, text: str, at: datetime | None = None, *, notification: bool = False) -> None:
        """Add a message of the user's, or the harness's (`notification`)."""
        self.add(UserMessage(text=text, at=at, notification=notification))

    def compacted(self, summary: str = "", at: datetime | None = None) -> None:
        """Add a compaction."""
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
        stop: Stop | None = None,
    ) -> None:
        """Open a turn, or go on with the open one where `key` is its key.

        A turn of any other `caller` than the model holds calls only. A response with text and
        without calls is followed by `stop`.
        """
        turn = self._turn
        if turn is None or key is None or key != turn.key:
            turn = self._open_turn(key, at, caller)
        turn.text += [text] if text else []
        turn.reasoning += [reasoning] if reasoning else []
        turn.usage = usage or turn.usage
        turn.stop = stop or turn.stop

    def call(self, tool: str, params: Any, call_id: str = "") -> str:
        """Add a call to the open turn, or to one of its own, and return its id."""
        turn = self._turn or self._open_turn(None, None, CallOrigin.MODEL)
        if not call_id or call_id in self._waiting:
            call_id = f"{call_id}#{self._calls}"
        call = _Call(
            ToolCall(tool, shallow(params), call_id), self._calls, turn.number, turn.caller
        )
        self._calls += 1
        self._waiting[call_id] = call
        turn.calls.append(call)
        return call_id

    def waits(self, call_id: str) -> bool:
        """Whether a call of that id waits for its answer."""
        return call_id in self._waiting

    def oldest(self, tool: str = "") -> str:
        """Return the id of the call that waits longest, of `tool` where given; "" for none.

        For formats whose results name no call.
        """
        waiting = (i for i, each in self._waiting.items() if tool in {"", each.call.tool})
        return next(waiting, "")

    def answer(self, call_id: str, answer: Answer) -> None:
        """Give a call its answer; where no call of that id waits, the answer is passed through."""
        call = self._waiting.pop(call_id, None)
        if call is None:
            data = {"call_id": call_id, "result": shallow(answer.result)}
            self._ready.append(Entry(Unknown(kind=STRAY, data=data), self._last))
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
            self._ready.append(Entry(_response(turn), self._last))
        for call in turn.calls:
            if call.answer is not None:
                self._end(call)
        if turn.stop is not None and turn.text and not turn.calls:
            self._ready.append(Entry(turn.stop, self._last))

    def finish(self, items: Iterable[Item] = ()) -> list[Entry]:
        """Close everything, add the last `items`, and return what is ready."""
        self.close_turn()
        self._give_up()
        for item in items:
            self.add(item)
        return self.take()

    def _open_turn(self, key: str | None, at: datetime | None, caller: CallOrigin) -> _Turn:
        self.close_turn()
        if caller is CallOrigin.MODEL:
            self._give_up()
        self._turn = turn = _Turn(key, self._turns, at, caller)
        self._turns += 1
        return turn

    def _give_up(self) -> None:
        for call in self._waiting.values():
            self._end(call)
        self._waiting.clear()

    def _end(self, call: _Call) -> None:
        self._last = max(self._last, call.number)
        self._ready.append(Entry(_invoked(call, call.answer or UNANSWERED), self._last))


def _response(turn: _Turn) -> ModelResponded:
    return ModelResponded(
        turn=turn.number,
        text="\n".join(turn.text),
        reasoning="\n".join(turn.reasoning),
        tool_calls=tuple(call.call for call in turn.calls),
        usage=turn.usage,
        at=turn.at,
    )


def _invoked(call: _Call, answer: Answer) -> ToolInvoked:
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
