"""The one way to call foreign code, and what it returns as own records of exact values.

A subclass of a public record, of `str` or of `int` brings the methods of its author: an ``__eq__``
that raises would do so wherever the value is compared later. Everything is therefore read, checked
and copied once, while the provider is still being called; what it does then is its own failure.

Whatever such code does becomes a `Reply`: a value of our own, or the text of an error. What a fault
is, `trimtab._types.errors` says for all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

import attrs

from trimtab._events import Provenance
from trimtab._events.guidance import (
    MAX_FEEDBACK,
    NOT_RELEVANT,
    ClassificationResult,
    Feedback,
    GuidanceInjection,
    Observation,
    Proposal,
)
from trimtab._policy.feedback import TaskCompletionResult
from trimtab._types.errors import WATCH, class_name, is_cancelled, is_interruption, raised_by
from trimtab._types.text import describe_error, digest_of, exact, shorten

T = TypeVar("T")
MAX_REASON = 2_000
"""Most characters of a reason on record; nobody but people reads it."""

MAX_NAME = 1_000
"""Most characters of what names an episode, a category or a state of progress. Fingerprints of a
batch of calls are some hundred; beyond this a name keeps its beginning and a digest."""

MOST_PARTS = 100
"""Most observations, and most suggestions, of one feedback; the agent reads 4,000 characters."""


class WrongReturn(TypeError):
    """A provider returned something that its hook doesn't take."""


def expect(value: object, kind: type[T], hook: str) -> T:
    """Return `value` if it is of `kind`."""
    if not isinstance(value, kind):
        if inspect.iscoroutine(value):
            value.close()
        raise WrongReturn(f"{hook} returned {class_name(value)}, not {kind.__name__}")
    return value


def _own(value: object, kind: type[T], hook: str, **own: Callable[[Any], Any]) -> T:
    """Return a copy of a record of `kind`, all exact; `own` makes the values of some fields."""
    record = expect(value, kind, hook)
    fields: tuple[attrs.Attribute[Any], ...] = attrs.fields(kind)  # type: ignore[arg-type]
    return kind(**{f.name: own.get(f.name, exact)(getattr(record, f.name)) for f in fields})


def _verdict(value: object, hook: str) -> ClassificationResult:
    verdict = expect(value, ClassificationResult, hook)
    return ClassificationResult(
        relevant=verdict.relevant,
        confidence=exact(verdict.confidence),
        reason=_cut(verdict.reason, MAX_REASON),
        episode=_name(verdict.episode),
        found=verdict.found,
    )


def own_injection(value: object, hook: str) -> GuidanceInjection:
    return _own(value, GuidanceInjection, hook, category=_name)


def own_proposal(value: object, hook: str) -> Proposal:
    if isinstance(value, GuidanceInjection):
        return Proposal(own_injection(value, hook))
    proposal = expect(value, Proposal, hook)
    return Proposal(
        own_injection(proposal.injection, hook), _verdict(proposal.classification, hook)
    )


def own_feedback(value: object, hook: str) -> Feedback:
    """Return what a feedback provider says; where it stands in the run is core's to say."""
    return _own(
        value,
        Feedback,
        hook,
        summary=_text,
        observations=lambda found: _parts(found, _observation),
        suggestions=lambda found: _parts(found, _text),
    )


def own_result(value: object, hook: str) -> TaskCompletionResult:
    return _own(value, TaskCompletionResult, hook, progress=_name)


def own_records(value: object) -> tuple[object, ...]:
    """Return the records that a recorder adds to its run: copies, of their own classes."""
    if value is None:
        return ()
    if isinstance(value, list | tuple) and all(attrs.has(type(record)) for record in value):
        return tuple([duplicate(record) for record in value])
    raise WrongReturn("record must return None, or a list of attrs records to add to the run")


