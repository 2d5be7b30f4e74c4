"""Slices: what a session keeps of one type, and the reducers that decide how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import attrs

from trimtab._events.run import ResultDigest, ToolInvoked
from trimtab._types.errors import SessionError
from trimtab._types.text import as_text

T = TypeVar("T")
_FIELDS = tuple(field.name for field in attrs.fields(ToolInvoked))
_RESULT = _FIELDS.index("result")
_values = attrgetter(*_FIELDS)


class Append(NamedTuple, Generic[T]):
    """Put one item at the end of the slice: the cheap one, whatever the slice's length."""

    item: T


class Replace(NamedTuple, Generic[T]):
    """Put these items in place of all that the slice holds."""

    items: tuple[T, ...]


class Slice(Generic[T]):
    """The records of one type, oldest first."""

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: list[T] = list(items)

    def __len__(self) -> int:
        return len(self._items)

    def all(self) -> tuple[T, ...]:
        """Return all records."""
        return tuple(self._items)

    def latest(self) -> T | None:
        """Return the newest record, None where there is none."""
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

    def _append(self, item: T) -> None:
        """Put one record at the end."""
        self._items.append(item)

    def _apply(self, change: Append[T] | Replace[T]) -> None:
        """Carry out what a reducer decided.

        Raises:
            SessionError: it decided nothing; the slice stays as it is.
        """
        if isinstance(change, Append):
            self._append(change.item)
        elif isinstance(change, Replace):
            self._items = list(change.items)
        else:
            raise SessionError(
                f"a reducer returned {type(change).__name__}; it must return Append(item) or"
                " Replace(items)"
            )


Reducer = Callable[[Slice[Any], Any], Append[Any] | Replace[Any]]


def append_all(_: Slice[Any], event: Any) -> Append[Any]:
    """Keep every record: the default."""
    return Append(event)


def replace_latest(_: Slice[Any], event: Any) -> Replace[Any]:
    """Keep only the newest record."""
    return Replace((event,))


def upsert_by(key: Callable[[Any], object]) -> Reducer:
    """Keep one record per key: a new one takes the place of the old."""

    def reduce(records: Slice[Any], event: Any) -> Append[Any] | Replace[Any]:
        wanted = key(event)
        items = records.all()
        if any(key(item) == wanted for item in items):
            return Replace(tuple(event if key(item) == wanted else item for item in items))
        return Append(event)

    return reduce


def keep_last(n: int) -> Reducer:
    """Keep the newest `n` records (n ≥ 1)."""
    if n < 1:
        raise ValueError(f"keep_last needs 1 or more, not {n}")

    def reduce(records: Slice[Any], event: Any) -> Append[Any] | Replace[Any]:
        if len(records) < n:
            return Append(event)
        return Replace((*records.tail(n - 1), event) if n > 1 else (event,))

    return reduce


class ToolLog(Slice[ToolInvoked]):
    """The tool calls of a session; results older than the last `keep` are digested.

    Few ever look at old calls: those are put away as bare values, and taken out again when
    somebody does.
    """

    _items: list[Any]

    def __init__(self, keep: int | None, items: Iterable[ToolInvoked] = ()) -> None:
        super().__init__(items)
        self._keep = keep

    def all(self) -> tuple[ToolInvoked, ...]:
        return self.tail(len(self._items))

    def tail(self, n: int) -> tuple[ToolInvoked, ...]:
        found: tuple[Any, ...] = super().tail(n)
        return tuple([_call(item) if type(item) is tuple else item for item in found])

    def newest(self) -> Iterator[ToolInvoked]:
        for item in reversed(self._items):
            yield _call(item) if type(item) is tuple else item

    def _append(self, item: ToolInvoked) -> None:
        self._items.append(item)
        if self._keep is not None and len(self._items) > self._keep:
            index = len(self._items) - self._keep - 1
            self._items[index] = _put_away(self._items[index])


def _put_away(call: ToolInvoked) -> ToolInvoked | tuple[Any, ...]:
    if call.result is None or isinstance(call.result, ResultDigest):
        return call
    text = as_text(call.result)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    values = _values(call)
    return (*values[:_RESULT], ResultDigest(len(text), digest), *values[_RESULT + 1 :])


def _call(values: tuple[Any, ...]) -> ToolInvoked:
    return ToolInvoked(**dict(zip(_FIELDS, values, strict=True)))
