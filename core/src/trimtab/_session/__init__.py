"""Slices: what a session keeps of each type, all of it or the newest; old calls in a few bytes."""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from datetime import UTC, datetime
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from trimtab._events import ResultDigest, ToolInvoked
from trimtab._types.errors import SessionError
from trimtab._types.text import LEAST_INT, SMALL_INT, as_text, digest_of, exact, shorten

T = TypeVar("T")


class Append(NamedTuple, Generic[T]):
    """Put one item at the end of the slice: the cheap one, whatever the slice's length."""

    item: T


class Replace(NamedTuple, Generic[T]):
    """Put these items in place of all that the slice holds."""

    items: tuple[T, ...]


class Slice(Generic[T]):
    """The records of one type, oldest first.

    Args:
        items: the records.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: list[T] = list(items)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self.all())

    def __repr__(self) -> str:
        dropped = f", {self.dropped} dropped" if self.dropped else ""
        return f"<{type(self).__name__} of {len(self)}{dropped}, latest: {self.latest()!r}>"

    @property
    def dropped(self) -> int:
        """Number of older records that were dropped to bound memory."""
        return 0

    def all(self) -> tuple[T, ...]:
        """Return all records."""
        return tuple(self._items)

    def latest(self) -> T | None:
        """Return the newest record, or None."""
        return next(self.newest(), None)

    def where(self, predicate: Callable[[T], bool]) -> tuple[T, ...]:
        """Return the records for which `predicate` is true."""
        return tuple(item for item in self.all() if predicate(item))

    def tail(self, n: int) -> tuple[T, ...]:
        """Return the last `n` records; none for n ≤ 0."""
        return tuple(islice(self.newest(), n))[::-1] if n > 0 else ()

    def newest(self) -> Iterator[T]:
        """Yield the records, newest first; take no longer than it takes to read some of them."""
        yield from reversed(self._items)

    def _copy(self) -> Slice[T]:
        """Return a slice of the same records that later changes don't reach."""
        copied = copy(self)
        copied._items = self._items.copy()
        return copied

    def _append(self, item: T) -> None:
        self._items.append(item)

    def _apply(self, change: Append[T] | Replace[T]) -> None:
        """Carry out what a reducer decided."""
        if isinstance(change, Append):
            self._append(change.item)
        elif isinstance(change, Replace):
            self._items = list(change.items)
        else:
            raise SessionError(
                f"a reducer returned {type(change).__name__}; it must return Append(item) or"
                " Replace(items)"
            )


class ByType(dict[type[Any], T]):
    """What there is for records of each type, found once; empty it where that may have changed."""

    def __init__(self, find: Callable[[type[Any]], T]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, kind: type[Any]) -> T:
        found = self[kind] = self._find(kind)
        return found


Reducer = Callable[[Slice[Any], Any], Append[Any] | Replace[Any]]


def keep_last(n: int) -> Reducer:
    """Keep the newest `n` records (n ≥ 1)."""
    if n < 1:
        raise ValueError(f"keep_last needs 1 or more, not {n}")

    def reduce(records: Slice[Any], event: Any) -> Append[Any] | Replace[Any]:
        if len(records) < n:
            return Append(event)
        return Replace((*records.tail(n - 1), event) if n > 1 else (event,))

    return reduce


_KEPT_PARAMS = 256
_KEPT_TEXT = 200
"""Characters of arguments and of an error that an old call keeps: with its fixed fields some
300 bytes, which is what a run of 100,000 calls may take for each."""
_SCALARS = frozenset({type(None), bool, float, int})
_PLAIN = _SCALARS | {str, tuple, dict, list}
_BATCH = 32
"""Old calls packed at once: fewer cost more for each, more make one recording slow."""
HEAD = ("prompt_name", "run_id", "agent_id", "tool", "outcome", "evidence", "caller", "poll")
FACTS = (
    *("call_id", "turn", "elapsed", "duration", "at", "started", "error", "result", "params"),
    "params_digest",
)
_HEAD = attrgetter(*HEAD)
_Head = tuple[Any, ...]
_Row = tuple[int, tuple[Any, ...]]


