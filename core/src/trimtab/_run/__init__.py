"""An open run as the engines need it, and calls of its providers: a failure becomes one event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import local
from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from trimtab._boundary import (
    CAUSE,
    NOTHING,
    SLOW_SECONDS,
    Ask,
    Inside,
    Reply,
    call_in_turn,
    is_inside,
)
from trimtab._contract import BoundRun, GuidanceContext
from trimtab._events import DecisionPoint, Provenance, ProviderKind
from trimtab._events.guidance import ProviderFaulted, ProviderQuarantined, ProviderSlow
from trimtab._types.errors import SessionError

if TYPE_CHECKING:
    from trimtab._contract.hosts import Host
    from trimtab._contract.tools import RenderedPrompt, Tool
    from trimtab._prompt import Prompt
    from trimtab._session.feeds import Feed, Feeds
    from trimtab._session.record import Record
    from trimtab._session.recorder import Recorder
    from trimtab._session.state import RunState
    from trimtab._table import GuidanceEntry
    from trimtab._types.limits import Budget, Deadline

T = TypeVar("T")
_ASKED_BY_ITSELF = "a provider must not ask the run that is asking it"
FAILURES_BEFORE_QUARANTINE = 3
MOST_CHECKS = 8
"""How many checks of one run may be under way at once; beyond, a checker asks its own run."""

_LOOKS, _PAUSE = 200, 0.005
"""How long a thread that is new to a run waits for the calls that are under way: one second."""


def call_all(
    asks: Sequence[Ask],
    argument: Any,
    inside: Inside,
    monotonic: Callable[[], float],
    timeout: float | None,
) -> list[Reply[Any]]:
    """Return what became of each call: on this thread, or with a timeout for each on another."""
    if timeout is not None:
        from trimtab._boundary.workers import call_on_worker

        return call_on_worker(asks, argument, inside, monotonic, timeout)
    replies: list[Reply[Any]] = []
    call_in_turn(asks, argument, inside, monotonic, replies.append)
    return replies


class ProviderInvoker:
    """Calls the providers of one run.

    A provider that asks the run that is asking it is refused, for that would never end. On its own
    thread, and on one that it starts with a copy of its context, it gets a `SessionError`. A bare
    thread can't be told from one of the host: if it is new to the run it waits until nobody is
    being called, and is refused after a second, as a fault of the provider that then still runs.
    """

    def __init__(self, run: Recorder) -> None:
        self._run = run
        self._monotonic = run.session.clock.monotonic
        self._calls: set[Inside] = set()
        self._checks: set[Inside] = set()
        self._thread = local()
        self._warned: set[str] = set()
        self._shares: tuple[tuple[str, ...], tuple[Ask, ...]] = (), ()
        self._followed = _Followed((), {}, (), ())

    @property
    def busy(self) -> bool:
        return is_inside(self)

    def ask(
        self, asks: Sequence[Ask], argument: Any, timeout: float | None, spent: float = 0.0
    ) -> list[Reply[Any]]:
        """Call providers one after the other; return what became of each, or nothing at all.

        `spent` are seconds that a provider has taken already for the same answer.
        """
        if is_inside(self):
            raise SessionError(_ASKED_BY_ITSELF)
        is_known = getattr(self._thread, "known", False)
        if not (is_known or self._nobody_is_called(asks)):
            return []
        replies = self._call(asks, argument, timeout, self._calls, spent)
        if not is_known:
            self._thread.known = True
        return replies

    def call(self, ask: Ask, argument: Any, timeout: float | None) -> Reply[Any]:
        replies = self.ask((ask,), argument, timeout)
        return replies[0] if replies else Reply(error="it is still being called")

    def check(self, ask: Ask, context: Any, timeout: float) -> Reply[Any]:
        """Call a completion checker, which may take its time: others need not wait for it."""
        if is_inside(self):
            raise SessionError(_ASKED_BY_ITSELF)
        if len(self._checks) >= MOST_CHECKS:
            error = f"{MOST_CHECKS} checks of this run are under way: does a checker ask its run?"
            self.failed(ask.source, ask.hook, error)
            return Reply(error=error)
        return self._call((ask,), context, timeout, self._checks)[0]

    def not_quiet(self, entries: Sequence[GuidanceEntry]) -> Sequence[GuidanceEntry]:
        """Return whom to ask: those whose projection is not quiet once it is up to date."""
        known, feeds = self._followed, self._run.state.feeds
        if known.entries is not entries or known.feeds is not feeds.quiet_feeds:
            known = self._followed = _followed(entries, feeds.quiet_feeds)
        is_shared = feeds.is_shared
        asks = [ask for feed, ask in known.asks if not (is_shared and feed.rests)]
        replies = self.ask(asks, None, None) if asks else ()
        if replies.count(NOTHING) == len(replies):
            return known.others
        heard = {ask.source.name for ask, reply in zip(asks, replies, strict=True) if reply.value}
        return [entry for entry in entries if entry.source.name in heard or entry in known.others]

    def share(self, feeds: Feeds) -> None:
        """Bring the projections up to date that providers share, unless one of them is asking."""
        names = feeds.shared
        if is_inside(self):
            return
        if self._shares[0] is not names:
            known, kind = feeds.feeds, ProviderKind.GUIDANCE
            asks = [Ask(Provenance(n, kind), "projection", known[n].catch_up) for n in names]
            self._shares = names, tuple(asks)
        feeds.is_shared = True
        self._call(self._shares[1], None, None, set())

    def _nobody_is_called(self, asks: Sequence[Ask]) -> bool:
        """Wait for the calls that are under way; record as a fault what does not end."""
        under_way = self._calls.copy()
        for _ in range(_LOOKS):
            under_way &= self._calls
            if not under_way:
                return True
            sleep(_PAUSE)
        called = (call.source for call in under_way)
        source = next(called, None) or asks[0].source
        error = "it has not answered for a second while another thread asked the run"
        self.failed(source, "asked again", f"{error}: a provider must not ask its own run")
        return False

    def _call(
        self,
        asks: Sequence[Ask],
        argument: Any,
        timeout: float | None,
        under_way: set[Inside],
        spent: float = 0.0,
    ) -> list[Reply[Any]]:
        inside = Inside(self)
        try:
            under_way.add(inside)
            replies = call_all(asks, argument, inside, self._monotonic, timeout)
        finally:
            under_way.discard(inside)
        if self._run.state.faults or replies.count(NOTHING) < len(replies):
            self._note(asks, replies, spent)
        return replies

    def _note(self, asks: Sequence[Ask], replies: Sequence[Reply[Any]], spent: float) -> None:
        """Record which calls failed or took long, and end the faults in a row of the others."""
        faults = self._run.state.faults
        for ask, reply in zip(asks, replies, strict=True):
            if reply.error is not None:
                self.failed(ask.source, ask.hook, reply.error, reply.cause)
            elif faults or reply.seconds + spent > SLOW_SECONDS:
                self.succeeded(ask.source, ask.hook, reply.seconds, spent)

    def succeeded(self, source: Provenance, hook: str, seconds: float, spent: float = 0.0) -> None:
        """Count a call that was answered: it ends the hook's faults in a row."""
        if seconds > SLOW_SECONDS or spent <= SLOW_SECONDS < spent + seconds:
            self._run.dispatch(ProviderSlow, source=source, hook=hook, seconds=spent + seconds)
        self._run.state.answered(source.key, hook)

    def failed(
        self, source: Provenance, hook: str, error: str, cause: BaseException | None = None
    ) -> None:
        """Record a failure; a soft provider leaves the run after three in a row, over all hooks."""
        state = self._run.state
        self._warn(source, hook, error)
        token = CAUSE.set(cause)
        try:
            self._run.dispatch(
                ProviderFaulted,
                source=source,
                hook=hook,
                error=error,
                turn=state.turn,
                call_index=state.calls - 1,
            )
        finally:
            CAUSE.reset(token)
        failures = sum(state.faults.get(source.key, {}).values())  # each hook's in a row
        if (
            source.kind is not ProviderKind.COMPLETION
            and failures >= FAILURES_BEFORE_QUARANTINE
            and source.key not in state.quarantined
        ):
            self._run.dispatch(ProviderQuarantined, source=source, hook=hook, faults=failures)

    def _warn(self, source: Provenance, hook: str, error: str) -> None:
        """Log the first failure of a provider; the others are on record."""
        if source.key in self._warned:
            return
        self._warned.add(source.key)
        from logging import getLogger

        from trimtab._plugins import WORDS

        getLogger("trimtab").warning(
            "The %s %r failed in %s (run %s): %s. Its later failures are on record as"
            " ProviderFaulted.",
            *(WORDS[source.kind], source.full_name, hook, self._run.run_id, error),
        )


