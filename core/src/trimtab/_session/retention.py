"""What a session keeps of many calls: the last ones whole, older ones in a few bytes each."""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from typing import Any, Generic, TypeVar

from trimtab._events.run import ResultDigest, ToolInvoked
from trimtab._session.slices import Slice
from trimtab._types.text import as_text, shorten

T = TypeVar("T")
_KEPT_PARAMS = 256
_LARGE = 1 << 62
_SCALARS = (type(None), bool, float, int)
_KEPT_TEXT = 200


class RecentSlice(Slice[T], Generic[T]):
    """The newest records of one type; older ones are dropped, and counted.

    Args:
        keep: how many are kept.
        items: records to begin with, oldest first.
        dropped: how many were dropped before those.
    """

    def __init__(self, keep: int, items: Iterable[T] = (), dropped: int = 0) -> None:
        kept = deque(items, maxlen=keep)
        super().__init__()
        self._items: Any = kept
        self._dropped = dropped
        self._keep = keep

    @property
    def dropped(self) -> int:
        return self._dropped

    def tail(self, n: int) -> tuple[T, ...]:
        return tuple(islice(self._items, max(0, len(self._items) - n), None)) if n > 0 else ()

    def _append(self, item: T) -> None:
        if len(self._items) == self._keep:
            self._dropped += 1
        self._items.append(item)


class ToolLog(Slice[ToolInvoked]):
    """The ended calls of a session: the last `keep` whole, older ones reduced.

    Of an older call the result is its length and digest, long arguments likewise, and a long
    error is cut. It takes some 200 bytes.

    Args:
        keep: how many calls are kept whole; None keeps all.
        items: calls to begin with, oldest first.
    """

    def __init__(self, keep: int | None, items: Iterable[ToolInvoked] = ()) -> None:
        super().__init__()
        self._keep = keep
        self._items: Any = deque()
        self._old: list[bytes] = []
        self._heads: list[tuple[Any, ...]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        for item in items:
            self._append(item)

    def __len__(self) -> int:
        return len(self._old) + len(self._items)

    def all(self) -> tuple[ToolInvoked, ...]:
        return (*map(self._unpacked, self._old), *self._items)

    def tail(self, n: int) -> tuple[ToolInvoked, ...]:
        return tuple(islice(self.newest(), n))[::-1] if n > 0 else ()

    def newest(self) -> Iterator[ToolInvoked]:
        yield from reversed(self._items)
        for packed in reversed(self._old):
            yield self._unpacked(packed)

    def _copy(self) -> ToolLog:
        """Return a log of the same calls, in the time that it takes to copy references."""
        copied = ToolLog(self._keep)
        copied._items, copied._old = self._items.copy(), self._old.copy()
        copied._heads = self._heads.copy()
        return copied

    def _append(self, item: ToolInvoked) -> None:
        self._items.append(item)
        if self._keep is not None and len(self._items) > self._keep:
            self._old.append(self._packed(self._items.popleft()))

    def _packed(self, call: ToolInvoked) -> bytes:
        head = (
            *(call.prompt_name, call.run_id, call.agent_id, call.tool),
            *(call.outcome, call.evidence, call.caller, call.poll),
        )
        number = self._numbers.get(head)
        if number is None:
            number = self._numbers[head] = len(self._heads)
            self._heads.append(head)
        result = _digest(call.result)
        facts: tuple[Any, ...] = (
            *(number, call.call_id, call.turn, call.elapsed, call.duration),
            *(_seconds(call.at), _seconds(call.started)),
            None if call.error is None else shorten(call.error, _KEPT_TEXT),
            result and (result.length, bytes.fromhex(result.digest)),
        )
        if _room_after(call.params, _KEPT_PARAMS) >= 0:
            return marshal.dumps((*facts, call.params), 2)
        params = _digest(call.params)
        assert params is not None
        return marshal.dumps((*facts, None, params.length, bytes.fromhex(params.digest)), 2)

    def _unpacked(self, packed: bytes) -> ToolInvoked:
        facts = marshal.loads(packed)  # noqa: S302 - bytes that `_packed` made
        number, call_id, turn, elapsed, duration, at, started, error, result, params, *large = facts
        prompt_name, run_id, agent_id, tool, outcome, evidence, caller, poll = self._heads[number]
        return ToolInvoked(
            prompt_name=prompt_name,
            run_id=run_id,
            agent_id=agent_id,
            at=_time(at),
            elapsed=elapsed,
            tool=tool,
            params=ResultDigest(large[0], large[1].hex()) if large else params,
            result=result and ResultDigest(result[0], result[1].hex()),
            call_id=call_id,
            turn=turn,
            outcome=outcome,
            evidence=evidence,
            error=error,
            started=_time(started),
            duration=duration,
            caller=caller,
            poll=poll,
        )


def _digest(value: Any) -> ResultDigest | None:
    if value is None or isinstance(value, ResultDigest):
        return value
    text = as_text(value)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return ResultDigest(len(text), digest)


def _room_after(value: Any, room: int, depth: int = 4) -> int:
    """Return what is left of `room` after plain JSON-like data; negative if it does not fit."""
    kind = value.__class__
    if kind is str:
        return room - len(value) - 5
    if kind in _SCALARS:
        return room - 9 if kind is not int or -_LARGE < value < _LARGE else -1
    if not depth or kind not in (dict, list):
        return -1
    for item in value:
        if kind is dict:
            if item.__class__ is not str:
                return -1
            room, item = room - len(item) - 5, value[item]  # noqa: PLW2901 - a key and its value
        room = _room_after(item, room - 5, depth - 1)
        if room < 0:
            return -1
    return room


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