class RecentSlice(Slice[T], Generic[T]):
    """The newest records of one type; older ones are dropped, and counted."""

    __slots__ = ("_taken",)

    def __init__(self, keep: int, items: Iterable[T] = (), dropped: int = 0) -> None:
        kept = deque(items, maxlen=keep)
        super().__init__()
        self._items: Any = kept
        self._taken = dropped + len(kept)

    @property
    def dropped(self) -> int:
        # Who reads without the lock may see a record that isn't counted yet.
        return max(0, self._taken - len(self._items))

    def newest(self) -> Iterator[T]:
        kept: tuple[T, ...] = tuple(self._items)  # at once, for others may add records meanwhile
        return reversed(kept)

    def _append(self, item: T) -> None:
        self._items.append(item)
        self._taken += 1


class OldCalls(NamedTuple):
    """Reduced calls, oldest first, as a `ToolLog` packs them and a snapshot keeps them.

    Attributes:
        heads: what many calls have in common, in the order of `HEAD`.
        rows: of each call the place of its head, and the rest in the order of `FACTS`; times in
            seconds, digests as length and hexadecimal text.
    """

    heads: list[_Head]
    rows: list[_Row]

    def calls(self) -> Iterator[ToolInvoked]:
        """Yield the calls."""
        return (_made(self.heads[number], facts) for number, facts in self.rows)


class ToolLog(Slice[ToolInvoked]):
    """The ended calls of a session: the last `keep` whole, older ones reduced.

    Of an older call the result is its length and digest, long arguments likewise, and a long
    error is cut. It takes some 200 bytes. Old calls are packed some at a time.
    """

    __slots__ = ("_batch", "_full", "_heads", "_keep", "_numbers", "_old", "_state")

    def __init__(
        self, keep: int | None, items: Iterable[ToolInvoked] = (), old: OldCalls | None = None
    ) -> None:
        super().__init__()
        self._keep = keep
        self._batch = _BATCH if keep is None else min(keep, _BATCH)
        self._full = None if keep is None else keep + self._batch
        self._old: list[bytes] = []
        self._heads: list[_Head] = []
        self._numbers: dict[_Head, int] = {}
        # How many batches there are, and what came after them: replaced together, so that who
        # reads without the lock misses nothing.
        self._state: tuple[int, list[ToolInvoked]] = (0, [])
        for item in items if old is None else self._after(old, items):
            self._append(item)

    def _after(self, old: OldCalls, items: Iterable[ToolInvoked]) -> Iterable[ToolInvoked]:
        """Take whole batches of old calls as they are, and return what is left."""
        size, rows = self._batch, old.rows
        if self._keep is None or len(rows) % size:
            return chain(old.calls(), items)
        self._heads = list(old.heads)
        self._numbers = {head: number for number, head in enumerate(old.heads)}
        self._old = [_dumps(rows[at : at + size]) for at in range(0, len(rows), size)]
        self._state = (len(self._old), [])
        return items

    def parted(self) -> tuple[list[_Head], Iterator[list[_Row]], tuple[ToolInvoked, ...]]:
        """Return heads and rows of the old calls, batch by batch, and the calls after them."""
        batches, items = self._state
        rows = map(marshal.loads, self._old[:batches])
        return self._heads, rows, tuple(islice(self.newest(), len(items)))[::-1]

    def __len__(self) -> int:
        batches, items = self._state
        return batches * self._batch + len(items)

    def all(self) -> tuple[ToolInvoked, ...]:
        return tuple(self.newest())[::-1]

    def newest(self) -> Iterator[ToolInvoked]:
        batches, items = self._state
        whole = len(items) if self._keep is None else self._keep
        items = items[::-1]
        yield from items[:whole]
        for call in items[whole:]:
            yield _made(_HEAD(call), _reduced(call))
        for batch in range(batches - 1, -1, -1):
            for number, facts in reversed(marshal.loads(self._old[batch])):  # noqa: S302 - ours
                yield _made(self._heads[number], facts)

    def _copy(self) -> ToolLog:
        """Return a log of the same calls, in the time that it takes to copy references."""
        copied = ToolLog(self._keep)
        batches, items = self._state
        copied._state = (batches, items.copy())
        copied._old, copied._heads = self._old.copy(), self._heads.copy()
        copied._numbers = self._numbers.copy()
        return copied

    def _append(self, item: ToolInvoked) -> None:
        batches, items = self._state
        items.append(item)
        if len(items) == self._full:
            numbers, old = self._numbers, items[: self._batch]
            rows = [(numbers.setdefault(_HEAD(c), len(numbers)), _reduced(c)) for c in old]
            if len(numbers) > len(self._heads):
                self._heads = list(numbers)
            self._old.append(_dumps(rows))
            self._state = (batches + 1, items[self._batch :])


