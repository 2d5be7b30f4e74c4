"""The cases format: one labelled run a line, calls and events in ``calls``.

Every item has an index of its own, and `RecordedItem.call` is that index: verdicts count in items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import attrs

from trimtab import Outcome, ToolCall, ToolInvoked
from trimtab.events import CallOrigin, CompactionHappened, ModelResponded, UserMessage
from trimtab_replay._readers.messages import Reader
from trimtab_replay._recording import (
    Idle,
    Item,
    RecordedItem,
    Recording,
    RunBoundary,
    RunEnd,
    StopRequest,
    Unknown,
)
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_float, as_list, as_text, has_list, named, shallow

_has_calls = has_list("calls")
_START = datetime(2000, 1, 1, tzinfo=UTC)
_LONGEST = 1e9
_SPEECH = {"assistant_text", "reasoning_text"}
_ENDED = frozenset({"completed", "failed", "killed", "stopped", "cancelled"})
"""States of a background task of which nothing will come any more."""


class Cases(Reader):
    """Reads labelled cases."""

    name: ClassVar[str] = "cases"
    parallel_calls: ClassVar[bool | None] = None

    def sniff(self, source: Transcript) -> float:
        return float(any("expected" in row and _has_calls(row) for row in source.first_rows))

    def read(self, source: Transcript) -> Iterator[Recording]:
        for row in source.rows():
            case = row.value
            if _has_calls(case):
                tools = case.get("tools")
                yield self.recording(
                    source,
                    _entries(case, source, row.line),
                    named(case.get("id")) or f"{source.stem}:{row.line}",
                    profile=named(case.get("needs")),
                    tools=frozenset(map(as_text, tools)) if isinstance(tools, list) else None,
                    meta={key: value for key, value in case.items() if key != "calls"},
                )
            else:
                source.skip("no case: no list of calls", row.line)


@attrs.define
class _Turn:
    """One response in the making: text, and the calls of one agent under one number."""

    number: int
    key: tuple[Any, Any] | None = None
    text: str = ""
    reasoning: str = ""
    text_at: int | None = None
    calls: list[tuple[int, dict[str, Any]]] = attrs.field(factory=list)

    def takes(self, item: dict[str, Any]) -> bool:
        """Whether `item`, a call, belongs to this turn; text before calls does."""
        if "tool" not in item or item.get("harness") is True:
            return False
        return not self.calls or (item.get("turn") is not None and _key(item) == self.key)

    def put(self, index: int, item: dict[str, Any]) -> None:
        if "tool" in item:
            self.key = _key(item)
            self.text = self.text or as_text(item.get("text"))
            self.calls.append((index, item))
            return
        self.text_at = index
        if item["event"] == "assistant_text":
            self.text = as_text(item.get("text"))
        else:
            self.reasoning = as_text(item.get("text"))

    def entries(self) -> Iterator[RecordedItem]:
        before = self.calls[0][0] - 1 if self.text_at is None else self.text_at
        yield RecordedItem(self._response(), before)
        for index, item in self.calls:
            yield RecordedItem(_invoked(item, index, self.number), index)

    def _response(self) -> ModelResponded:
        first = self.calls[0][1] if self.calls else {}
        return ModelResponded(
            turn=self.number,
            text=self.text,
            reasoning=self.reasoning,
            tool_calls=tuple(_call(item, index) for index, item in self.calls),
            agent_id=named(first.get("agent")) or None,
        )


def _key(item: dict[str, Any]) -> tuple[Any, Any]:
    return as_text(item.get("turn")), named(item.get("agent"))


def _entries(case: dict[str, Any], source: Transcript, line: int) -> Iterator[RecordedItem]:
    turn, number = None, 0
    for index, item in enumerate(case["calls"]):
        if not isinstance(item, dict):
            source.skip(f"item {index} is not an object", line)
            continue
        if turn is not None and not turn.takes(item):
            yield from turn.entries()
            turn = None
        if "tool" not in item and named(item.get("event")) not in _SPEECH:
            yield RecordedItem(_event(item, case), index)
            continue
        if turn is None:
            turn, number = _Turn(number), number + 1
        if item.get("harness") is True:
            yield RecordedItem(_invoked(item, index, turn.number), index)
            turn = None
        else:
            turn.put(index, item)
    if turn is not None:
        yield from turn.entries()


def _call(item: dict[str, Any], index: int) -> ToolCall:
    return ToolCall(as_text(item["tool"]), shallow(item.get("args", {})), f"call-{index}")


def _invoked(item: dict[str, Any], index: int, turn: int) -> ToolInvoked:
    call, seconds, poll = _call(item, index), as_float(item.get("t")), item.get("poll")
    outcome = _outcome(item)
    return ToolInvoked(
        tool=call.tool,
        params=call.params,
        call_id=call.call_id,
        turn=turn,
        agent_id=named(item.get("agent")) or None,
        caller=CallOrigin.HARNESS if item.get("harness") is True else CallOrigin.MODEL,
        result=shallow(item.get("result")),
        outcome=outcome,
        error=as_text(item.get("result")) if item.get("error") is True else None,
        poll=poll if isinstance(poll, bool) else None,
        at=_at(item),
        elapsed=seconds if item.get("mono") is None else as_float(item["mono"]),
    )


def _outcome(item: dict[str, Any]) -> Outcome:
    if item.get("executed") is False:
        return Outcome.INVALID if item.get("error") is True else Outcome.INTERRUPTED
    return Outcome.ERROR if item.get("error") is True else Outcome.OK


def _at(item: dict[str, Any]) -> datetime | None:
    seconds = as_float(item.get("t"))
    return (
        None
        if seconds is None
        else _START + timedelta(seconds=max(-_LONGEST, min(seconds, _LONGEST)))
    )


def _event(item: dict[str, Any], case: dict[str, Any]) -> Item:
    reader = _EVENTS.get(named(item.get("event")))
    if reader is None:
        return Unknown(kind=as_text(item.get("event")), data=item)
    return reader(item, case)


def _user_message(item: dict[str, Any], _case: dict[str, Any]) -> Item:
    is_notification = item["event"] == "notification"
    return UserMessage(text=as_text(item.get("text")), notification=is_notification, at=_at(item))


def _stop(item: dict[str, Any], case: dict[str, Any]) -> Item:
    active, crash = item.get("stop_hook_active"), item.get("checker_error")
    tasks = as_list(item.get("background_tasks"))
    return StopRequest(
        plan=_plan(item),
        background_tasks=tuple(
            task for task in tasks if not isinstance(task, dict) or task.get("status") not in _ENDED
        ),
        awaiting_user=item.get("awaiting_user", case.get("awaiting_user")) is True,
        checker_error=None if crash is None else as_text(crash),
        deadline_remaining=as_float(item.get("deadline_remaining")),
        stop_hook_active=active if isinstance(active, bool) else None,
    )


def _run_end(item: dict[str, Any], _case: dict[str, Any]) -> Item:
    seen = item.get("stop_hook_seen")
    return RunEnd(plan=_plan(item), stop_seen=seen if isinstance(seen, bool) else None)


def _plan(item: dict[str, Any]) -> tuple[Any, ...] | None:
    plan = item.get("plan")
    return tuple(plan) if isinstance(plan, list) else None


_EVENTS: dict[str, Callable[[dict[str, Any], dict[str, Any]], Item]] = {
    "user_message": _user_message,
    "notification": _user_message,
    "compaction": lambda item, _: CompactionHappened(
        summary=as_text(item.get("text")), at=_at(item)
    ),
    "stop": _stop,
    "stop_failure": lambda item, _: StopRequest(
        plan=_plan(item), api_error=as_text(item.get("error")) or "unknown"
    ),
    "run_end": _run_end,
    "run_boundary": lambda item, _: RunBoundary(prompt=named(item.get("prompt"))),
    "idle": lambda item, _: Idle(seconds=as_float(item.get("s")) or 0.0),
}