def duplicate(record: T, **changes: Any) -> T:
    """Return a copy of an attrs record, with other values for some fields.

    Unlike `attrs.evolve` it does not call the constructor, which a subclass may have replaced by
    one that takes other arguments.
    """
    made = object.__new__(type(record))
    for name, value in getattr(record, "__dict__", {}).items():
        object.__setattr__(made, name, value)
    for field in attrs.fields(type(record)):  # type: ignore[arg-type]
        value = changes[field.name] if field.name in changes else getattr(record, field.name)
        object.__setattr__(made, field.name, value)
    return made


def _observation(value: object) -> Observation:
    category = partial(_cut, limit=MAX_NAME)
    texts = {"description": _text, "evidence": _text}
    return _own(value, Observation, "provide", category=category, **texts)


def _parts(values: Iterable[Any], own: Callable[[Any], T]) -> tuple[T, ...]:
    return tuple([own(value) for value in islice(values, MOST_PARTS)])


def _cut(value: Any, limit: int) -> Any:
    """Return a text cut to `limit`; what is no text is left to the validator of its field."""
    value = exact(value)
    return shorten(value, limit) if type(value) is str else value


_text = partial(_cut, limit=MAX_FEEDBACK)


def _name(value: Any) -> Any:
    """Return a text by which something is told apart, cut so that it still is."""
    value = exact(value)
    if type(value) is not str or len(value) <= MAX_NAME:
        return value
    return f"{value[:MAX_NAME]}…{digest_of(value)}"


# What asks a provider, by its methods or its hooks; called with a context.

ProviderResult = Proposal | ClassificationResult | None


def ask_by_method(
    classify: Callable[..., Any], threshold: float
) -> Callable[[Any], ProviderResult]:
    def ask(context: Any) -> ProviderResult:
        value = classify(context=context)
        if value is NOT_RELEVANT:
            return None
        verdict = _verdict(value, "classify")
        if not verdict.relevant:
            return None if verdict.episode is None else verdict
        return verdict if verdict.confidence >= threshold else None

    return ask


def proposal_by_hook(threshold: float, hook: str) -> Callable[[object], Proposal | None]:
    def read(value: object) -> Proposal | None:
        proposal = own_proposal(value, hook)
        verdict = proposal.classification
        return proposal if verdict.relevant and verdict.confidence >= threshold else None

    return read


def provide_by_method(provide: Callable[..., Any]) -> Callable[[Any], GuidanceInjection]:
    return lambda context: own_injection(provide(context=context), "provide")


def feedback_by_methods(
    should_run: Callable[..., Any], provide: Callable[..., Any]
) -> Callable[[Any], object]:
    def ask(context: Any) -> object:
        wanted = expect(should_run(context=context), bool, "should_run")
        return provide(context=context) if wanted else None

    return ask


def check_by(own: Callable[[Any], Any], hook: str) -> Callable[[Any], TaskCompletionResult]:
    def check(context: Any) -> TaskCompletionResult:
        value = own(context)
        if inspect.isawaitable(value):
            value = wait_for(value)
        return own_result(value, hook)

    return check


def wait_for(value: Awaitable[T]) -> T:
    """Return the result of an awaitable; on another thread if this one has a running loop."""
    import asyncio

    async def awaited() -> T:
        return await value

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(awaited())).result()


MAX_ERROR_TEXT = 500
"""Most characters of an error on record: room for a message, not for what a tool returned."""

SLOW_SECONDS = 0.05
"""A call that takes longer is on record as slow."""


@attrs.define(eq=False, repr=False)
class Reply(Generic[T]):
    """What foreign code returned, or the text of the error by which it failed.

    `seconds` are those that it took, where that was measured and is of interest.
    """

    value: T | None = None
    error: str | None = None
    seconds: float = 0.0
    cause: BaseException | None = None


NOTHING: Reply[Any] = Reply()
"""The reply of all code that returned None in good time; don't change it."""


