"""Slices: what a session keeps of one type, who observes it, and the lock that guards it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from copy import copy
from threading import RLock
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakSet

from trimtab._types.errors import SessionError

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
        return self._items[-1] if self._items else None

    def where(self, predicate: Callable[[T], bool]) -> tuple[T, ...]:
        """Return the records for which `predicate` is true."""
        return tuple(item for item in self.all() if predicate(item))

    def tail(self, n: int) -> tuple[T, ...]:
        """Return the last `n` records; none for n ≤ 0."""
        return tuple(self._items[-n:]) if n > 0 else ()

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


class Takers(dict[type[Any], Callable[[Any], None]]):
    """What takes records of each type in; empty it where that may have changed."""

    def __init__(self, find: Callable[[type[Any]], Callable[[Any], None]]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, kind: type[Any]) -> Callable[[Any], None]:
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


class Sink(Protocol):
    """Takes records under the session's lock, and handles them once the lock is free."""

    def wants(self, event: object, /) -> bool: ...

    def put(self, event: object, /) -> None: ...

    def drain(self) -> None: ...


def do_all(each: Iterable[Callable[[], object]]) -> None:
    """Call each; an interrupt is raised once all the others were called."""
    interruption: BaseException | None = None
    for work in each:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            interruption = interruption or error
    if interruption is not None:
        raise interruption


class SessionLock:
    """A re-entrant lock that calls what was left with `later`, once it is free.

    So observers are called outside the lock even where one dispatch happens inside another
    holder's block.

    Attributes:
        guard: what to hold while recording: the bare lock while there is no observer, since it
            costs a quarter.
    """

    def __init__(self) -> None:
        self._observed = False
        self._renew()
        _LOCKS.add(self)

    def _renew(self) -> None:
        self._lock = RLock()
        self._acquire, self._release = self._lock.acquire, self._lock.release
        self._depth = 0
        self._left: list[Callable[[], object]] = []
        self.guard: AbstractContextManager[Any] = self if self._observed else self._lock

    @property
    def held(self) -> bool:
        """Whether this thread holds the lock."""
        return bool(self._lock._is_owned())  # type: ignore[attr-defined]

    def observed_by(self, by: object) -> None:
        """Note who listens, empty for nobody; call it while holding the lock."""
        self._observed = bool(by)
        self.guard = self if self._observed else self._lock

    def after_fork(self) -> None:
        """Free the lock in a forked process, where no thread is left that could release it."""
        if not self.held:
            self._renew()

    def __enter__(self) -> None:
        self._acquire()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth or not self._left:
            self._release()
            return
        left, self._left = self._left, []
        self._release()
        do_all(left)

    def later(self, work: Callable[[], object]) -> None:
        """Call `work`, which raises nothing but an interrupt, when the lock is free."""
        self._left.append(work)


_LOCKS: WeakSet[SessionLock] = WeakSet()


def _after_fork() -> None:
    for lock in tuple(_LOCKS):
        lock.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
