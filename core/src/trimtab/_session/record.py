"""The record of a session: what happened, by type, who observes it, and the lock that guards it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from sys import maxsize
from threading import RLock
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from trimtab._boundary import call, duplicate, owners, within
from trimtab._events import CompactionHappened, Event, ModelResponded, ToolInvoked, UserMessage
from trimtab._events.guidance import ObserverFaulted
from trimtab._session import ByType, OldCalls, RecentSlice, Reducer, Slice, ToolLog
from trimtab._session.state import RunState
from trimtab._types.errors import SessionError, class_name
from trimtab._types.limits import SYSTEM_CLOCK, Clock, check_clock
from trimtab._types.options import misfit
from trimtab._types.text import as_text, shown

T = TypeVar("T")
MOST_NESTED = 20
"""How deep an observer may observe what it records itself, before it is taken for a circle."""

Observer = tuple[type[Any], Callable[[Any], object]]


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
        except BaseException as error:
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


class Record:
    """A typed, append-only record of events; the base of `Session`.

    Attributes:
        takers: what takes records in, by type; call them while holding the lock.
    """

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK, keep: int | None = 200) -> None:
        if keep is not None and (isinstance(keep, bool) or not isinstance(keep, int)):
            raise TypeError(f"keep must be a whole number or None, not {shown(keep)}")
        if keep is not None and not 1 <= keep <= maxsize:
            raise ValueError(f"keep must be 1 or more, or None for all, not {shown(keep)}")
        check_clock(clock)
        self.clock = clock
        self.lock = SessionLock()
        self._keep = keep
        self._slices: dict[type[Any], Slice[Any]] = {ToolInvoked: ToolLog(keep)}
        self._reducers: dict[type[Any], Reducer] = {}
        self._observers: list[Observer] = []
        self._sinks: tuple[Sink, ...] = ()
        self._listeners = ByType(self._listeners_of)
        self.takers = ByType(self._taker_of)
        self._states: dict[str, RunState] = {}
        self._current: dict[str, str] = {}
        self._warned: set[str] = set()

    def __reduce_ex__(self, _: object) -> Any:
        """Refuse pickle and copy, which would share or lose the lock."""
        raise SessionError(
            "a session can't be pickled or copied: save it with session.snapshot(), and read that "
            "with Session.restore(text)"
        )

    def __getitem__(self, kind: type[T]) -> Slice[T]:
        """Return the slice of `kind`: ``session[ToolInvoked].latest()``."""
        found = self._slices.get(kind)
        if found is None:
            _check_type(kind)
            with self.lock:
                found = self._slices.setdefault(kind, self._new_slice(kind))
        return found

    @property
    def kinds(self) -> tuple[type[Any], ...]:
        """The types of the records in it, each in the order in which it came first."""
        return tuple(self._slices)

    def _new_slice(
        self, kind: type[Any], items: Iterable[Any] = (), dropped: int = 0
    ) -> Slice[Any]:
        if self._keep is not None and issubclass(kind, Event) and kind.keep_newest:
            return RecentSlice(self._keep, items, dropped)
        return Slice(items)

    def register(self, kind: type[T], reducer: Reducer) -> None:
        """Decide how records of `kind` are kept; all of them unless registered.

        Raises:
            SessionError: records of that type are there already, or the reducer can't be called.
        """
        _check_callable("reducer", reducer, "records, record")
        with self.lock:
            if len(self[kind]):
                raise SessionError(
                    f"register the reducer of {kind.__name__} before the first is dispatched"
                )
            self._reducers[kind] = reducer
            if kind is ToolInvoked or isinstance(self._slices[kind], RecentSlice):
                self._slices[kind] = Slice()
            self.takers.clear()

    def observe(self, kind: type[T], callback: Callable[[T], object]) -> Callable[[], None]:
        """Call `callback` with every record of `kind` (subclasses too), outside the lock.

        Returns:
            a function that ends the observation.

        Raises:
            SessionError: `kind` is no class, or `callback` can't be called.
        """
        _check_type(kind)
        _check_callable("callback", callback, "record")
        observer: Observer = (kind, callback)
        with self.lock:
            self._observers = [*self._observers, observer]
            self._heed()
        return lambda: self._forget(observer)

    def _forget(self, observer: Observer) -> None:
        with self.lock:
            self._observers = [known for known in self._observers if known is not observer]
            self._heed()

    def _heed(self) -> None:
        self._listeners.clear()
        self.takers.clear()
        self.lock.observed_by((*self._observers, *self._sinks))

    def _listeners_of(self, kind: type[Any]) -> tuple[Callable[[Any], object], ...]:
        return tuple(call for wanted, call in self._observers if issubclass(kind, wanted))

    def dispatch(self, event: object) -> None:
        """Record one event, or any other record; the only way to change a session.

        The reducer runs under the lock: what it raises reaches the caller, and nothing is
        recorded then. An event without a run goes to the open run of its prompt.

        Raises:
            SessionError: `event` is None or a class.
        """
        if event is None or isinstance(event, type):
            raise SessionError(f"dispatch takes a record, such as an event, not {shown(event)}")
        with self.lock:
            placed = self._placed(event) if isinstance(event, Event) else event
            self.takers[type(placed)](placed)
            if isinstance(placed, Event) and placed.run_id in self._states:
                self._states[placed.run_id].apply(placed)

    def _taker_of(self, kind: type[Any]) -> Callable[[Any], None]:
        """Return what takes records of `kind` in: their slice alone if nobody else wants them."""
        if kind in self._reducers or self._sinks or self._listeners[kind]:
            return self._take
        return self[kind]._append

    def _take(self, event: object) -> None:
        """Put one record into its slice, and hand it to observers and sinks."""
        kind = type(event)
        records, reducer = self[kind], self._reducers.get(kind)
        if reducer is None:
            records._append(event)
        else:
            records._apply(reducer(records, event))
        if self._listeners[kind]:
            self.lock.later(partial(self._tell, event))
        self._feed(event)

    def _feed(self, event: object) -> None:
        """Hand `event` to the sinks alone; call it while holding the lock."""
        for sink in self._sinks:
            if sink.wants(event):
                sink.put(event)
                self.lock.later(sink.drain)

    def _attach(self, sink: Sink) -> None:
        with self.lock:
            self._sinks = (*self._sinks, sink)
            self._heed()

    def _detach(self, sink: Sink) -> None:
        with self.lock:
            self._sinks = tuple(known for known in self._sinks if known is not sink)
            self._heed()

    def _tell(self, event: object) -> None:
        do_all([partial(self._tell_one, one, event) for one in self._listeners[type(event)]])

    def _tell_one(self, callback: Callable[[Any], object], event: object) -> None:
        if owners().count(callback) >= MOST_NESTED:
            error: str | None = "it records events that it observes itself, without end"
        else:
            error = within((callback,), call, callback, event).error
        if error is not None:
            self._observer_failed(callback, error, event)

    def _observer_failed(self, callback: object, error: str, event: object) -> None:
        named = call(lambda it: as_text(getattr(it, "__qualname__", None) or repr(it)), callback)
        name = named.value or class_name(callback)
        if name not in self._warned:
            self._warned.add(name)
            from logging import getLogger

            getLogger("trimtab").warning(
                "The observer %s failed: %s. Its later failures are on record as ObserverFaulted.",
                *(name, error),
            )
        if not isinstance(event, ObserverFaulted):
            self.dispatch(ObserverFaulted(observer=name, error=error))

    def _placed(self, event: Event) -> Event:
        if event.run_id and event.at is not None:
            return event
        run_id = event.run_id or self._home_of(event)
        state = self._states.get(run_id)
        return duplicate(
            event,
            run_id=run_id,
            prompt_name=event.prompt_name or (state.prompt_name if state else ""),
            at=event.at or self.clock.now(),
        )

    def _home_of(self, event: Event) -> str:
        if event.prompt_name:
            known = self._current.get(event.prompt_name)
            return known or (self._implied(event) if isinstance(event, ToolInvoked) else "")
        open_runs = [run_id for run_id, state in self._states.items() if not state.closed]
        return open_runs[0] if len(open_runs) == 1 else ""

    def _implied(self, event: Event) -> str:
        """Create an implicit run for a call whose prompt is not open yet."""
        state = RunState(
            new_id(), event.prompt_name, event.agent_id, lock=self.lock, history=self.events_of
        )
        self._adopt(state)
        return state.run_id

    def _adopt(self, state: RunState) -> None:
        self._states[state.run_id] = state
        self._current[state.prompt_name] = state.run_id

    def runs(self) -> Mapping[str, RunState]:
        """Return the states of all runs by run id, in the order of their opening."""
        return dict(self._states)

    def _fill(
        self, kind: type[Any], items: Iterable[Any], dropped: int, old: OldCalls | None = None
    ) -> None:
        """Put the records of a snapshot into their slice."""
        if kind in self._reducers or self._keep is None:
            self._slices[kind] = Slice(items if old is None else chain(old.calls(), items))
        elif kind is ToolInvoked:
            self._slices[kind] = ToolLog(self._keep, items, old)
        else:
            self._slices[kind] = self._new_slice(kind, items, dropped)
        self.takers.clear()

    def events_of(self, run_id: str) -> Iterator[Event]:
        """Return what happened in one run, in order: messages, responses, calls, compactions."""
        kinds = (UserMessage, CompactionHappened, ModelResponded, ToolInvoked)
        return chain(self._inherited(run_id), in_order(self, run_id, kinds))

    def _inherited(self, run_id: str) -> Iterator[Event]:
        """Return what a forked run has in common with the run that it was forked from."""
        state = self._states.get(run_id)
        if state is None or state.origin is None:
            return iter(())
        return islice(self.events_of(state.origin.run_id), state.origin.events)

    def recent_calls(self, run_id: str, n: int) -> tuple[ToolInvoked, ...]:
        """Return the last `n` ended calls of one run, oldest first."""
        state = self._states[run_id]
        with self.lock:
            if n <= len(state.recent):
                return tuple(state.recent)[-n:] if n > 0 else ()
            if state.origin is not None:
                every = [call for call in self.events_of(run_id) if isinstance(call, ToolInvoked)]
                return tuple(every[-n:])
            calls = (call for call in self[ToolInvoked].newest() if call.run_id == run_id)
            return tuple(islice(calls, n))[::-1]


def in_order(session: Record, run_id: str, kinds: Iterable[type[Event]]) -> list[Event]:
    """Return the events of some kinds that belong to one run alone, in order.

    Where the clock stood still, their turns decide, and then the order of the kinds.
    """
    found: list[tuple[tuple[float, int, int], Event]] = []
    for rank, kind in enumerate(kinds):
        for event in session[kind].all():
            if event.run_id == run_id:
                at = event.at.timestamp() if event.at else 0.0
                turn = getattr(event, "turn", None)
                found.append(((at, -1 if turn is None else turn, rank), event))
    found.sort(key=itemgetter(0))
    return [event for _, event in found]


def new_id() -> str:
    """Return a fresh identifier."""
    return os.urandom(8).hex()


def _check_type(kind: object) -> None:
    if not isinstance(kind, type):
        raise SessionError(f"kind must be the class of a record, not {shown(kind)}")


def _check_callable(what: str, value: object, given: str) -> None:
    if not callable(value):
        raise SessionError(f"{what} must be callable, not {shown(value)}")
    wrong = misfit(value, *[None for _ in given.split()])
    if wrong is not None:
        raise SessionError(f"{what} can't be called as {what}({given}): {wrong}")
