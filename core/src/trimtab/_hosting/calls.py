"""The calls of one response: which are open, and how one of them runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Self

import attrs

from trimtab._events.run import Outcome, ToolCall
from trimtab._hosting.executor import RAISED, format_error, is_cancelled
from trimtab._types.errors import SessionError


class AskedCalls:
    """The calls of the last response that have no answer yet.

    Several calls may share an id: some services give the same one twice.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: frozenset[str] = frozenset()
        self._open: list[ToolCall] = []
        self._failed: list[str] = []

    def replace(self, calls: Iterable[ToolCall]) -> None:
        """Start with the calls of a new response."""
        with self._lock:
            self._open = list(calls)
            self._known = frozenset(call.call_id for call in self._open)
            self._failed = []

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls without an answer, in the order of the response."""
        return tuple(self._open)

    def find(self, call: ToolCall | str) -> ToolCall:
        """Return the call, which may be given by its id.

        Raises:
            SessionError: the last response asked for no such call.
        """
        if isinstance(call, ToolCall):
            return call
        with self._lock:
            found = next((known for known in self._open if known.call_id == call), None)
        if found is None:
            raise SessionError(f"the last response asked for no call {call!r:.100}: give ToolCall")
        return found

    def take(self, call: ToolCall | str) -> ToolCall | None:
        """Return the call that is answered now; None if no response asked for it.

        Raises:
            SessionError: it has its answer already.
        """
        call_id = _id(call)
        with self._lock:
            same = [known for known in self._open if known.call_id == call_id]
            if same:
                found = next((known for known in same if known is call), same[0])
                self._open = [known for known in self._open if known is not found]
                return found
            if call_id in self._known:
                raise SessionError(f"call {call_id!r:.100} has its answer already: answer it once")
        return call if isinstance(call, ToolCall) else None

    def failed(self, call: ToolCall) -> None:
        """Note that the end of a call was recorded where it raised."""
        self.take(call)
        with self._lock:
            self._failed.append(call.call_id)

    def was_recorded(self, call: ToolCall | str) -> bool:
        """Return, once, whether the end of a call was recorded where it raised."""
        with self._lock:
            if _id(call) not in self._failed:
                return False
            self._failed.remove(_id(call))
            return True


@attrs.frozen
class RunningCall:
    """A call while it runs; use it with ``with`` or ``async with``.

    Args:
        call: the call.
        guidance: what providers say about the calls of this response, for `ToolContext.guidance`.
        refusal: if not empty, don't run the tool: answer with this text and `Outcome.DENIED`.
        start: called when the block is entered, unless the call is refused.
        fail: called with outcome and error text if the block raises.
    """

    call: ToolCall
    guidance: str
    refusal: str
    _start: Callable[[], object] = attrs.field(repr=False, alias="start")
    _fail: Callable[[Outcome, str], object] = attrs.field(repr=False, alias="fail")

    def __enter__(self) -> Self:
        if not self.refusal:
            self._start()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        if self.refusal:
            self._fail(Outcome.DENIED, self.refusal)
        else:
            self._fail(*end_of(error))

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.__exit__(kind, error, trace)


def end_of(error: BaseException) -> tuple[Outcome, str]:
    """Return how a call ended whose tool raised `error`, and the text for the record."""
    if isinstance(error, RAISED) and not _cancels(error):
        return Outcome.ERROR, format_error(error)
    return Outcome.INTERRUPTED, "interrupted"


def _cancels(error: BaseException) -> bool:
    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        return is_cancelled(error)
    except RuntimeError:  # no event loop runs on this thread
        return False


def _id(call: ToolCall | str) -> str:
    return call.call_id if isinstance(call, ToolCall) else call
