"""Isolation of provider calls: a failure becomes one event, and nothing else happens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from trimtab._events.provenance import Provenance, ProviderKind
from trimtab._types.errors import SessionError
from trimtab._types.in_flight import WATCH, call_told
from trimtab._types.text import describe_error

if TYPE_CHECKING:
    from trimtab._contract.context import GuidanceContext
    from trimtab._run.workers import Done
    from trimtab._session.feeds import Feeds
    from trimtab._session.recorder import Recorder
    from trimtab._table.entries import GuidanceEntry, ProviderResult

T = TypeVar("T")
SLOW_SECONDS = 0.05
FAILURES_BEFORE_QUARANTINE = 3
MAX_ERROR_TEXT = 500


@attrs.frozen(eq=False, repr=False)
class Reply(Generic[T]):
    """What a provider returned, or the error that it raised, as text."""

    value: T | None = None
    error: str | None = None


class _ReentrancyGuard:
    """Refuses a provider that queries the run that is asking it: that would never end."""

    def __init__(self) -> None:
        self.inside: set[int] = set()

    def check(self) -> int:
        """Return this thread's identifier.

        Raises:
            SessionError: the thread is inside a provider already.
        """
        thread = get_ident()
        if thread in self.inside:
            raise SessionError("a provider must not ask the run that is asking it")
        return thread

    def enter(self, call: Callable[..., T], *arguments: Any) -> T:
        """Return ``call(*arguments)``, with this thread marked as inside."""
        thread = self.check()
        try:
            self.inside.add(thread)  # here, for an interrupt may come right after it
            return call(*arguments)
        finally:
            self.inside.discard(thread)


class ProviderInvoker:
    """Calls the providers of one run.

    Args:
        run: where failures are recorded.
    """

    def __init__(self, run: Recorder) -> None:
        self._run = run
        self._monotonic = run.session.clock.monotonic
        self._guard = _ReentrancyGuard()

    @property
    def busy(self) -> bool:
        """Whether this thread is inside a provider of the run."""
        return get_ident() in self._guard.inside

    def not_quiet(self, entries: Sequence[GuidanceEntry]) -> list[GuidanceEntry]:
        """Return whom to ask: those whose projection is not quiet once it is up to date.

        Args:
            entries: the providers, in the prompt's order.

        Raises:
            SessionError: one of them is asking.
        """
        inside, thread, monotonic = self._guard.inside, get_ident(), self._monotonic
        if thread in inside:
            self._guard.check()
        asked: list[GuidanceEntry] = []
        feeds, tell = self._run.state.feeds.quiet_feeds, WATCH.tell
        try:
            inside.add(thread)
            began = monotonic()
            latest = began + SLOW_SECONDS  # nobody is slow who ends before
            for entry in entries:
                feed = feeds.get(entry.name)
                if feed is None:
                    asked.append(entry)
                    continue
                try:
                    tell(entry.source.name)
                    feed.catch_up()
                    if feed.projection.quiet is not True:  # type: ignore[attr-defined]
                        asked.append(entry)
                except BaseException as error:
                    feed.free()
                    _let_pass(error)
                    self.failed(entry.source, entry.hook, error)
                    began = monotonic()
                    continue
                ended = monotonic()
                if ended > latest:
                    self._succeeded(entry.source, entry.hook, ended - began)
                began = ended
            return asked
        finally:
            inside.discard(thread)
            tell("")

    def share(self, feeds: Feeds) -> None:
        """Bring the projections up to date that providers share, unless one of them is asking.

        Args:
            feeds: the run's.
        """
        inside, thread = self._guard.inside, get_ident()
        if thread in inside:
            return
        try:
            inside.add(thread)
            for name in feeds.shared:
                try:
                    feeds.feeds[name].catch_up()
                except BaseException as error:
                    _let_pass(error)
                    self.failed(Provenance(name, ProviderKind.GUIDANCE), "projection", error)
        finally:
            inside.discard(thread)

    def ask_guides(
        self, entries: Sequence[GuidanceEntry], context: GuidanceContext, timeout: float | None
    ) -> list[tuple[GuidanceEntry, ProviderResult]]:
        """Return the results of those that have something to say.

        Args:
            entries: the providers, in the prompt's order.
            context: what they see.
            timeout: seconds per provider, on a worker thread; None calls them on this one.

        Raises:
            SessionError: one of them is asking.
        """
        if timeout is not None:
            self._guard.check()
            return self._ask_on_worker(entries, context, timeout)
        inside, thread = self._guard.inside, get_ident()  # `enter`, inlined: the most frequent call
        if thread in inside:
            self._guard.check()
        tell = WATCH.tell
        try:
            inside.add(thread)
            results: list[tuple[GuidanceEntry, ProviderResult]] = []
            monotonic, failures = self._monotonic, self._run.state.faults
            began = monotonic()
            latest = began + SLOW_SECONDS  # as in `not_quiet`
            for entry in entries:
                try:
                    tell(entry.source.name)
                    result = entry.ask(context)
                    if result is not None and entry.judge is not None:  # `_ask`, inlined
                        result = entry.judge(result)
                except BaseException as error:
                    _let_pass(error)
                    self.failed(entry.source, entry.hook, error)
                    began = monotonic()
                    continue
                ended = monotonic()
                if ended > latest or failures:
                    self._succeeded(entry.source, entry.hook, ended - began)
                began = ended
                if result is not None:
                    results.append((entry, result))
            return results
        finally:
            inside.discard(thread)
            tell("")

    def _ask_on_worker(
        self, entries: Sequence[GuidanceEntry], context: GuidanceContext, timeout: float
    ) -> list[tuple[GuidanceEntry, ProviderResult]]:
        results: list[tuple[GuidanceEntry, ProviderResult]] = []
        jobs = [partial(call_told, each.source.name, _ask, each, context) for each in entries]
        for entry, done in zip(entries, self._on_worker(jobs, timeout), strict=True):
            try:
                result = done.result()
            except (Exception, SystemExit) as error:
                self.failed(entry.source, entry.hook, error)
                continue
            if self._run.state.faults or done.seconds > SLOW_SECONDS:
                self._succeeded(entry.source, entry.hook, done.seconds)
            if result is not None:
                results.append((entry, result))
        return results

    def call(
        self,
        source: Provenance,
        hook: str,
        ask: Callable[[Any], T],
        context: Any,
        timeout: float | None,
    ) -> Reply[T]:
        """Return what ``ask(context)`` returns, or its error.

        Args:
            source: who is called.
            hook: what is called, for events.
            ask: the call.
            context: its argument.
            timeout: as for `ask_guides`.

        Raises:
            SessionError: a provider of this run is asking.
        """
        self._guard.check()
        began = self._monotonic()
        told = partial(call_told, source.name, ask, context)
        try:
            if timeout is None:
                value = self._guard.enter(told)
            else:
                value = self._on_worker([told], timeout)[0].result()  # type: ignore[assignment]
        except BaseException as error:
            _let_pass(error)
            self.failed(source, hook, error)
            return Reply(None, describe_error(error, MAX_ERROR_TEXT))
        self._succeeded(source, hook, self._monotonic() - began)
        return Reply(value)

    def _succeeded(self, source: Provenance, hook: str, seconds: float) -> None:
        if seconds > SLOW_SECONDS:
            from trimtab._events.providers import ProviderSlow

            self._run.dispatch(ProviderSlow, source=source, hook=hook, seconds=seconds)
        if self._run.state.faults:
            self._run.state.faults.pop(source.key, None)

    def _on_worker(self, jobs: Sequence[Callable[[], T]], timeout: float) -> list[Done[T]]:
        """Do `jobs` on another thread, so that no one waits for another's provider."""
        from trimtab._run.workers import do

        return do(jobs, timeout, self._monotonic, self._guard.enter)

    def failed(self, source: Provenance, hook: str, error: BaseException) -> None:
        """Record a failure; a soft provider leaves the run after three in a row.

        Args:
            source: who failed.
            hook: what was called.
            error: what it raised.
        """
        from trimtab._events.providers import ProviderFaulted, ProviderQuarantined

        state = self._run.state
        self._run.dispatch(
            ProviderFaulted,
            source=source,
            hook=hook,
            error=describe_error(error, MAX_ERROR_TEXT),
            turn=state.turn,
            call_index=state.calls - 1,
        )
        failures = state.faults[source.key]
        if source.kind is not ProviderKind.COMPLETION and failures == FAILURES_BEFORE_QUARANTINE:
            self._run.dispatch(ProviderQuarantined, source=source, hook=hook, faults=failures)


def _ask(entry: GuidanceEntry, context: GuidanceContext) -> ProviderResult:
    """Return what a provider has to say, judged."""
    result = entry.ask(context)
    if result is None or entry.judge is None:
        return result  # type: ignore[no-any-return]
    return entry.judge(result)


def _let_pass(error: BaseException) -> None:
    """Raise `error` again if it is meant for the caller: an interrupt or a cancellation."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and isinstance(error, asyncio.CancelledError):
        raise error