def _reduced(call: ToolInvoked) -> tuple[Any, ...]:
    """Return what is kept of an old call, beside its head."""
    params, result, at, started, error = call.params, call.result, call.at, call.started, call.error
    fits = _room_after(params, _KEPT_PARAMS) >= 0
    call_id, elapsed, duration = call.call_id, call.elapsed, call.duration
    facts = (
        call_id,
        call.turn,
        elapsed,
        duration,
        None if at is None else at.timestamp(),
        None if started is None else started.timestamp(),
        None if error is None else shorten(error, _KEPT_TEXT),
        None if result is None else _digest(result),
        params if fits else None,
        None if fits else _digest(params),
    )
    plain = call_id.__class__ is str and (elapsed is None or elapsed.__class__ is float)
    if plain and (duration is None or duration.__class__ is float):
        return facts
    return tuple(map(_plain, facts))


def _made(head: _Head, facts: tuple[Any, ...]) -> ToolInvoked:
    call_id, turn, elapsed, duration, at, started, error, result, params, large = facts
    return ToolInvoked(
        **dict(zip(HEAD, head, strict=True)),
        call_id=call_id,
        turn=turn,
        elapsed=elapsed,
        duration=duration,
        at=_time(at),
        started=_time(started),
        error=error,
        result=None if result is None else ResultDigest(*result),
        params=params if large is None else ResultDigest(*large),
    )


def _dumps(batch: list[_Row]) -> bytes:
    try:
        return marshal.dumps(batch)
    except ValueError:
        plain = [(number, tuple(map(_plain, facts))) for number, facts in batch]
        return marshal.dumps(plain)


def _plain(value: Any) -> Any:
    """Return what can be packed of a value of a class that derives from a plain one."""
    value = exact(value)
    return value if type(value) in _PLAIN else None


def _digest(value: Any) -> tuple[int, str]:
    if value.__class__ is str:
        text = value
    elif value.__class__ is ResultDigest:
        return value.length, value.digest
    else:
        text = as_text(value)
    return len(text), digest_of(text, 16)


def _room_after(value: Any, room: int, depth: int = 4) -> int:
    """Return what is left of `room` after plain JSON-like data; negative if it does not fit."""
    kind = value.__class__
    if kind is str:
        return room - len(value) - 5
    if kind in _SCALARS:
        return room - 9 if kind is not int or LEAST_INT < value < SMALL_INT else -1
    if not depth or (kind is not dict and kind is not list) or len(value) * 5 > room:
        return -1
    if kind is list:
        for item in value:
            room = _room_after(item, room - 5, depth - 1)
        return room
    for key, item in value.items():
        if key.__class__ is not str:
            return -1
        kind = item.__class__
        if kind is str:
            room -= len(key) + len(item) + 15
        elif kind is int and LEAST_INT < item < SMALL_INT:
            room -= len(key) + 19
        else:
            room = _room_after(item, room - len(key) - 10, depth - 1)
    return room


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