def _failure(error: BaseException) -> Reply[Any]:
    if is_interruption(error):
        raise error
    return Reply(error=describe_error(error, MAX_ERROR_TEXT), cause=error)


def call(work: Callable[..., T], *arguments: Any) -> Reply[T]:
    """Call foreign code, and return what became of it; only what a signal brought passes through.

    `work` checks and copies what it returns.
    """
    try:
        return Reply(work(*arguments))
    except BaseException as error:  # noqa: BLE001 - what a signal brought is raised again
        return _failure(error)


async def acall(value: Awaitable[T]) -> Reply[T]:
    """As `call`, for what an ``async def`` returned; the task's own cancellation passes through."""
    try:
        return Reply(await value)
    except BaseException as error:
        closed = isinstance(error, GeneratorExit) and not raised_by(error)
        if closed or is_cancelled(error):
            raise
        return _failure(error)


class Inside:
    """A stretch of foreign code that somebody called.

    A thread or task that starts there with a copy of the context is inside too, until the stretch
    ends.
    """

    __slots__ = ("active", "owners", "source")

    def __init__(self, *owners: object) -> None:
        self.owners = owners
        self.source: Provenance | None = None
        self.active = False


CAUSE: ContextVar[BaseException | None] = ContextVar("trimtab_cause", default=None)
"""What a provider raised, while observers are told of its `ProviderFaulted`; else None."""

_INSIDE: ContextVar[tuple[Inside, ...]] = ContextVar("trimtab_inside", default=())


def is_inside(owner: object) -> bool:
    """Return whether this context is in foreign code that `owner` called."""
    stretches = _INSIDE.get()  # mostly none, and an empty tuple is quickly told
    return bool(stretches) and any(i.active and owner in i.owners for i in stretches)


def owners() -> tuple[object, ...]:
    """Return whose foreign code this context is in, from the outermost on."""
    return tuple([owner for inside in _INSIDE.get() if inside.active for owner in inside.owners])


def within(
    owners: Iterable[object],
    work: Callable[..., T],
    *arguments: Any,
    others: type[Any] | None = None,
) -> T:
    """Return ``work(*arguments)``, which `owners` caused by foreign code that they called.

    In whose foreign code this context is besides had no part in it if they are of the class
    `others`.
    """
    inside, around = Inside(*owners), _INSIDE.get()
    if others is not None:
        around = tuple([i for i in around if not any(isinstance(o, others) for o in i.owners)])
    token = _INSIDE.set((*around, inside))
    try:
        inside.active = True
        return work(*arguments)
    finally:
        inside.active = False
        _INSIDE.reset(token)


@attrs.frozen(eq=False, repr=False)
class Ask:
    """One call of a provider that is to be made.

    Attributes:
        work: what is called.
        read: makes an own value of what `work` returns, unless that is None; None if `work` does.
    """

    source: Provenance
    hook: str
    work: Callable[[Any], Any]
    read: Callable[[Any], Any] | None = attrs.field(default=None, kw_only=True)


def call_in_turn(
    asks: Iterable[Ask],
    argument: Any,
    inside: Inside,
    monotonic: Callable[[], float],
    put: Callable[[Reply[Any]], object],
) -> None:
    """Make the calls on this thread, and measure each.

    `put` takes each reply. If it returns something true, the others are not called.
    """
    tell = WATCH.tell
    token = _INSIDE.set(_INSIDE.get() + (inside,))  # noqa: RUF005 - takes a third of the time
    try:
        inside.active = True  # here, for an interrupt may come any time
        began = monotonic()
        for ask in asks:
            inside.source = ask.source
            if tell is not None:
                tell(ask.source.name)
            reply = NOTHING
            try:
                value = ask.work(argument)
                if value is not None:
                    reply = Reply(value if ask.read is None else ask.read(value))
            except BaseException as error:  # noqa: BLE001 - as in `call`
                reply = _failure(error)
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