class _Followed(NamedTuple):
    """Whose projections are asked whether they are quiet, kept from one decision to the next."""

    entries: Sequence[GuidanceEntry]
    feeds: Mapping[str, Feed]
    asks: tuple[tuple[Feed, Ask], ...]
    others: tuple[GuidanceEntry, ...]


def _followed(entries: Sequence[GuidanceEntry], feeds: Mapping[str, Feed]) -> _Followed:
    asks, others = [], []
    for entry in entries:
        if (feed := feeds.get(entry.source.name)) is None:
            others.append(entry)
        else:
            asks.append((feed, Ask(entry.source, entry.hook, feed.may_speak)))
    return _Followed(entries, feeds, tuple(asks), tuple(others))


class OpenRun(BoundRun):
    """What asking guidance, feedback and checkers needs of a run; the base of `Run`."""

    prompt: Prompt[Any]

    def __init__(
        self,
        session: Record,
        prompt: Prompt[Any],
        state: RunState,
        *,
        host: Host,
        deadline: Deadline | None,
        budget: Budget | None,
        timeout: float | None = None,
    ) -> None:
        super().__init__(session, state, deadline=deadline, budget=budget)
        self._timeout = timeout
        self.prompt = prompt  # pyright: ignore[reportIncompatibleVariableOverride] - only read
        self.host = host
        ours = {tool.name for tool in _declared(prompt)}
        self.tools = None if host.tools is None else host.tools | ours
        self.rendered: RenderedPrompt[Any] | None = None
        self.invoker = ProviderInvoker(self)
        self.contexts = {p: GuidanceContext(run=self, decision_point=p) for p in DecisionPoint}
        resets = (entry.trigger.reset_by for entry in prompt.table.feedback)
        state.feedback.watched = frozenset(filter(None, resets))

    def _share(self) -> None:
        # When the call ends, for at the decision the agent waits; but with a timeout it would take
        # a change of threads each time.
        if self._timeout is None:
            self.invoker.share(self.state.feeds)

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        """What the agent's tools say of themselves, those of the prompt before the host's."""
        ours = {tool.name: tool.description for tool in _declared(self.prompt)}
        return {**self.host.tool_descriptions, **ours}


def _declared(prompt: Prompt[Any]) -> Iterator[Tool[Any, Any]]:
    """Return the tools of a prompt, those of sections that are not rendered too."""
    template = prompt.template
    yield from template.tools
    for section in template.sections:
        yield from section.tools
