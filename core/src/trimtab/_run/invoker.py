"""Calling a provider so that it can't hurt anybody else (DESIGN 3, "Isolation")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

from trimtab._events.provenance import Provenance, ProviderKind
from trimtab._events.providers import ProviderFaulted, ProviderQuarantined, ProviderSlow
from trimtab._run.workers import Worker
from trimtab._types.errors import SessionError
from trimtab._types.text import describe_error

if TYPE_CHECKING:
    from trimtab._contract.context import GuidanceContext
    from trimtab._run.run import Run
    from trimtab._run.workers import Done
    from trimtab._table.entries import GuidanceEntry, ProviderResult


T = TypeVar("T")
SLOW_SECONDS = 0.05
FAULTS_BEFORE_QUARANTINE = 3
MAX_ERROR_TEXT = 500


class _Turnstile:
    """Lets each thread in once: a provider that asks its own run would be asked again, for ever."""

    def __init__(self) -> None:
        self.inside: set[int] = set()

    def check(self) -> int:
        """Return this thread's number; raise `SessionError` where it is inside."""
        thread = get_ident()
        if thread in self.inside:
            raise SessionError("a provider must not ask the run that is asking it")
        return thread

    def through(self, ask: Callable[..., T], *facts: Any) -> T:
        """Return ``ask(*facts)``, called inside."""
        thread = self.check()
        self.inside.add(thread)
        try:
            return ask(*facts)
        finally:
            self.inside.discard(thread)


class ProviderInvoker:
    """Calls the providers of one run: a fault is one event, and nothing else happens."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._monotonic = run.session.clock.monotonic
        self._idle: list[Worker] = []
        self._turnstile = _Turnstile()

    def guides(
        self, entries: Sequence[GuidanceEntry], context: GuidanceContext, limit: float | None
    ) -> list[tuple[GuidanceEntry, ProviderResult]]:
        """Return what each has to say, without those that have nothing to say or failed.

        Args:
            limit: seconds per provider, on a worker thread; None calls them right here.

        Raises:
            SessionError: one of them is asking.
        """
        thread = self._turnstile.check()
        if limit is not None:
            return self._limited_guides(entries, context, limit)
        inside = self._turnstile.inside  # as `through`, one call shorter: most of all calls go here
        inside.add(thread)
        try:
            return self._direct_guides(entries, context)
        finally:
            inside.discard(thread)

    def _direct_guides(
        self, entries: Sequence[GuidanceEntry], context: GuidanceContext
    ) -> list[tuple[GuidanceEntry, ProviderResult]]:
        said: list[tuple[GuidanceEntry, ProviderResult]] = []
        monotonic, faults = self._monotonic, self._run.state.faults
        began = monotonic()
        for entry in entries:
            try:
                value = entry.call(context)
                answer = None if value is None else entry.read(value)
            except (Exception, SystemExit) as error:
                self.fault(entry.source, entry.hook, error)
                began = monotonic()
                continue
            ended = monotonic()
            if faults or ended - began > SLOW_SECONDS:
                self._went_well(entry.source, entry.hook, ended - began)
            began = ended
            if answer is not None:
                said.append((entry, answer))
        return said

    def _limited_guides(
        self, entries: Sequence[GuidanceEntry], context: GuidanceContext, limit: float
    ) -> list[tuple[GuidanceEntry, ProviderResult]]:
        said: list[tuple[GuidanceEntry, ProviderResult]] = []
        jobs = [partial(entry.ask, context) for entry in entries]
        for entry, done in zip(entries, self._on_a_thread(jobs, limit), strict=True):
            try:
                value = done.result()
            except (Exception, SystemExit) as error:
                self.fault(entry.source, entry.hook, error)
                continue
            if self._run.state.faults or done.seconds > SLOW_SECONDS:
                self._went_well(entry.source, entry.hook, done.seconds)
            if value is not None:
                said.append((entry, value))
        return said

    def call(
        self,
        source: Provenance,
        hook: str,
        ask: Callable[[Any], T],
        context: Any,
        limit: float | None,
    ) -> T | None:
        """Return what `ask(context)` returns, None where it failed; `limit` as for `guides`.

        Raises:
            SessionError: a provider of this run is asking.
        """
        self._turnstile.check()
        began = self._monotonic()
        try:
            value = self._ask(ask, context, limit)
        except (Exception, SystemExit) as error:
            self.fault(source, hook, error)
            return None
        self._went_well(source, hook, self._monotonic() - began)
        return value

    def _went_well(self, source: Provenance, hook: str, seconds: float) -> None:
        if seconds > SLOW_SECONDS:
            self._run.dispatch(ProviderSlow, source=source, hook=hook, seconds=seconds)
        if self._run.state.faults:
            self._run.state.faults.pop(fault_key(source), None)

    def _ask(self, ask: Callable[[Any], T], context: Any, limit: float | None) -> T | None:
        if limit is None:
            return self._turnstile.through(ask, context)
        return self._on_a_thread([partial(ask, context)], limit)[0].result()

    def _on_a_thread(self, jobs: Sequence[Callable[[], T]], limit: float) -> list[Done[T]]:
        """Do `jobs` on a thread for this caller alone: nobody waits behind another's provider."""
        try:
            worker = self._idle.pop()
        except IndexError:
            from trimtab._run.workers import Worker

            worker = Worker(self._monotonic, self._turnstile.through)
        done = worker.run(jobs, limit)
        self._idle.append(worker)
        return done

    def fault(self, source: Provenance, hook: str, error: BaseException) -> None:
        """Record a fault; a soft provider leaves the table after three in a row."""
        state = self._run.state
        self._run.dispatch(
            ProviderFaulted,
            source=source,
            hook=hook,
            error=describe_error(error, MAX_ERROR_TEXT),
            turn=state.turn,
            call_index=state.calls - 1,
        )
        faults = state.faults[fault_key(source)]
        if source.kind is not ProviderKind.COMPLETION and faults == FAULTS_BEFORE_QUARANTINE:
            self._run.dispatch(ProviderQuarantined, source=source, hook=hook, faults=faults)

    def close(self) -> None:
        """Let the workers' threads end."""
        for worker in self._idle:
            worker.retire()


def fault_key(source: Provenance) -> str:
    """Return under what a provider's faults are counted: its kind and name."""
    return f"{source.kind}:{source.name}"
