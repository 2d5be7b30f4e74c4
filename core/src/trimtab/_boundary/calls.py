"""The one place where code that others wrote is called.

Whatever such code does becomes a `Reply`: a value of our own, or the text of an error. What a fault
is, `trimtab._types.errors` says for all of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import Any, Generic, NamedTuple, TypeVar

import attrs

from trimtab._events.provenance import Provenance
from trimtab._types.errors import is_cancelled, is_interruption, raised_by
from trimtab._types.in_flight import WATCH
from trimtab._types.text import describe_error

T = TypeVar("T")
MAX_ERROR_TEXT = 500
"""Most characters of an error on record: room for a message, not for what a tool returned."""

SLOW_SECONDS = 0.05
"""A call that takes longer is on record as slow."""


@attrs.define(eq=False, repr=False)
class Reply(Generic[T]):
    """What foreign code returned, or the text of the error by which it failed.

    Args:
        value: what it returned; None if it failed.
        error: what went wrong; None if nothing did.
        seconds: how long it took, where that was measured and is of interest.
        cause: what it raised, if it raised.
    """

    value: T | None = None
    error: str | None = None
    seconds: float = 0.0
    cause: BaseException | None = None


NOTHING: Reply[Any] = Reply()
"""The reply of all code that returned None in good time; don't change it."""


def call(work: Callable[..., T], *arguments: Any) -> Reply[T]:
    """Call foreign code, and return what became of it.

    Args:
        work: what is called. It checks and copies what it returns (see `trimtab._boundary.values`).
        arguments: what it takes.

    Raises:
        BaseException: what a signal brought meanwhile, and nothing else.
    """
    try:
        return Reply(work(*arguments))
    except BaseException as error:
        if is_interruption(error):
            raise
        return Reply(error=describe_error(error, MAX_ERROR_TEXT), cause=error)


async def acall(value: Awaitable[T]) -> Reply[T]:
    """As `call`, for what an ``async def`` returned.

    Raises:
        BaseException: the cancellation of the running task, its end from outside, or what a signal
            brought meanwhile.
    """
    try:
        return Reply(await value)
    except BaseException as error:
        closed = isinstance(error, GeneratorExit) and not raised_by(error)
        if closed or is_cancelled(error) or is_interruption(error):
            raise
        return Reply(error=describe_error(error, MAX_ERROR_TEXT), cause=error)


class Inside:
    """A stretch of foreign code that somebody called.

    A thread or task that starts there with a copy of the context is inside too, until the stretch
    ends.

    Args:
        owners: who called it.

    Attributes:
        active: whether it lasts.
        source: the provider that is being called, where it is one.
    """

    __slots__ = ("active", "owners", "source")

    def __init__(self, *owners: object) -> None:
        self.owners = owners
        self.source: Provenance | None = None
        self.active = False


CAUSE: ContextVar[BaseException | None] = ContextVar("trimtab_cause", default=None)
"""What a provider raised, while its fault is being recorded: for those that test providers."""

_INSIDE: ContextVar[tuple[Inside, ...]] = ContextVar("trimtab_inside", default=())


def is_inside(owner: object) -> bool:
    """Return whether this context is in foreign code that `owner` called."""
    stretches = _INSIDE.get()  # mostly none, and an empty tuple is quickly told
    return bool(stretches) and any(i.active and owner in i.owners for i in stretches)


def owners() -> tuple[object, ...]:
    """Return whose foreign code this context is in, from the outermost on."""
    return tuple([owner for inside in _INSIDE.get() if inside.active for owner in inside.owners])


def within(owners: Iterable[object], work: Callable[..., T], *arguments: Any) -> T:
    """Return ``work(*arguments)``, which `owners` caused by foreign code that they called."""
    inside = Inside(*owners)
    token = _INSIDE.set((*_INSIDE.get(), inside))
    try:
        inside.active = True
        return work(*arguments)
    finally:
        inside.active = False
        _INSIDE.reset(token)


class Ask(NamedTuple):
    """One call of a provider that is to be made.

    Attributes:
        source: who is called.
        hook: what is called, for events.
        work: the call; it takes one argument.
    """

    source: Provenance
    hook: str
    work: Callable[[Any], Any]


def call_in_turn(
    asks: Iterable[Ask],
    argument: Any,
    inside: Inside,
    monotonic: Callable[[], float],
    put: Callable[[Reply[Any]], object],
) -> None:
    """Make the calls on this thread, one after the other, and measure each.

    Args:
        asks: what is called.
        argument: what each takes.
        inside: the stretch of foreign code that they are.
        monotonic: returns the time in seconds.
        put: takes each reply. If it returns something true, the others are not called.

    Raises:
        BaseException: as for `call`.
    """
    tell = WATCH.tell
    token = _INSIDE.set((*_INSIDE.get(), inside))
    try:
        inside.active = True  # here, for an interrupt may come any time
        began = monotonic()
        for source, _, work in asks:
            inside.source = source
            if tell is not None:
                tell(source.name)
            try:
                value = work(argument)
            except BaseException as error:
                if is_interruption(error):
                    raise
                reply: Reply[Any] = Reply(error=describe_error(error, MAX_ERROR_TEXT), cause=error)
            else:
                reply = NOTHING if value is None else Reply(value)
            ended = monotonic()
            if reply is not NOTHING:
                reply.seconds = ended - began
            elif ended - began > SLOW_SECONDS:
                reply = Reply(seconds=ended - began)
            began = ended
            if put(reply):
                return
    finally:
        inside.active = False
        _INSIDE.reset(token)
        if tell is not None:
            tell("")
